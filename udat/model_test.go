package udat_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/udattest"
)

var (
	modelSequences = flag.Int("model", modelsAtOnce, "how many random sequences of calls TestModel makes, shared among the adapters")
	modelFor       = flag.Duration("model.for", 0, "how long TestModel makes sequences, in place of a number of them")
	modelSeed      = flag.Uint64("model.seed", 0, "the one sequence that TestModel makes, instead of many")
)

// TestModel makes random sequences of calls on endpoints of two adapters that
// connect with each other, and compares each outcome, state and idle flag with
// what the table of the shadow says, and each completion with what was posted. Of
// a sequence that fails, it looks for the shortest that still does.
//
// It is not made for iWARP, where a send without a receive ends the connection, and an
// attempt that has no answer ends by itself.
func TestModel(t *testing.T) {
	names := udattest.Names(t)
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			if udattest.IWARP(t, udattest.Open(t, name)) {
				t.Log("not tested: the device speaks iWARP")
				return
			}
			if *modelSeed != 0 {
				reportModel(t, name, *modelSeed)
				return
			}
			var made atomic.Int64
			enough := func() bool { return made.Load() >= int64(*modelSequences/len(names)) }
			if *modelFor > 0 {
				end := time.Now().Add(*modelFor / time.Duration(len(names)))
				enough = func() bool { return time.Now().After(end) }
			}
			// Sequences that break off an attempt mostly wait.
			const workers = 4
			failed := make(chan uint64, workers)
			var working sync.WaitGroup
			for range workers {
				working.Add(1)
				go func() {
					defer working.Done()
					for len(failed) == 0 && !enough() {
						if seed, err := runModels(name, &made, enough); err != nil {
							t.Errorf("the sequence of the seed %d fails: %v", seed, err)
							failed <- seed
						}
					}
				}()
			}
			working.Wait()
			t.Logf("made %d sequences", made.Load())
			if len(failed) > 0 {
				reportModel(t, name, <-failed)
			}
		})
	}
}

// runModels makes sequences in one world until one fails. A new world from time to
// time keeps the number of native service points small.
func runModels(name string, made *atomic.Int64, enough func() bool) (seed uint64, err error) {
	w, err := newModelWorld(name)
	if err != nil {
		return 0, err
	}
	defer w.close()
	const sequences = 100
	for i := 0; i < sequences && !enough(); i++ {
		seed = rand.Uint64() | 1
		if err := w.run(modelSteps(seed)); err != nil {
			return seed, err
		}
		made.Add(1)
	}
	return 0, nil
}

// reportModel tells the shortest sequence that fails, of that of a seed.
func reportModel(t *testing.T, name string, seed uint64) {
	t.Helper()
	run := func(steps []modelStep) error {
		w, err := newModelWorld(name)
		if err != nil {
			t.Fatal(err)
		}
		defer w.close()
		return w.run(steps)
	}
	steps := modelSteps(seed)
	err := run(steps)
	if err == nil {
		t.Logf("the sequence of the seed %d does not fail when it is made alone", seed)
		return
	}
	steps, err = shorten(steps, err, run)
	var text strings.Builder
	for _, s := range steps {
		fmt.Fprintf(&text, "\t%v\n", s)
	}
	t.Errorf("the shortest part found that fails is\n%sand fails so: %v\nrun it again with -model.seed=%d", text.String(), err, seed)
}

// shorten leaves out steps as long as the others fail. It returns those with their error.
func shorten(steps []modelStep, err error, run func([]modelStep) error) ([]modelStep, error) {
	deadline := time.Now().Add(time.Minute)
	for size := len(steps) / 2; size > 0; {
		shorter := false
		for i := 0; i+size <= len(steps) && time.Now().Before(deadline); {
			fewer := slices.Delete(slices.Clone(steps), i, i+size)
			if e := run(fewer); e != nil {
				steps, err, shorter = fewer, e, true
			} else {
				i += size
			}
		}
		if !shorter || size > 1 {
			size /= 2
		}
	}
	return steps, err
}

// modelStep is a call on an endpoint, or on what belongs to it.
type modelStep struct {
	call udat.EPCall
	slot int // of the endpoint
	pick int // of the ways to make the call
}

func (s modelStep) String() string { return fmt.Sprintf("%d: %v (%d)", s.slot, s.call, s.pick) }

// Half of the endpoints are on each adapter.
const modelSlots = 4

