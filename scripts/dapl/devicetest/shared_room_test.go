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

// reluctantLocks lets other threads run before some of a process's locks are taken, and has accepts fail while a variable
// is set.
const reluctantLocks = closedSocket + `
#include <pthread.h>
#include <sched.h>

int pthread_mutex_lock(pthread_mutex_t *mutex)
{
	static int (*original)(pthread_mutex_t *);
	static __thread unsigned random;

	if (original == NULL)
		original = (int (*)(pthread_mutex_t *))dlsym(RTLD_NEXT, "pthread_mutex_lock");
	random = 1664525 * random + 1013904223;
	if (random >> 29 == 0)
		sched_yield();
	return original(mutex);
}

int rdma_accept(void *id, void *param)
{
	int (*original)(void *, void *) = (int (*)(void *, void *))dlsym(RTLD_NEXT, "rdma_accept");

	if (getenv("DEVICETEST_CLOSED") != NULL) {
		errno = EPIPE;
		return -1;
	}
	return original(id, param);
}
`

// The room of an EVD is what it was, whatever endpoints that share it do at the same time: what is outstanding takes all
// of it but for what is free, and completes once and in order. DEVICETEST_ROOM_SEED repeats a walk, as far as the threads
// do, and DEVICETEST_ROOM_FOR lets it take longer, within udattest.Patience.
func TestRoomOfRandomCalls(t *testing.T) {
	const child, fixed, length = "DEVICETEST_ROOM", "DEVICETEST_ROOM_SEED", "DEVICETEST_ROOM_FOR"
	if os.Getenv(child) == "" {
		seed := os.Getenv(fixed)
		if seed == "" {
			seed = fmt.Sprint(rand.Uint32())
		}
		library := buildPreload(t, reluctantLocks)
		for _, name := range udattest.Names(t) {
			t.Run(name, func(t *testing.T) {
				runWith(t, library, "^TestRoomOfRandomCalls$", child+"=1", fixed+"="+seed, "UDAT_TEST_IA="+name, "GOMAXPROCS=8")
			})
		}
		return
	}
	seed, err := strconv.ParseUint(os.Getenv(fixed), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	lasts, err := time.ParseDuration(os.Getenv(length))
	if err != nil {
		lasts = 2 * time.Second
	}
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
		var r cgo.Return
		w.evds[i], r = cgo.EVDCreate(a.IAHandle, 16, 0, cgo.EVDDTO)
		success(t, "EVDCreate", r)
		t.Cleanup(func() { success(t, "EVDFree", cgo.EVDFree(w.evds[i])) })
	}
	for number := range 4 {
		x := &walker{number: number, uses: [2]int{number % 2, number / 2}}
		x.endpoint = a.makeEndpoint(t, func(e *endpoint) (cgo.EPHandle, cgo.Return) {
			attr := endpointAttr()
			attr.MaxRecvDTOs, attr.MaxRequestDTOs = 100, 400
			return cgo.EPCreate(a.IAHandle, e.pz, w.evds[x.uses[recvs]], w.evds[x.uses[requests]], e.connect.EVDHandle, attr)
		})
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
		return "CRReject", nil, func() {
			success(t, "CRReject", cgo.CRReject(w.request(t, x), nil))
			x.connect.expect(t, cgo.EventConnectionPeerRejected)
		}
	case state == cgo.EPStateUnconnected && other != nil && choice == 7:
		return "CRAccept that fails", other, func() {
			request := w.request(t, x)
			os.Setenv("DEVICETEST_CLOSED", "1")
			r := cgo.CRAccept(request, other.EPHandle, nil)
			os.Unsetenv("DEVICETEST_CLOSED")
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
			success(t, "CRAccept", cgo.CRAccept(w.request(t, x), other.EPHandle, nil))
			x.connect.expect(t, cgo.EventConnectionEstablished)
			other.connect.expect(t, cgo.EventConnectionEstablished)
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
		success(t, "EPReset", cgo.EPReset(x.EPHandle))
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
