package udat

import (
	"bytes"
	"crypto/rand"
	"time"

	"github.com/goudat/goudat/cgo"
)

// endListening ends the listening of an adapter, which the program has nothing
// left on, and reports whether the library has done with the requests that were
// on their way. Its thread gives them to their service point long after they have
// come, and closing the adapter frees that all the same. The goroutine that
// empties the queue runs meanwhile, and rejects what arrives.
func (s *services) endListening(ia *IA) bool {
	if s.queue == nil {
		return true
	}
	if s.overTCP {
		return endListeningOnTCP(ia.attr.Address, s.quals())
	}
	s.endListeningHeld(ia)
	return true
}

func (s *services) quals() []ConnQual {
	s.mu.Lock()
	defer s.mu.Unlock()
	var quals []ConnQual
	for qual := range s.native {
		quals = append(quals, qual)
	}
	return quals
}

// settleListening bounds each wait for the library. That takes milliseconds.
const settleListening = 10 * time.Second

// endListeningHeld ends the listening of the CMA provider. A service point that
// is freed while a request waits for its answer stays in the library, and rejects
// what comes. So each gets a request of the adapter's own, is freed, and has the
// request answered when the library's thread is known to have gone on: it has
// rejected another one by then. What is left for the close has no requests.
//
// Without a connection to itself, on a device that is down for example, nothing
// arrives either.
func (s *services) endListeningHeld(ia *IA) {
	own, err := newOwnCalls(ia)
	if err != nil {
		return
	}
	s.mu.Lock()
	s.own = own
	s.mu.Unlock()
	defer func() {
		own.free()
		s.mu.Lock()
		s.own = nil
		s.mu.Unlock()
	}()
	var held []cgo.CRHandle
	var last ConnQual
	for _, qual := range s.quals() {
		if !own.call(qual) {
			continue
		}
		select {
		case cr := <-own.arrived:
			held, last = append(held, cr), qual
			cgo.PSPFree(s.native[qual])
		case <-time.After(settleListening):
		}
	}
	if last != 0 && own.call(last) {
		own.await(1)
		s.queue.obj.gate.RLock()
		s.queue.reap()
		s.queue.obj.gate.RUnlock()
	}
	for _, cr := range held {
		cgo.CRReject(cr, nil)
	}
	own.await(len(held))
}

// ownCalls are the connection requests of an adapter to itself.
type ownCalls struct {
	ia      *IA
	pz      cgo.PZHandle
	connect cgo.EVDHandle
	eps     []cgo.EPHandle
	ended   int // of the attempts
	token   []byte
	arrived chan cgo.CRHandle
}

// ownCallEvents is the length of the queue for the outcomes of own calls, which
// the library makes longer.
const ownCallEvents = 256

func newOwnCalls(ia *IA) (*ownCalls, error) {
	const op = "dat_ia_close"
	pz, r := cgo.PZCreate(ia.handle)
	if err := check(op, r); err != nil {
		return nil, err
	}
	connect, r := cgo.EVDCreate(ia.handle, ownCallEvents, 0, EVDConnection)
	if err := check(op, r); err != nil {
		cgo.PZFree(pz)
		return nil, err
	}
	own := &ownCalls{ia: ia, pz: pz, connect: connect, token: make([]byte, 16), arrived: make(chan cgo.CRHandle, 1)}
	rand.Read(own.token)
	return own, nil
}

// call sends a request, and reports whether it could.
func (own *ownCalls) call(qual ConnQual) bool {
	ep, r := cgo.EPCreate(own.ia.handle, own.pz, 0, 0, own.connect, nil)
	if !r.OK() {
		return false
	}
	own.eps = append(own.eps, ep)
	address := cgo.NewSockAddr(own.ia.attr.Address)
	r = cgo.EPConnect(ep, &address, uint64(qual), cgo.TimeoutInfinite, own.token, cgo.QOSBestEffort, cgo.ConnectDefault)
	if !r.OK() {
		own.ended++
	}
	return r.OK()
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
	case own.arrived <- data.CRHandle:
		return true
	default: // too late: it is rejected
		return false
	}
}

// await waits until n more attempts have ended.
func (own *ownCalls) await(n int) {
	var event cgo.Event
	for end := time.Now().Add(settleListening); n > 0 && time.Now().Before(end); {
		if cgo.EVDDequeue(own.connect, &event).OK() {
			own.ended++
			n--
			continue
		}
		time.Sleep(time.Millisecond)
	}
}

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
	cgo.EVDFree(own.connect)
	cgo.PZFree(own.pz)
}