// modelCalls has each call as often as it is to come among the others.
var modelCalls = slices.Concat(
	slices.Repeat([]udat.EPCall{udat.CallConnect, udat.CallPostSend, udat.CallAccept}, 6),
	slices.Repeat([]udat.EPCall{udat.CallPostRecv, udat.CallDisconnectGraceful}, 3),
	slices.Repeat([]udat.EPCall{udat.CallReset, udat.CallRSPCreate, udat.CallAcceptReserved}, 2),
	[]udat.EPCall{
		udat.CallCreate, udat.CallModify, udat.CallModifyPZ, udat.CallReject, udat.CallRSPFree, udat.CallDisconnectAbrupt,
		udat.CallFree, udat.CallPostRDMARead, udat.CallPostRDMAWrite,
	},
)

func modelSteps(seed uint64) (steps []modelStep) {
	random := rand.New(rand.NewPCG(seed, 0))
	for slot := range modelSlots {
		steps = append(steps, modelStep{call: udat.CallCreate, slot: slot})
	}
	const more = 40
	for range more {
		steps = append(steps, modelStep{modelCalls[random.IntN(len(modelCalls))], random.IntN(modelSlots), random.IntN(60)})
	}
	return steps
}

// modelWorld has what the endpoints of all sequences are made of.
type modelWorld struct {
	name  string
	sides [2]modelSide
	eps   [modelSlots]*modelEP
	crs   []*modelRequest
	gone  []*modelRequest // whose clients have broken them off
	rsps  []*udat.RSP
}

type modelSide struct {
	ia       *udat.IA
	address  netip.Addr
	psp      *udat.PSP
	qual     udat.ConnQual // of the public service point
	requests *udat.EVD     // that come there
	reserved *udat.EVD     // that come to reserved service points
	zones    [2]*udat.PZ
	memory   [2]*udat.LMR
}

// modelEP is what the model knows of an endpoint.
type modelEP struct {
	slot                   int
	side                   *modelSide
	recv, request, connect *udat.EVD

	ep     *udat.EP
	state  udat.EPState
	zone   int
	peer   *modelEP // while connected
	rsp    *udat.RSP
	qual   udat.ConnQual
	cookie uint64
	// recvs and requests are outstanding; late ones were posted when the
	// connection had ended, and may complete before the reset or at it.
	recvs, requests         []modelPost
	lateRecvs, lateRequests []modelPost
}

type modelPost struct {
	cookie     uint64
	send       bool // which takes a receive of the peer
	suppressed bool // completes only when it fails
}

// modelRequest is a connection request that waits for an answer.
type modelRequest struct {
	cr       *udat.CR
	client   *modelEP
	reserved *modelEP // nil for one that came to the public service point
	side     *modelSide
}

func newModelWorld(name string) (w *modelWorld, err error) {
	w = &modelWorld{name: name}
	defer func() {
		if err != nil {
			w.close()
		}
	}()
	evd := func(side *modelSide, flags udat.EVDFlags) *udat.EVD {
		const length = 256
		evd, e := udat.CreateEVD(side.ia, length, flags)
		err = errors.Join(err, e)
		return evd
	}
	for i := range w.sides {
		s := &w.sides[i]
		if s.ia, err = udat.Open(name); err != nil {
			return w, err
		}
		attr, _, e := s.ia.Query()
		s.address = attr.Address
		s.requests, s.reserved = evd(s, udat.EVDCR), evd(s, udat.EVDCR)
		err = errors.Join(err, e, s.listen())
		for z := range s.zones {
			s.zones[z], e = udat.CreatePZ(s.ia)
			var e2 error
			s.memory[z], e2 = udat.AllocMemory(s.zones[z], 4096, udat.MemPrivAll)
			err = errors.Join(err, e, e2)
		}
	}
	for slot := range w.eps {
		side := &w.sides[slot*len(w.sides)/modelSlots]
		w.eps[slot] = &modelEP{slot: slot, side: side, state: udat.StateNone,
			recv: evd(side, udat.EVDDTO), request: evd(side, udat.EVDDTO), connect: evd(side, udat.EVDConnection)}
	}
	return w, err
}

// listen makes the public service point.
func (s *modelSide) listen() (err error) {
	s.qual = udattest.ConnQual()
	s.psp, err = udat.CreatePSP(s.ia, s.qual, s.requests, udat.PSPConsumer)
	return err
}

func (w *modelWorld) close() {
	for _, s := range w.sides {
		_ = s.ia.Close(udat.CloseAbrupt)
	}
}

