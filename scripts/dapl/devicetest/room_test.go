package devicetest

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/goudat/goudat/cgo"
	"github.com/goudat/goudat/udat/udattest"
)

// sharing returns endpoints whose completions all come to one EVD of the given length, and connected peers of theirs.
// Each endpoint may have 16 receives and 16 requests outstanding.
func (a *adapter) sharing(t *testing.T, length int32, endpoints int) (evd queue, shared, peers []*endpoint) {
	t.Helper()
	handle := a.newEVD(t, length, 0, cgo.EVDDTO)
	evd, l := queue{EVDHandle: handle}, a.listen(t)
	attr := endpointAttr()
	attr.MaxRecvDTOs, attr.MaxRequestDTOs = 16, 16
	for range endpoints {
		e := a.makeEndpoint(t, parts{recv: handle, request: handle, attr: attr})
		peer := a.newEndpoint(t)
		a.connect(t, l, peer, e)
		shared, peers = append(shared, e), append(peers, peer)
	}
	return evd, shared, peers
}

func wantNoRoom(t *testing.T, call string, r cgo.Return) {
	t.Helper()
	outcome(t, call, r, cgo.InsufficientResources, cgo.ResourceTEVD)
}

// take takes n completions.
func (q queue) take(t *testing.T, n int) (events []cgo.Event) {
	t.Helper()
	eventually(t, "the completions are there", func() bool {
		var event cgo.Event
		for len(events) < n && cgo.EVDDequeue(q.EVDHandle, &event).OK() {
			events = append(events, event)
		}
		return len(events) == n
	})
	return events
}

// An EVD on which more may be outstanding than it holds never gets more: a post without room fails, and changes
// nothing. In the published library the EVD overflows and its endpoints hang.
func TestPostWithoutRoom(t *testing.T) {
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		evd, shared, peers := a.sharing(t, 10, 3)
		length := int(evd.length(t))
		for round := range 20 {
			for i := range length {
				shared[i%len(shared)].postRecv(t, uint64(i))
			}
			e, peer := shared[round%len(shared)], peers[round%len(shared)]
			wantNoRoom(t, "EPPostRecv", cgo.EPPostRecv(e.EPHandle, []cgo.LMRTriplet{e.memory.local(0, 8)}, 100, cgo.CompletionDefault))
			wantNoRoom(t, "EPPostRDMAWrite", e.write(peer, 100, cgo.CompletionDefault))
			wantNoRoom(t, "EPPostRDMAWrite", e.write(peer, 100, cgo.CompletionSuppress))
			for i := range length {
				peers[i%len(shared)].deliver(t, uint64(i))
			}
			// What was not taken has its room still, wherever the library keeps it.
			var first cgo.Event
			_, r := cgo.EVDWait(evd.EVDHandle, cgo.TimeoutInfinite, int32(length), &first)
			success(t, "EVDWait", r)
			success(t, "EPPostRDMAWrite", e.write(peer, 100, cgo.CompletionDefault))
			wantNoRoom(t, "EPPostRDMAWrite", e.write(peer, 101, cgo.CompletionDefault))
			for _, event := range evd.take(t, length) {
				if event.DTO().Status != cgo.DTOSuccess {
					t.Fatalf("operation %d completes with %v", event.DTO().UserCookie, event.DTO().Status)
				}
			}
			evd.empty(t)
		}
		for _, e := range shared {
			e.idleSoon(t)
		}
	})
}

// Suppressed requests take room, too, as they may fail. They give it back without an event.
func TestRoomOfSuppressedRequests(t *testing.T) {
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		evd, shared, peers := a.sharing(t, 10, 3)
		for i := range 200 {
			eventually(t, "there is room", func() bool {
				r := shared[i%len(shared)].write(peers[i%len(shared)], 1, cgo.CompletionSuppress)
				if !r.OK() {
					wantNoRoom(t, "EPPostRDMAWrite", r)
				}
				return r.OK()
			})
		}
		for _, e := range shared {
			e.idleSoon(t)
		}
		evd.empty(t)
	})
}

