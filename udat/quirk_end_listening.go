package udat

import (
	"bytes"
	"crypto/rand"
	"maps"
	"slices"
	"time"

	"github.com/goudat/goudat/cgo"
)

// endListening ends the listening of an adapter on which the program has no objects left.
// It reports whether the library has handled all requests that were on their way. The
// library's thread passes a request to its service point long after it has come, and
// closing the adapter frees the service point even so. The goroutine that empties the queue
// of requests runs meanwhile, and rejects those that arrive.
//
// A library whose service points can be freed has freed them by then.
func (s *services) endListening(ia *IA) bool {
	if ia.patched && s.queue != nil {
		s.rejectArrived() // what has come just before the last service point was freed
	}
	ports := s.ports()
	switch {
	case len(ports) == 0: // the adapter may have failed to listen
		return true
	case s.overTCP:
		if !endListeningOnTCP(ia.attr.Address, ports) {
			return false
		}
	default:
		s.endListeningHeld(ia, ports)
	}
	for _, port := range ports {
		listening.Delete(s.placeOf(ia, port))
	}
	return true
}

func (s *services) ports() []port {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Keys(s.points))
}

// endListeningHeld ends the listening of the CMA provider. A service point that is freed
// while a request waits for its answer stays in the library, and rejects further requests.
// So endListeningHeld sends a request of the adapter's own to each service point, and frees
// the service point. It answers the request when the library's thread has rejected another
// one, which shows that the thread has gone on. The close then finds no requests.
//
// If the adapter cannot connect to itself, for example because its device is down, no other
// requests arrive either.
func (s *services) endListeningHeld(ia *IA, ports []port) {
	own, err := newOwnCalls(ia, len(ports)+1)
	if err != nil {
		return
	}
	s.setOwnCalls(own)
	defer own.free()
	defer s.setOwnCalls(nil)
	for _, port := range ports {
		own.call(port)
	}
	var held []heldCall
	own.await(func() bool {
		select {
		case h := <-own.arrived:
			held = append(held, h)
			s.free(h.port)
		default:
		}
		return len(held)+own.ended == len(own.eps)
	})
	if len(held) > 0 {
		own.call(held[0].port)
		own.await(func() bool { return len(held)+own.ended == len(own.eps) })
		s.rejectArrived()
	}
	for _, h := range held {
		cgo.CRReject(h.cr, nil)
	}
	own.await(func() bool { return own.ended == len(own.eps) })
}

// free frees a native service point, on which a request waits.
func (s *services) free(port port) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if point := s.points[port]; point != nil {
		cgo.PSPFree(point.handle)
		delete(s.points, port)
	}
}

func (s *services) setOwnCalls(own *ownCalls) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.own = own
}

// ownCalls are the connection requests of an adapter to itself.
type ownCalls struct {
	ia      *IA
	pz      cgo.PZHandle
	connect cgo.EVDHandle
	unused  cgo.EVDHandle // for completions: see newOwnCalls
	eps     []cgo.EPHandle
	ended   int // of the attempts
	token   []byte
	arrived chan heldCall
}

// heldCall is a request of the adapter's own that waits for its answer.
type heldCall struct {
	port port
	cr   cgo.CRHandle
}

// newOwnCalls prepares for up to n requests. Their endpoints need a queue for
// completions, though there will be none: for those without, the library has one
// that it destroys each time when the last adapter of a device is closed.
func newOwnCalls(ia *IA, n int) (*ownCalls, error) {
	const op = "dat_ia_close"
	pz, r := cgo.PZCreate(ia.handle)
	if err := check(op, r); err != nil {
		return nil, err
	}
	length := min(n*connectionEventsPerEP, ia.attr.MaxEVDQLen)
	connect, r := cgo.EVDCreate(ia.handle, int32(length), 0, cgo.EVDFlags(EVDConnection))
	if err := check(op, r); err != nil {
		cgo.PZFree(pz)
		return nil, err
	}
	unused, r := cgo.EVDCreate(ia.handle, 1, 0, cgo.EVDFlags(EVDDTO))
	if err := check(op, r); err != nil {
		cgo.EVDFree(connect)
		cgo.PZFree(pz)
		return nil, err
	}
	own := &ownCalls{ia: ia, pz: pz, connect: connect, unused: unused, token: make([]byte, 16), arrived: make(chan heldCall, n)}
	rand.Read(own.token)
	return own, nil
}

// call sends a request, if it can.
func (own *ownCalls) call(port port) {
	ep, r := cgo.EPCreate(own.ia.handle, own.pz, own.unused, own.unused, own.connect, nil)
	if !r.OK() {
		return
	}
	own.eps = append(own.eps, ep)
	address := cgo.NewSockAddr(own.ia.attr.Address)
	r = cgo.EPConnect(ep, &address, uint64(port), cgo.TimeoutInfinite, own.token, cgo.QOSBestEffort, cgo.ConnectDefault)
	if !r.OK() {
		own.ended++
	}
}

// takes reports whether a request that has arrived is one of these.
func (own *ownCalls) takes(data *cgo.CRArrivalEventData) bool {
	if own == nil {
		return false
	}
	var param cgo.CRParam
	if r := cgo.CRQuery(data.CRHandle, cgo.CRFieldAll, &param); !r.OK() || param.PrivateData == 0 || int(param.PrivateDataSize) < len(own.token) {
		return false
	}
	token := make([]byte, len(own.token))
	cgo.CopyOut(token, param.PrivateData)
	if !bytes.Equal(token, own.token) {
		return false
	}
	select {
	case own.arrived <- heldCall{portOnCMA(ConnQual(data.ConnQual)), data.CRHandle}:
		return true
	default: // too late: it is rejected
		return false
	}
}

// await takes the outcomes of the attempts until the calls are where they should
// be, or ownCallsWithin is over.
func (own *ownCalls) await(done func() bool) {
	var event cgo.Event
	mayWait()
	for end := time.Now().Add(ownCallsWithin); !done() && time.Now().Before(end); {
		if cgo.EVDDequeue(own.connect, &event).OK() {
			own.ended++
		} else {
			time.Sleep(time.Millisecond / 4)
		}
	}
}

// ownCallsWithin is far longer than an adapter takes to connect to itself. With a
// link that is down it may never do so.
const ownCallsWithin = 3 * time.Second

func (own *ownCalls) free() {
	if own.ended < len(own.eps) { // the library may work on them still
		for _, ep := range own.eps {
			cgo.EPDisconnect(ep, cgo.CloseAbrupt)
		}
		time.Sleep(settleWithin)
	}
	for _, ep := range own.eps {
		cgo.EPFree(ep)
	}
	cgo.EVDFree(own.unused)
	cgo.EVDFree(own.connect)
	cgo.PZFree(own.pz)
}