// run makes the steps and returns the first difference from the table.
func (w *modelWorld) run(steps []modelStep) error {
	defer w.clear()
	for i, s := range steps {
		e := w.eps[s.slot]
		before := e.state
		err := w.step(e, s)
		if err == nil {
			err = w.compare()
		}
		if err != nil {
			return fmt.Errorf("step %d, %v, from the state %v: %w", i+1, s, before, err)
		}
	}
	for _, e := range w.eps {
		for _, evd := range []*udat.EVD{e.recv, e.request, e.connect} {
			event, err := evd.Dequeue()
			late := event.Number == udat.EventDTOCompletion && len(e.lateRecvs)+len(e.lateRequests) > 0
			if err == nil && !late && e.state != udat.StateNone {
				return fmt.Errorf("at the end, endpoint %d has the event %v too many: %+v", e.slot, event.Number, event)
			}
		}
	}
	return nil
}

// clear frees what the steps have left, in whatever state it is.
func (w *modelWorld) clear() {
	for _, r := range w.crs {
		_ = r.cr.Reject(nil)
	}
	for _, rsp := range w.rsps {
		_ = rsp.Free()
	}
	if len(w.gone) > 0 {
		// Rejecting these can cost the CMA provider the events of later accepts on
		// the same service point.
		for i := range w.sides {
			s := &w.sides[i]
			_ = s.psp.Free()
			_ = s.listen()
		}
	}
	w.crs, w.gone, w.rsps = nil, nil, nil
	for _, e := range w.eps {
		_ = e.ep.Free()
		*e = modelEP{slot: e.slot, side: e.side, state: udat.StateNone, recv: e.recv, request: e.request, connect: e.connect}
		for _, evd := range []*udat.EVD{e.recv, e.request, e.connect, e.side.requests, e.side.reserved} {
			for {
				event, err := evd.Dequeue()
				if err != nil {
					break
				}
				if cr := event.CR(); cr != nil {
					_ = cr.Reject(nil)
				}
			}
		}
	}
}

// compare compares the endpoints with the model.
func (w *modelWorld) compare() error {
	for _, e := range w.eps {
		s, err := e.ep.GetStatus()
		// When a suppressed send has arrived, the endpoint is idle soon.
		for end := time.Now().Add(modelPatience); err == nil && !s.RequestIdle && len(e.requests)+len(e.lateRequests) == 0 && time.Now().Before(end); {
			s, err = e.ep.GetStatus()
		}
		if e.state == udat.StateNone {
			if !errors.Is(err, udat.ErrInvalidHandle) {
				return fmt.Errorf("endpoint %d, which does not exist, gives %+v, %v", e.slot, s, err)
			}
			continue
		}
		if err != nil {
			return fmt.Errorf("endpoint %d: %w", e.slot, err)
		}
		if s.State != e.state {
			return fmt.Errorf("endpoint %d is in the state %v, the table has %v", e.slot, s.State, e.state)
		}
		if len(e.lateRecvs) == 0 && s.RecvIdle != (len(e.recvs) == 0) || len(e.lateRequests) == 0 && s.RequestIdle != (len(e.requests) == 0) {
			return fmt.Errorf("endpoint %d has the status %+v with %d receives and %d requests outstanding", e.slot, s, len(e.recvs), len(e.requests))
		}
	}
	return nil
}

// outcome compares the outcome of a call with the table, and moves the endpoint.
func (e *modelEP) outcome(call udat.EPCall, err error) (done bool, event udat.EventNumber, _ error) {
	to, event, allowed := udat.After(call, e.state)
	refusal, refused := udat.Refusal(call, e.state)
	switch {
	case err == nil && !allowed:
		return false, 0, fmt.Errorf("the call succeeds, the table refuses it with %v", refusal)
	case err == nil:
		e.state = to
		return true, event, nil
	case !refused:
		return false, 0, fmt.Errorf("the call is refused: %w", err)
	case !errors.Is(err, refusal):
		return false, 0, fmt.Errorf("the call is refused, with another error than %v: %w", refusal, err)
	}
	return false, 0, nil
}

const modelPatience = 30 * time.Second

func modelWait(evd *udat.EVD) (udat.Event, error) {
	ctx, cancel := context.WithTimeout(context.Background(), modelPatience)
	defer cancel()
	return evd.Wait(ctx)
}