// Room is counted once another endpoint makes an EVD too short, with what is outstanding by then, and not any more
// when the endpoint has gone.
func TestRoomCountsWhatIsOutstanding(t *testing.T) {
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		evd, shared, peers := a.sharing(t, 32, 1)
		length, e := int(evd.length(t)), shared[0]
		for i := range 16 {
			e.postRecv(t, uint64(i))
		}
		segments := []cgo.LMRTriplet{e.memory.local(0, 8)}
		for range 3 {
			for cookie := range uint64(3) { // silent, and not known to be done
				success(t, "EPPostRDMAWrite", e.write(peers[0], cookie, cgo.CompletionSuppress))
			}
			attr := endpointAttr()
			attr.MaxRecvDTOs, attr.MaxRequestDTOs = int32(length), 32
			other, r := cgo.EPCreate(a.IAHandle, e.pz, evd.EVDHandle, evd.EVDHandle, e.connect.EVDHandle, attr)
			success(t, "EPCreate", r)
			e.idleSoon(t)
			for range length - 16 {
				success(t, "EPPostRecv", cgo.EPPostRecv(other, segments, 200, cgo.CompletionDefault))
			}
			wantNoRoom(t, "EPPostRecv", cgo.EPPostRecv(other, segments, 200, cgo.CompletionDefault))
			success(t, "EPFree", cgo.EPFree(other)) // frees their room
		}
		success(t, "EPPostRDMAWrite", e.write(peers[0], 7, cgo.CompletionDefault))
		if event := evd.take(t, 1)[0]; event.DTO().UserCookie != 7 {
			t.Errorf("got the completion %d, want 7", event.DTO().UserCookie)
		}
		disconnect(t, e, peers[0])
		evd.take(t, 16)
		evd.empty(t)
	})
}

// Receives of a shared queue take room on each EVD on which they may complete.
func TestRoomOfSharedReceives(t *testing.T) {
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		pz, evd := a.newPZ(t), a.newEVD(t, 4, 0, cgo.EVDDTO)
		srq := a.newLongSRQ(t, pz, 64)
		e := a.makeEndpoint(t, parts{pz: pz, recv: evd, srq: srq.SRQHandle})
		length, peer := int(e.recv.length(t)), a.newPeer(t, e)
		receive := func() {
			t.Helper()
			for i := range uint64(length) {
				peer.deliver(t, i)
			}
			e.recv.take(t, length)
		}
		fill := func() {
			t.Helper()
			for range length {
				success(t, "SRQPostRecv", srq.post(e.memory, 1))
			}
		}
		for range 20 {
			fill()
			wantNoRoom(t, "SRQPostRecv", srq.post(e.memory, 1))
			receive()
		}

		// An EVD that is too short for the receives that are posted is refused.
		fill()
		short := a.newEVD(t, 1, 0, cgo.EVDDTO)
		if int((queue{EVDHandle: short}).length(t)) < length {
			_, r := cgo.EPCreateWithSRQ(a.IAHandle, e.pz, short, e.request.EVDHandle, e.connect.EVDHandle, srq.SRQHandle, endpointAttr())
			wantNoRoom(t, "EPCreateWithSRQ", r)
			wantNoRoom(t, "SRQPostRecv", srq.post(e.memory, 1))
		}
		receive()
		success(t, "EPFree", cgo.EPFree(a.createEP(t, e.pz, short, e.request.EVDHandle, e.connect.EVDHandle, srq.SRQHandle)))
	})
}

// An EVD as long as a shared queue has room for all of its receives, whether they are posted before endpoints are made or
// later. The dtestsrq of the dapl package is made so.
func TestRoomForWholeSharedQueue(t *testing.T) {
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		const receives, endpoints = 40, 4
		pz, evd := a.newPZ(t), a.newEVD(t, receives, 0, cgo.EVDDTO)
		srq := a.newLongSRQ(t, pz, receives)
		for range endpoints {
			e := a.makeEndpoint(t, parts{pz: pz, recv: evd, srq: srq.SRQHandle})
			for range receives / endpoints {
				success(t, "SRQPostRecv", srq.post(e.memory, 1))
			}
		}
	})
}