// told takes the event that the library posts for an endpoint, and moves the endpoint.
func (e *modelEP) told(numbers ...udat.EventNumber) error {
	event, err := modelWait(e.connect)
	if err != nil {
		return fmt.Errorf("endpoint %d, waiting for %v: %w", e.slot, numbers, err)
	}
	if event.EP() != e.ep || !slices.Contains(numbers, event.Number) {
		return fmt.Errorf("endpoint %d has the event %v, want %v", e.slot, event.Number, numbers)
	}
	to, ok := udat.Follows(event.Number, e.state)
	if !ok {
		return fmt.Errorf("endpoint %d has the event %v in the state %v, in which the table does not have it", e.slot, event.Number, e.state)
	}
	e.state = to
	return nil
}

// completed takes the completions of operations, in order.
func (e *modelEP) completed(evd *udat.EVD, posts []modelPost, success bool) error {
	for _, p := range posts {
		event, err := modelWait(evd)
		if err != nil {
			return fmt.Errorf("endpoint %d, waiting for the completion %d: %w", e.slot, p.cookie, err)
		}
		if event.Number != udat.EventDTOCompletion || event.EP() != e.ep || event.Cookie != p.cookie || (event.Err() == nil) != success {
			return fmt.Errorf("endpoint %d has the event %+v, want the completion %d, success %v", e.slot, event, p.cookie, success)
		}
	}
	return nil
}

// flushed takes the completions of all that is outstanding.
func (e *modelEP) flushed() error {
	recvs, requests := e.recvs, e.requests
	e.recvs, e.requests = nil, nil
	return errors.Join(e.completed(e.recv, recvs, false), e.completed(e.request, requests, false))
}

// progress lets what is outstanding on a connection complete as far as it can.
func (e *modelEP) progress() error {
	for len(e.requests) > 0 {
		p := e.requests[0]
		if p.send {
			if len(e.peer.recvs) == 0 {
				return nil
			}
			if err := e.peer.completed(e.peer.recv, e.peer.recvs[:1], true); err != nil {
				return err
			}
			e.peer.recvs = e.peer.recvs[1:]
		}
		if !p.suppressed {
			if err := e.completed(e.request, e.requests[:1], true); err != nil {
				return err
			}
		}
		e.requests = e.requests[1:]
	}
	if e.state == udat.EPStateDisconnectPending {
		return e.over()
	}
	return nil
}

// over expects the end of the connection on both sides.
func (e *modelEP) over() error {
	peer := e.peer
	e.peer, peer.peer = nil, nil
	for _, side := range []*modelEP{e, peer} {
		if side.state == udat.StateNone {
			continue // it has freed itself
		}
		if err := side.told(udat.EventConnectionDisconnected); err != nil {
			return err
		}
		if err := side.flushed(); err != nil {
			return err
		}
	}
	return nil
}

// step makes one call with all that follows from it. A call for which there is no
// object is left out.
func (w *modelWorld) step(e *modelEP, s modelStep) error {
	switch s.call {
	case udat.CallCreate:
		return e.create()
	case udat.CallModify:
		// More receives than the model ever posts.
		n := modelDepth + 1 + s.pick%8
		err := e.ep.Modify(udat.EPFieldMaxRecvDTOs, &udat.EPParam{Attr: udat.EPAttr{MaxRecvDTOs: n}})
		_, _, err = e.outcome(s.call, err)
		return err
	case udat.CallModifyPZ:
		return e.modifyZone()
	case udat.CallConnect:
		return w.connect(e, s.pick)
	case udat.CallAccept, udat.CallAcceptReserved, udat.CallReject:
		return w.answer(e, s)
	case udat.CallRSPCreate:
		return w.reserve(e)
	case udat.CallRSPFree:
		if e.rsp == nil {
			return nil
		}
		waiting := w.forget(func(r *modelRequest) bool { return r.reserved == e })
		_, _, err := e.outcome(s.call, e.rsp.Free())
		e.rsp = nil
		for _, r := range waiting {
			err = errors.Join(err, r.rejected())
		}
		return err
	case udat.CallPostRecv, udat.CallPostSend, udat.CallPostRDMARead, udat.CallPostRDMAWrite:
		return e.post(s.call)
	case udat.CallDisconnectAbrupt, udat.CallDisconnectGraceful:
		return w.disconnect(e, s.call)
	case udat.CallReset:
		return e.reset()
	case udat.CallFree:
		return w.free(e)
	}
	return fmt.Errorf("the model does not know the call %v", s.call)
}

// modelDepth is how many operations the model has outstanding in a direction.
const modelDepth = 6

func (e *modelEP) create() error {
	if e.state != udat.StateNone {
		return nil
	}
	ep, err := udat.CreateEP(e.side.ia, e.side.zones[0], e.recv, e.request, e.connect, nil)
	if _, _, err := e.outcome(udat.CallCreate, err); err != nil {
		return err
	}
	e.ep = ep
	// What its predecessor has left on the EVDs is not its own.
	for _, evd := range []*udat.EVD{e.recv, e.request, e.connect} {
		for {
			event, err := evd.Dequeue()
			if err != nil {
				break
			}
			if event.EP() == ep {
				return fmt.Errorf("a new endpoint has the event %v", event.Number)
			}
		}
	}
	return nil
}

func (e *modelEP) modifyZone() error {
	zone := 1 - e.zone
	err := e.ep.Modify(udat.EPFieldPZHandle, &udat.EPParam{PZ: e.side.zones[zone]})
	done, _, err := e.outcome(udat.CallModifyPZ, err)
	if !done || err != nil {
		return err
	}
	e.zone = zone
	recvs := e.recvs
	e.recvs = nil
	return e.completed(e.recv, recvs, false)
}

// connect connects to the other side: to a service point, to a reserved one, or to
// nobody.
func (w *modelWorld) connect(e *modelEP, pick int) error {
	other := &w.sides[0]
	if e.side == other {
		other = &w.sides[1]
	}
	qual, requests := other.qual, other.requests
	var reserved *modelEP
	nobody := pick == 0
	if nobody {
		qual = udattest.ConnQual()
	} else if pick%2 == 0 {
		for _, r := range w.eps {
			if r.side == other && r.state == udat.EPStateReserved {
				reserved, qual, requests = r, r.qual, other.reserved
			}
		}
	}
	done, _, err := e.outcome(udat.CallConnect, e.ep.Connect(other.address, qual, udat.TimeoutInfinite, nil))
	if !done || err != nil {
		return err
	}
	if nobody {
		return errors.Join(e.told(udat.EventConnectionNonPeerRejected, udat.EventConnectionPeerRejected), e.flushed())
	}
	event, err := modelWait(requests)
	if err != nil {
		return fmt.Errorf("waiting for a connection request: %w", err)
	}
	w.crs = append(w.crs, &modelRequest{cr: event.CR(), client: e, reserved: reserved, side: other})
	if reserved != nil {
		to, ok := udat.Follows(udat.EventConnectionRequest, reserved.state)
		if !ok {
			return fmt.Errorf("a request comes to endpoint %d in the state %v", reserved.slot, reserved.state)
		}
		reserved.state = to
	}
	return nil
}

// forget takes requests from those that wait for an answer.
func (w *modelWorld) forget(which func(*modelRequest) bool) (taken []*modelRequest) {
	w.crs = slices.DeleteFunc(w.crs, func(r *modelRequest) bool {
		if which(r) {
			taken = append(taken, r)
			return true
		}
		return false
	})
	return taken
}

// rejected expects what a client gets whose request was rejected.
func (r *modelRequest) rejected() error {
	return errors.Join(r.client.told(udat.EventConnectionPeerRejected), r.client.flushed())
}

// withdrawn takes the request of a client that has gone from those that wait. One
// for a reserved endpoint is answered, to no avail.
func (w *modelWorld) withdrawn(client *modelEP) error {
	for _, r := range w.forget(func(r *modelRequest) bool { return r.client == client }) {
		if r.reserved == nil {
			w.gone = append(w.gone, r)
			continue
		}
		_ = r.cr.Reject(nil) // the library may know already
		if _, _, err := r.reserved.outcome(udat.CallReject, nil); err != nil {
			return err
		}
	}
	return nil
}

// answer accepts or rejects one of the requests that wait on the endpoint's side.
func (w *modelWorld) answer(e *modelEP, s modelStep) error {
	var fit []*modelRequest
	for _, r := range w.crs {
		switch {
		case r.side != e.side:
		case s.call == udat.CallAccept && r.reserved == nil,
			s.call == udat.CallAcceptReserved && r.reserved == e,
			s.call == udat.CallReject && (r.reserved == nil || r.reserved == e):
			fit = append(fit, r)
		}
	}
	if len(fit) == 0 {
		return nil
	}
	r := fit[s.pick%len(fit)]
	if s.call == udat.CallReject {
		w.forget(func(x *modelRequest) bool { return x == r })
		err := r.cr.Reject(nil)
		if r.reserved != nil {
			_, _, err = e.outcome(s.call, err)
		}
		return errors.Join(err, r.rejected())
	}
	ep := e.ep
	if r.reserved != nil {
		ep = nil
	}
	done, _, err := e.outcome(s.call, r.cr.Accept(ep, nil))
	if !done || err != nil {
		return err
	}
	w.forget(func(x *modelRequest) bool { return x == r })
	e.peer, r.client.peer = r.client, e
	return errors.Join(e.told(udat.EventConnectionEstablished), r.client.told(udat.EventConnectionEstablished))
}