// A queue that grows has the room on its EVDs counted before it takes more receives.
func TestRoomOfResizedSharedQueue(t *testing.T) {
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		if a.iwarp {
			t.Skip("soft-iWARP resizes no queue")
		}
		evd := a.newEVD(t, 20, 0, cgo.EVDDTO)
		pz := a.newPZ(t)
		srq := a.newSRQ(t, pz)
		e := a.makeEndpoint(t, parts{pz: pz, recv: evd, srq: srq.SRQHandle})
		peer := a.newPeer(t, e)
		for range 5 {
			srq.fill(t, e.memory, 0)
			length := int(e.recv.length(t))
			srq.resize(t, a, int32(length)+40)
			for range length - 8 {
				success(t, "SRQPostRecv", srq.post(e.memory, 1))
			}
			wantNoRoom(t, "SRQPostRecv", srq.post(e.memory, 1))
			srq.resize(t, a, int32(length))
			srq.fill(t, e.memory, 0) // it is full
			for i := range uint64(length) {
				peer.deliver(t, i)
			}
			e.recv.take(t, length)
			srq.resize(t, a, 8)
		}
	})
}

// A resize leaves room for what is outstanding and for what was not taken.
func TestResizeKeepsRoom(t *testing.T) {
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		if a.iwarp {
			t.Skip("soft-iWARP resizes no queue")
		}
		evd, shared, _ := a.sharing(t, 64, 2)
		for i := range uint64(8) {
			shared[0].postRecv(t, i)
			shared[1].postRecv(t, i)
		}
		outcome(t, "EVDResize", cgo.EVDResize(evd.EVDHandle, 15), cgo.InvalidState, cgo.NoSubtype)
		success(t, "EVDResize", cgo.EVDResize(evd.EVDHandle, 17))
		shared[0].postRecv(t, 8)
		wantNoRoom(t, "EPPostRecv", cgo.EPPostRecv(shared[1].EPHandle, []cgo.LMRTriplet{shared[1].memory.local(0, 8)}, 9, cgo.CompletionDefault))
		success(t, "EVDResize", cgo.EVDResize(evd.EVDHandle, 18))
		shared[1].postRecv(t, 9)
	})
}

// A request that finds no room while its connection ends is refused, or completes once like the others.
func TestPostWithoutRoomAtTheEnd(t *testing.T) {
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		const rounds, beyond = 20, 1000
		for _, flags := range []cgo.CompletionFlags{cgo.CompletionDefault, cgo.CompletionSuppress} {
			evd, attr := queue{EVDHandle: a.newEVD(t, 500, 0, cgo.EVDDTO)}, endpointAttr()
			attr.MaxRequestDTOs = 2 * evd.length(t)
			e := a.makeEndpoint(t, parts{request: evd.EVDHandle, attr: attr})
			peer := a.newPeer(t, e)
			for range rounds {
				ended := make(chan cgo.Return, 1)
				go func() { ended <- cgo.EPDisconnect(peer.EPHandle, cgo.CloseAbrupt) }()
				posted := map[uint64]bool{}
				for cookie, refused := uint64(0), 0; refused < beyond; cookie++ {
					if e.write(peer, cookie, flags).OK() {
						posted[cookie] = true
						continue
					}
					if state, _, _, _ := cgo.EPGetStatus(e.EPHandle); state == cgo.EPStateDisconnected {
						refused++
					}
				}
				success(t, "EPDisconnect", <-ended)
				e.idleSoon(t)
				completed := 0
				for event := (cgo.Event{}); cgo.EVDDequeue(evd.EVDHandle, &event).OK(); completed++ {
					dto := event.DTO()
					if !posted[dto.UserCookie] {
						t.Fatalf("request %d, which was refused or has completed, completes with %v", dto.UserCookie, dto.Status)
					}
					delete(posted, dto.UserCookie)
				}
				if flags == cgo.CompletionDefault && len(posted) != 0 {
					t.Fatalf("%d requests have completed, %d have not", completed, len(posted))
				}
				a.reconnect(t, peer, e)
			}
		}
	})
}

// reluctantLocks lets other threads run before some of a process's locks are taken, and has accepts fail while the
// file exists.
const reluctantLocks = closedSocket + `
int pthread_mutex_lock(pthread_mutex_t *mutex)
{
	static __thread unsigned random;

	random = 1664525 * random + 1013904223;
	if (random >> 29 == 0)
		sched_yield();
	return LIBC(pthread_mutex_lock)(mutex);
}

int rdma_accept(struct rdma_cm_id *id, struct rdma_conn_param *param)
{
	if (told()) {
		errno = EPIPE;
		return -1;
	}
	return NEXT(rdma_accept)(id, param);
}
`

// The room of an EVD is what it was, whatever endpoints that share it do at the same time: what is outstanding takes all
// of it but for what is free, and completes once and in order. DEVICETEST_ROOM_SEED repeats a walk, as far as the threads
// do.
func TestRoomOfRandomCalls(t *testing.T) {
	const fixed, lasts = "DEVICETEST_ROOM_SEED", 2 * time.Second
	if os.Getenv(fixed) == "" {
		t.Setenv(fixed, fmt.Sprint(rand.Uint32()))
	}
	if !inChild(t, reluctantLocks, "GOMAXPROCS=8") {
		return
	}
	seed, err := strconv.ParseUint(os.Getenv(fixed), 10, 64)
	do(t, err)
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		w := a.newRoomWalk(t, seed)
		watchdog := time.AfterFunc(udattest.Patience/2, func() { panic(w.String()) }) // before the process is killed
		defer watchdog.Stop()
		for end := time.Now().Add(lasts); time.Now().Before(end) && !t.Failed(); w.steps++ {
			watchdog.Reset(udattest.Patience / 2)
			w.step(t)
		}
		t.Log(w)
		w.end(t)
	})
}

// roomWalk makes random calls on endpoints that share EVDs.
type roomWalk struct {
	a       *adapter
	l       *listener
	seed    uint64
	random  *rand.Rand
	evds    [2]cgo.EVDHandle
	room    [2]int
	walkers []*walker
	steps   int
	history []string
}

func (w *roomWalk) String() string {
	return fmt.Sprintf("%d steps with the seed %d, the last: %s", w.steps, w.seed, strings.Join(w.history[max(0, len(w.history)-10):], "; "))
}

// walker is an endpoint, and what was posted to it and has completed, by direction.
type walker struct {
	*endpoint
	number        int
	uses          [2]int // which EVD
	posted, taken [2]atomic.Uint64
	peer          *walker // while it is connected
}

const (
	recvs = iota
	requests
)

func (a *adapter) newRoomWalk(t *testing.T, seed uint64) *roomWalk {
	w := &roomWalk{a: a, seed: seed, l: a.listen(t), random: rand.New(rand.NewPCG(seed, 1))}
	for i := range w.evds {
		w.evds[i] = a.newEVD(t, 16, 0, cgo.EVDDTO)
	}
	for number := range 4 {
		x := &walker{number: number, uses: [2]int{number % 2, number / 2}}
		attr := endpointAttr()
		attr.MaxRecvDTOs, attr.MaxRequestDTOs = 100, 400
		x.endpoint = a.makeEndpoint(t, parts{recv: w.evds[x.uses[recvs]], request: w.evds[x.uses[requests]], attr: attr})
		w.walkers = append(w.walkers, x)
	}
	for i := range w.evds {
		w.room[i] = w.free(t, i)
	}
	return w
}

// free returns how many operations an EVD has room for.
func (w *roomWalk) free(t *testing.T, evd int) (n int) {
	t.Helper()
	e := w.walkers[0]
	attr := &cgo.EPAttr{ServiceType: cgo.ServiceTypeRC, MaxMessageSize: memorySize, MaxRecvDTOs: 200, MaxRecvIOV: 1}
	ep, r := cgo.EPCreate(w.a.IAHandle, e.pz, w.evds[evd], 0, e.connect.EVDHandle, attr)
	success(t, "EPCreate", r)
	for r.OK() {
		if r = cgo.EPPostRecv(ep, []cgo.LMRTriplet{e.memory.local(0, 8)}, 0, cgo.CompletionDefault); r.OK() {
			n++
		}
	}
	wantNoRoom(t, "EPPostRecv", r)
	success(t, "EPFree", cgo.EPFree(ep))
	return n
}