func (w *modelWorld) reserve(e *modelEP) error {
	qual := udattest.ConnQual()
	rsp, err := udat.CreateRSP(e.side.ia, qual, e.ep, e.side.reserved)
	done, _, err := e.outcome(udat.CallRSPCreate, err)
	if done {
		e.rsp, e.qual = rsp, qual
		w.rsps = append(w.rsps, rsp)
	}
	return err
}

func (e *modelEP) post(call udat.EPCall) error {
	e.cookie++
	p := modelPost{cookie: e.cookie, send: call == udat.CallPostSend}
	var flags udat.CompletionFlags
	if p.send && e.cookie%2 == 0 {
		p.suppressed, flags = true, udat.CompletionSuppress
	}
	posted, late := &e.requests, &e.lateRequests
	if call == udat.CallPostRecv {
		posted, late = &e.recvs, &e.lateRecvs
	}
	if len(*posted)+len(*late) == modelDepth {
		return nil
	}
	segment, err := e.side.memory[e.zone].Segment(0, 64)
	if err != nil {
		return err
	}
	var remote udat.RMRTriplet
	if e.peer != nil {
		if remote, err = e.peer.side.memory[e.peer.zone].RMRTriplet(0, 64); err != nil {
			return err
		}
	}
	remote.SegmentLength = 64
	switch call {
	case udat.CallPostRecv:
		err = e.ep.PostRecv(one(segment), p.cookie, 0)
	case udat.CallPostSend:
		err = e.ep.PostSend(one(segment), p.cookie, flags)
	case udat.CallPostRDMARead:
		err = e.ep.PostRDMARead(one(segment), p.cookie, remote, 0)
	case udat.CallPostRDMAWrite:
		err = e.ep.PostRDMAWrite(one(segment), p.cookie, remote, 0)
	}
	done, _, err := e.outcome(call, err)
	switch {
	case !done || err != nil:
		return err
	case e.state == udat.EPStateDisconnected:
		*late = append(*late, p)
		return nil
	}
	*posted = append(*posted, p)
	if e.peer == nil {
		return nil
	}
	return errors.Join(e.advance(), e.peer.advance())
}

// advance is progress on a connection that is still there.
func (e *modelEP) advance() error {
	if e == nil || e.peer == nil {
		return nil
	}
	return e.progress()
}

func (w *modelWorld) disconnect(e *modelEP, call udat.EPCall) error {
	flags := udat.CloseAbrupt
	if call == udat.CallDisconnectGraceful {
		flags = udat.CloseGraceful
	}
	connected := e.peer != nil
	done, event, err := e.outcome(call, e.ep.Disconnect(flags))
	switch {
	case !done || err != nil:
		return err
	case event != 0: // of an attempt that is broken off
		got, err := modelWait(e.connect)
		if err != nil || got.Number != event || got.EP() != e.ep {
			return fmt.Errorf("breaking off an attempt gives the event %v, %w", got.Number, err)
		}
		return errors.Join(e.flushed(), w.withdrawn(e))
	case connected && (flags == udat.CloseAbrupt || len(e.requests) == 0):
		return e.over()
	}
	return nil
}

func (e *modelEP) reset() error {
	done, _, err := e.outcome(udat.CallReset, e.ep.Reset())
	if !done || err != nil {
		return err
	}
	recvs, requests := append(e.lateRecvs, e.recvs...), e.lateRequests
	e.recvs, e.lateRecvs, e.lateRequests = nil, nil, nil
	return errors.Join(e.completed(e.recv, recvs, false), e.completed(e.request, requests, false))
}

func (w *modelWorld) free(e *modelEP) error {
	done, _, err := e.outcome(udat.CallFree, e.ep.Free())
	if !done || err != nil {
		return err
	}
	peer := e.peer
	e.recvs, e.requests, e.lateRecvs, e.lateRequests, e.zone, e.rsp = nil, nil, nil, nil, 0, nil
	if peer != nil {
		return e.over()
	}
	return w.withdrawn(e)
}