// step makes a call on an endpoint while others post, and this one, too, where that is allowed.
func (w *roomWalk) step(t *testing.T) {
	t.Helper()
	name, alone, call := w.choose(t)
	w.history = append(w.history, name)
	var stop atomic.Bool
	var beside sync.WaitGroup
	start := func(f func()) {
		beside.Add(1)
		go func() { defer beside.Done(); f() }()
	}
	for _, x := range w.walkers {
		for direction := range x.posted {
			if x != alone && w.random.IntN(3) > 0 {
				start(func() { w.post(t, x, direction, &stop) })
			}
		}
	}
	if w.random.IntN(2) == 0 {
		start(func() {
			for !stop.Load() {
				w.take(t)
			}
		})
	}
	func() {
		defer beside.Wait()
		defer stop.Store(true)
		call()
	}()
	w.take(t)
	for i, room := range w.room {
		free, outstanding := w.free(t, i), 0
		for _, x := range w.walkers {
			for direction, evd := range x.uses {
				if evd == i {
					outstanding += int(x.posted[direction].Load() - x.taken[direction].Load())
				}
			}
		}
		if free+outstanding != room {
			t.Errorf("step %d, %s: an EVD for %d has %d outstanding, and room for %d", w.steps, name, room, outstanding, free)
		}
	}
}

// post posts until it is told to stop, and some times at least.
func (w *roomWalk) post(t *testing.T, x *walker, direction int, stop *atomic.Bool) {
	to := x
	if x.peer != nil {
		to = x.peer
	}
	segments, remote := []cgo.LMRTriplet{x.memory.local(0, 8)}, to.memory.remote(8, 8)
	for i := 0; i < 20 || !stop.Load(); i++ {
		n := x.posted[direction].Load()
		cookie := uint64(x.number)<<33 | uint64(direction)<<32 | n
		var r cgo.Return
		if direction == recvs {
			r = cgo.EPPostRecv(x.EPHandle, segments, cookie, cgo.CompletionDefault)
		} else {
			r = cgo.EPPostRDMAWrite(x.EPHandle, segments, cookie, &remote, cgo.CompletionDefault)
		}
		switch {
		case r.OK():
			x.posted[direction].Store(n + 1)
		case r.Type() == cgo.InvalidState && direction == requests:
		case r.Type() != cgo.InsufficientResources:
			t.Errorf("posting returned %v", r)
		}
	}
}

// take takes the completions that there are.
func (w *roomWalk) take(t *testing.T) {
	for _, evd := range w.evds {
		for event := (cgo.Event{}); cgo.EVDDequeue(evd, &event).OK(); {
			cookie := event.DTO().UserCookie
			x, direction := w.walkers[cookie>>33], cookie>>32&1
			if n := x.taken[direction].Add(1) - 1; n != cookie&(1<<32-1) {
				t.Errorf("operation %d in the direction %d of endpoint %d completes, want %d", cookie&(1<<32-1), direction, x.number, n)
			}
		}
	}
}

// choose chooses a call, and the endpoint to which nothing may be posted meanwhile.
func (w *roomWalk) choose(t *testing.T) (name string, alone *walker, call func()) {
	x := w.walkers[w.random.IntN(len(w.walkers))]
	other := w.walkers[w.random.IntN(len(w.walkers))]
	if other == x || other.state(t) != cgo.EPStateUnconnected {
		other = nil
	}
	choice := w.random.IntN(10)
	switch state := x.state(t); {
	case state == cgo.EPStateUnconnected && choice < 3:
		param, mask, evd := x.query(t), modifyLengths, x.uses[recvs]
		param.EPAttr.MaxRecvDTOs, param.EPAttr.MaxRequestDTOs = 100+w.random.Int32N(9), 400+w.random.Int32N(9)
		if choice == 0 {
			mask |= cgo.EPFieldRecvEVDHandle
			evd = 1 - evd
			param.RecvEVDHandle = w.evds[evd]
		}
		return "EPModify", x, func() {
			r := cgo.EPModify(x.EPHandle, mask, &param)
			if r.OK() {
				x.uses[recvs] = evd
			} else if evd == x.uses[recvs] || r.Type() != cgo.InsufficientResources && r.Subtype() != cgo.InvalidStateEVDInUse {
				t.Errorf("EPModify returned %v", r)
			}
		}
	case state == cgo.EPStateUnconnected && choice == 3:
		return "EPReset", x, func() { success(t, "EPReset", cgo.EPReset(x.EPHandle)) }
	case state == cgo.EPStateUnconnected && choice < 7:
		return "CRReject", nil, func() { reject(t, w.request(t, x), x.endpoint) }
	case state == cgo.EPStateUnconnected && other != nil && choice == 7:
		return "CRAccept that fails", other, func() {
			request := w.request(t, x)
			tell(t, "")
			r := cgo.CRAccept(request, other.EPHandle, nil)
			untell(t)
			if r.OK() {
				t.Error("the accept has not failed")
			}
			success(t, "CRReject", cgo.CRReject(request, nil))
			if isSocketCM(w.a) { // which takes the peer for gone
				cgo.EPDisconnect(x.EPHandle, cgo.CloseAbrupt)
			}
			x.connect.next(t)
			other.wantState(t, cgo.EPStateUnconnected)
		}
	case state == cgo.EPStateUnconnected && other != nil:
		return "CRAccept", nil, func() {
			accept(t, w.request(t, x), other.EPHandle, x.endpoint, other.endpoint)
			x.peer, other.peer = other, x
		}
	case x.peer != nil && choice < 4:
		return "EPDisconnect", nil, func() { w.disconnect(t, x) }
	case state == cgo.EPStateDisconnected && choice < 3:
		return "EPReset", x, func() { success(t, "EPReset", cgo.EPReset(x.EPHandle)) }
	}
	return "posts", nil, func() {}
}

// request has an endpoint connect, and returns the request. Socket CM may have repeated one that an accept has failed for.
func (w *roomWalk) request(t *testing.T, x *walker) cgo.CRHandle {
	t.Helper()
	data := fmt.Sprintf("step %d", w.steps)
	success(t, "EPConnect", cgo.EPConnect(x.EPHandle, w.a.address, w.l.qual, cgo.TimeoutInfinite, []byte(data), cgo.QOSBestEffort, cgo.ConnectDefault))
	for {
		request := w.l.request(t)
		if requestData(t, request, len(data)) == data {
			return request
		}
		success(t, "CRReject", cgo.CRReject(request, nil))
	}
}

// disconnect ends a connection. It may have broken for one of the endpoints.
func (w *roomWalk) disconnect(t *testing.T, x *walker) {
	t.Helper()
	cgo.EPDisconnect(x.EPHandle, cgo.CloseFlags(w.random.IntN(2)))
	x.connect.next(t)
	x.peer.connect.next(t)
	x.peer.peer, x.peer = nil, nil
}

// end expects that everything completes, and gives its room back.
func (w *roomWalk) end(t *testing.T) {
	t.Helper()
	for _, x := range w.walkers {
		if x.peer != nil {
			w.disconnect(t, x)
		}
		reset(t, x.endpoint)
	}
	w.take(t)
	for _, x := range w.walkers {
		for direction := range x.posted {
			if posted, taken := x.posted[direction].Load(), x.taken[direction].Load(); posted != taken {
				t.Errorf("%d operations of endpoint %d were posted, %d have completed", posted, x.number, taken)
			}
		}
	}
	for i, room := range w.room {
		if free := w.free(t, i); free != room {
			t.Errorf("an EVD for %d has room for %d in the end", room, free)
		}
	}
}
