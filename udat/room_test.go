package udat_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/udattest"
)

// noRoom are what a post without room on its EVD fails with.
var noRoom = []error{udat.ErrInsufficientResources, udat.ResourceTEVD}

func isNoRoom(err error) bool {
	return errors.Is(err, udat.ErrInsufficientResources) && errors.Is(err, udat.ResourceTEVD)
}

// crowd is a number of endpoints that share their EVDs, and know what they have
// outstanding.
type crowd struct {
	ia      *udat.IA
	pz      *udat.PZ
	memory  *udat.LMR
	evd     *udat.EVD // for receives and requests
	request *udat.EVD // for the latter, if not nil
	events  *udat.EVD // of connections
	srq     *udat.SRQ // nil for endpoints with receives of their own
	cno     *udat.CNO // of the event dispatchers for completions, if not nil
	eps     []*udat.EP

	mu      sync.Mutex
	next    uint64
	ops     map[uint64]outstanding // by cookie
	changed chan struct{}          // closed when completions have come
	ends    map[*udat.EP]chan udat.EventNumber
}

type outstanding struct {
	suppressed bool
	shared     bool // a receive of a shared queue, which nothing takes back
}

func newCrowd(t *testing.T, ia *udat.IA, length, endpoints int) *crowd {
	t.Helper()
	c := newEmptyCrowd(t, ia, length)
	for range endpoints {
		c.join(t, nil)
	}
	return c
}

func newEmptyCrowd(t *testing.T, ia *udat.IA, length int) *crowd {
	t.Helper()
	var err error
	c := &crowd{ia: ia, ops: make(map[uint64]outstanding), changed: make(chan struct{}), ends: make(map[*udat.EP]chan udat.EventNumber)}
	c.pz, err = udat.CreatePZ(ia)
	want(t, err)
	t.Cleanup(func() { want(t, c.pz.Free()) })
	c.evd = createEVD(t, ia, length, udat.EVDDTO)
	c.events = createEVD(t, ia, 1024, udat.EVDConnection) // without room a connection ends
	c.memory, err = udat.AllocMemory(c.pz, 4096, udat.MemPrivAll)
	want(t, err)
	t.Cleanup(func() { want(t, c.memory.Free()) })
	return c
}

func (c *crowd) requests() *udat.EVD {
	if c.request != nil {
		return c.request
	}
	return c.evd
}

// join adds an endpoint, which must be admitted.
func (c *crowd) join(t *testing.T, attr *udat.EPAttr) *udat.EP {
	t.Helper()
	var ep *udat.EP
	var err error
	if c.srq != nil {
		ep, err = udat.CreateEPWithSRQ(c.ia, c.pz, c.evd, c.requests(), c.events, c.srq, attr)
	} else {
		ep, err = udat.CreateEP(c.ia, c.pz, c.evd, c.requests(), c.events, attr)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := ep.Free(); !errors.Is(err, udat.ErrClosed) {
			want(t, err)
		}
	})
	c.eps = append(c.eps, ep)
	c.ends[ep] = make(chan udat.EventNumber, 64)
	return ep
}

func (c *crowd) segment(t *testing.T) []udat.Segment {
	s, err := c.memory.Segment(0, 8)
	want(t, err)
	return one(s)
}

func (c *crowd) begin(op outstanding) (cookie uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.next++
	c.ops[c.next] = op
	return c.next
}

// posted takes note of how a post has ended.
func (c *crowd) posted(cookie uint64, err error) error {
	if err != nil {
		c.mu.Lock()
		delete(c.ops, cookie)
		c.mu.Unlock()
	}
	return err
}

// complete checks that the completion is the only one of its operation.
func (c *crowd) complete(t *testing.T, event udat.Event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	op, known := c.ops[event.Cookie]
	switch {
	case event.Number != udat.EventDTOCompletion || !known:
		t.Errorf("%+v is no completion of what is outstanding", event)
	case op.suppressed && event.Status == udat.DTOSuccess:
		t.Errorf("a suppressed operation has completed: %+v", event)
	}
	delete(c.ops, event.Cookie)
	close(c.changed)
	c.changed = make(chan struct{})
}

// left is how many operations have to complete.
func (c *crowd) left() (n int, changed <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, op := range c.ops {
		if !op.suppressed && !op.shared {
			n++
		}
	}
	return n, c.changed
}

// take takes completions until the context ends, in one way or another.
func (c *crowd) take(ctx context.Context, t *testing.T) {
	var events [8]udat.Event
	for {
		n, err := 0, error(nil)
		switch rand.IntN(3) {
		case 0:
			n, err = c.evd.WaitBatch(ctx, events[:], 1)
		case 1:
			n, err = c.evd.Poll(events[:])
		case 2:
			if events[0], err = c.evd.Wait(ctx); err == nil {
				n = 1
			}
		}
		if err != nil {
			if ctx.Err() == nil {
				t.Error(err)
			}
			return
		}
		for _, event := range events[:n] {
			c.complete(t, event)
		}
		if n == 0 {
			runtime.Gosched()
		}
	}
}

// watch passes the connection events to the goroutines that wait for them.
func (c *crowd) watch(ctx context.Context, t *testing.T) {
	for {
		event, err := c.events.Wait(ctx)
		if err != nil {
			if ctx.Err() == nil {
				t.Error(err)
			}
			return
		}
		c.ends[event.EP()] <- event.Number
	}
}

func (c *crowd) await(ctx context.Context, t *testing.T, ep *udat.EP, numbers ...udat.EventNumber) bool {
	select {
	case got := <-c.ends[ep]:
		for _, n := range numbers {
			if got == n {
				return true
			}
		}
		t.Errorf("the endpoint got %v, want %v", got, numbers)
	case <-ctx.Done():
		t.Errorf("the endpoint never got %v", numbers)
	}
	return false
}

// post posts a random operation whose peer is in another crowd.
func (c *crowd) post(t *testing.T, ep *udat.EP, peer *crowd) error {
	flags := udat.CompletionFlags(0)
	kind := rand.IntN(8)
	if kind >= 4 && rand.IntN(3) == 0 {
		flags = udat.CompletionSuppress
	}
	cookie := c.begin(outstanding{suppressed: flags != 0, shared: kind < 3 && c.srq != nil})
	iov := c.segment(t)
	remote, err := peer.memory.RMRTriplet(0, 8)
	want(t, err)
	switch {
	case kind < 3 && c.srq != nil:
		return c.posted(cookie, c.srq.PostRecv(iov, cookie))
	case kind < 3:
		return c.posted(cookie, ep.PostRecv(iov, cookie, 0))
	case kind < 4:
		n, err := ep.PostBatch([]udat.Post{{Operation: udat.DTORDMAWrite, Segments: iov, Cookie: cookie, Remote: remote}})
		if n == 1 {
			err = nil
		}
		return c.posted(cookie, err)
	case kind < 6:
		return c.posted(cookie, ep.PostSend(iov, cookie, flags))
	case kind < 7:
		return c.posted(cookie, ep.PostRDMAWrite(iov, cookie, remote, flags))
	}
	return c.posted(cookie, ep.PostRDMARead(iov, cookie, remote, flags))
}

// link is the connection of an endpoint of one crowd with one of another.
type link struct {
	crowds [2]*crowd
	index  int
	up     bool
}

func (l *link) ep(side int) *udat.EP { return l.crowds[side].eps[l.index] }

// connect uses the listener, which only one goroutine may do at a time.
func (l *link) connect(ctx context.Context, t *testing.T, listener *udattest.Listener) {
	ia := l.crowds[0].ia
	if err := l.ep(0).Connect(udattest.Address(t, ia), listener.ConnQual, udattest.Patience, nil); err != nil {
		t.Error(err)
		return
	}
	event, err := listener.Requests.Wait(ctx)
	if err != nil {
		t.Error(err)
		return
	}
	want(t, event.CR().Accept(l.ep(1), nil))
	for side, c := range l.crowds {
		l.up = c.await(ctx, t, l.ep(side), udat.EventConnectionEstablished) && (side == 0 || l.up)
	}
}

func (l *link) end(ctx context.Context, t *testing.T) {
	if !l.up {
		return
	}
	first := rand.IntN(2)
	if rand.IntN(2) == 0 {
		want(t, l.ep(first).Disconnect(udat.CloseGraceful))
	}
	want(t, l.ep(first).Disconnect(udat.CloseAbrupt))
	for side, c := range l.crowds {
		c.await(ctx, t, l.ep(side), udat.EventConnectionDisconnected, udat.EventConnectionBroken)
	}
	for side := range l.crowds {
		want(t, l.ep(side).Reset())
	}
	l.up = false
}

// A post needs room on its EVD. Without room it has no effect. Taking completions frees
// room.
func TestPostWithoutRoom(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		a, b := newCrowd(t, ia, 8, 2), newCrowd(t, ia, 64, 2)
		room := qlen(t, a.evd)
		listener := udattest.Listen(t, ia)
		connect(t, listener, a, b, 0)
		ep, iov := a.eps[0], a.segment(t)
		for i := range room {
			want(t, a.eps[i%2].PostRecv(iov, uint64(i), 0))
		}
		for range 3 {
			for _, other := range a.eps {
				want(t, other.PostRecv(iov, 99, 0), noRoom...)
			}
			want(t, ep.PostSend(iov, 99, 0), noRoom...)
			want(t, ep.PostSend(iov, 99, udat.CompletionSuppress), noRoom...)
		}
		n, err := ep.PostBatch([]udat.Post{{Operation: udat.DTOReceive, Segments: iov}})
		if n != 0 {
			t.Error("a batch without room was posted")
		}
		want(t, err, noRoom...)
		wantState(t, ep, udat.EPStateConnected)

		// One message makes room for one operation, once its completion was taken.
		want(t, b.eps[0].PostSend(b.segment(t), 1, 0))
		wantCompletion(t, b.evd, 1, udat.DTOSuccess)
		want(t, ep.PostRecv(iov, 99, 0), noRoom...)
		wantCompletion(t, a.evd, 0, udat.DTOSuccess)
		n, err = ep.PostBatch([]udat.Post{{Operation: udat.DTOReceive, Segments: iov, Cookie: 100}, {Operation: udat.DTOReceive, Segments: iov, Cookie: 101}})
		if n != 1 {
			t.Errorf("%d receives of a batch were posted, there is room for one", n)
		}
		want(t, err, noRoom...)

		// A post that fails for another reason takes no room.
		want(t, b.eps[0].PostSend(b.segment(t), 1, 0))
		wantCompletion(t, b.evd, 1, udat.DTOSuccess)
		wantCompletion(t, a.evd, 2, udat.DTOSuccess)
		for range 3 {
			want(t, ep.PostRecv(make([]udat.Segment, 100), 99, 0), udat.ErrInvalidParameter)
			want(t, ep.PostRecv(b.segment(t), 99, 0), udat.ErrProtectionViolation)
			want(t, a.eps[1].PostSend(iov, 99, 0), udat.ErrInvalidState)
			remote, err := b.memory.RMRTriplet(0, 4)
			want(t, err)
			want(t, ep.PostRDMAWrite(iov, 99, remote, 0), udat.ErrInvalidParameter)
		}
		want(t, ep.PostRecv(iov, 102, 0))
		want(t, ep.PostRecv(iov, 99, 0), noRoom...)

		// What is outstanding keeps its room when the endpoint is replaced, and releases it
		// when the endpoint is freed.
		want(t, a.eps[1].Modify(udat.EPFieldMaxMessageSize, &udat.EPParam{Attr: udat.EPAttr{MaxMessageSize: 64}}))
		want(t, ep.PostRecv(iov, 99, 0), noRoom...)
		want(t, a.eps[1].Free())
		for range room / 2 {
			want(t, ep.PostRecv(iov, 103, 0))
		}
		want(t, ep.PostRecv(iov, 99, 0), noRoom...)
	})
}

// Suppressed operations that have succeeded release their room by themselves.
func TestSuppressedRoom(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		a, b := newCrowd(t, ia, 8, 20), newCrowd(t, ia, 8, 20)
		listener := udattest.Listen(t, ia)
		remote, err := b.memory.RMRTriplet(0, 8)
		want(t, err)
		for i := range a.eps {
			connect(t, listener, a, b, i)
			for range qlen(t, a.evd) {
				await(t, "room for an operation", func() bool {
					err := a.eps[i].PostRDMAWrite(a.segment(t), 1, remote, udat.CompletionSuppress)
					if err != nil {
						want(t, err, noRoom...)
					}
					return err == nil
				})
			}
		}
		wantNoEvent(t, a.evd)
	})
}

// What is posted on an endpoint that has ended completes at once, as long as there
// is room.
func TestRoomAfterEnd(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		a, b := newCrowd(t, ia, 8, 2), newCrowd(t, ia, 64, 1)
		connect(t, udattest.Listen(t, ia), a, b, 0)
		want(t, b.eps[0].Disconnect(udat.CloseAbrupt))
		udattest.Expect(t, a.events, udat.EventConnectionDisconnected)
		posted := 0
		for err := error(nil); err == nil; posted++ {
			err = a.eps[0].PostRecv(a.segment(t), uint64(posted), 0)
			if err != nil {
				want(t, err, noRoom...)
				break
			}
		}
		if room := qlen(t, a.evd); posted != room {
			t.Errorf("%d receives were posted, there is room for %d", posted, room)
		}
		for i := range posted {
			wantCompletion(t, a.evd, uint64(i), udat.DTOErrFlushed)
		}
		want(t, a.eps[1].PostRecv(a.segment(t), 1, 0))
		want(t, a.eps[0].PostRecv(a.segment(t), 2, 0))
		wantCompletion(t, a.evd, 2, udat.DTOErrFlushed)
	})
}

// connect connects the endpoints of two crowds that have the index.
func connect(t *testing.T, listener *udattest.Listener, a, b *crowd, index int) {
	t.Helper()
	udattest.ConnectPair(t, listener, &udattest.Endpoint{EP: a.eps[index], IA: a.ia, Connect: a.events},
		&udattest.Endpoint{EP: b.eps[index], IA: b.ia, Connect: b.events})
}

// An endpoint is refused whose shared queue has more receives than there is room for on an EVD that others use, which
// changes nothing. It is admitted on an EVD that has room.
func TestSharedReceivesBeyondRoom(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		const receives = 100
		c, senders := newCrowd(t, ia, 8, 1), newCrowd(t, ia, 256, 3)
		srq, err := udat.CreateSRQ(ia, c.pz, udat.SRQAttr{MaxRecvDTOs: receives, MaxRecvIOV: 1})
		want(t, err)
		t.Cleanup(func() { want(t, srq.Free()) })
		listener := udattest.Listen(t, ia)
		connect(t, listener, senders, c, 0)
		want(t, c.eps[0].PostRecv(c.segment(t), 1000, 0))
		for i := range uint64(receives) {
			want(t, srq.PostRecv(c.segment(t), i))
		}
		create := func(evd *udat.EVD) error {
			_, err := udat.CreateEPWithSRQ(ia, c.pz, evd, c.evd, c.events, srq, nil)
			return err
		}
		want(t, create(c.evd), noRoom...)
		room := qlen(t, c.evd)
		for i := range room - 1 {
			want(t, c.eps[0].PostRecv(c.segment(t), uint64(1001+i), 0))
		}
		want(t, c.eps[0].PostRecv(c.segment(t), 99, 0), noRoom...)

		short := c.evd
		c.srq, c.evd = srq, createEVD(t, ia, receives, udat.EVDDTO)
		for i := 1; i <= 2; i++ {
			c.join(t, nil)
			connect(t, listener, senders, c, i)
		}
		send := func(i int) {
			t.Helper()
			want(t, senders.eps[i].PostSend(senders.segment(t), 1, 0))
			wantCompletion(t, senders.evd, 1, udat.DTOSuccess)
		}
		for i := range receives {
			send(1 + i%2)
		}
		send(0)
		wantCompletion(t, short, 1000, udat.DTOSuccess)
		seen := make(map[uint64]bool)
		for range receives {
			event := udattest.Expect(t, c.evd, udat.EventDTOCompletion)
			want(t, event.Err())
			if seen[event.Cookie] || event.Cookie >= receives {
				t.Errorf("the completion of receive %d is not what is outstanding", event.Cookie)
			}
			seen[event.Cookie] = true
		}
		wantNoEvent(t, c.evd)
		wantNoOverflow(t, ia)
	})
}

// crowdSize is how many endpoints share an EVD.
func crowdSize() int {
	if os.Getenv("GOUDAT_TEST_LONG") != "" {
		return 300
	}
	return 100
}

// Hundreds of endpoints share EVDs of 8 under random load, while connections end
// and begin. What is posted completes once, and no queue of the library
// overflows.
func TestManyEndpointsOnShortEVDs(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		for _, shared := range []bool{false, true} {
			t.Run(receives(shared), func(t *testing.T) { loadCrowds(t, ia, 8, crowdSize(), shared, nil) })
		}
	})
}

// The same while the EVDs, which begin with room for one event, become longer and
// shorter.
func TestResizeUnderLoad(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		if !canResize(t, ia) {
			return
		}
		for _, shared := range []bool{false, true} {
			t.Run(receives(shared), func(t *testing.T) {
				resized := 0
				loadCrowds(t, ia, 1, 16, shared, func(evd *udat.EVD) {
					switch err := evd.Resize(1 + rand.IntN(40)); {
					case err == nil:
						resized++
					case !errors.Is(err, udat.ErrInvalidState): // it has more than that
						t.Error(err)
					}
				})
				if resized == 0 {
					t.Error("no event dispatcher was resized")
				}
			})
		}
	})
}

func receives(shared bool) string {
	if shared {
		return "a shared queue"
	}
	return "receives of their own"
}

// loadCrowds has endpoints share EVDs of a length, and calls beside, if that is not
// nil, for one of those again and again.
func loadCrowds(t *testing.T, ia *udat.IA, length, endpoints int, shared bool, beside func(*udat.EVD)) {
	active := newCrowd(t, ia, length, fewerOnSIW(t, ia, endpoints, 20))
	passive := newEmptyCrowd(t, ia, length)
	if shared {
		var err error
		passive.srq, err = udat.CreateSRQ(ia, passive.pz, udat.SRQAttr{MaxRecvDTOs: 64, MaxRecvIOV: 1})
		want(t, err)
		t.Cleanup(func() { want(t, passive.srq.Free()) })
	}
	for range active.eps {
		passive.join(t, nil)
	}
	listener := udattest.Listen(t, ia)
	bound := 2*udattest.Patience + time.Duration(endpoints)*time.Second // each is connected, ended and connected again
	ctx, cancel := context.WithTimeout(context.Background(), bound)
	defer cancel()
	var takers, workers sync.WaitGroup
	for _, c := range []*crowd{active, passive} {
		spawn(&takers, func() { c.take(ctx, t) })
		spawn(&takers, func() { c.watch(ctx, t) })
	}
	var connecting sync.Mutex
	const goroutines = 4
	stop := time.Now().Add(time.Second)
	refused := make([]int, goroutines)
	for w := range goroutines {
		spawn(&workers, func() {
			var links []*link
			for i := w; i < len(active.eps); i += goroutines {
				l := &link{crowds: [2]*crowd{active, passive}, index: i}
				connecting.Lock()
				l.connect(ctx, t, listener)
				connecting.Unlock()
				links = append(links, l)
			}
			inVain := 0
			for time.Now().Before(stop) || refused[w] == 0 && !t.Failed() {
				l := links[rand.IntN(len(links))]
				side := rand.IntN(2)
				switch err := l.crowds[side].post(t, l.ep(side), l.crowds[1-side]); {
				case isNoRoom(err):
					refused[w]++
					inVain++
					runtime.Gosched()
				case err == nil:
					inVain = 0
				case !errors.Is(err, udat.ErrInsufficientResources):
					t.Error(err)
				}
				// Messages for which nobody has posted a receive keep their room.
				if inVain > 100 || rand.IntN(200) == 0 {
					inVain = 0
					l.end(ctx, t)
					connecting.Lock()
					l.connect(ctx, t, listener)
					connecting.Unlock()
				}
				if t.Failed() {
					break
				}
			}
			for _, l := range links {
				l.end(ctx, t)
			}
		})
	}
	loaded := make(chan struct{})
	var disturber sync.WaitGroup
	if beside != nil {
		spawn(&disturber, func() {
			for {
				select {
				case <-loaded:
					return
				default:
					beside([]*crowd{active, passive}[rand.IntN(2)].evd)
					runtime.Gosched()
				}
			}
		})
	}
	workers.Wait()
	close(loaded)
	disturber.Wait()
	for _, c := range []*crowd{active, passive} {
		for n, changed := c.left(); n > 0; n, changed = c.left() {
			select {
			case <-changed:
				continue
			case <-ctx.Done():
				t.Errorf("%d operations have not completed", n)
			}
			break
		}
	}
	cancel()
	takers.Wait()
	for w, n := range refused {
		if n == 0 {
			t.Errorf("goroutine %d has found room for all that it has posted", w)
		}
	}
	wantNoOverflow(t, ia)
}

func spawn(group *sync.WaitGroup, f func()) {
	group.Add(1)
	go func() {
		defer group.Done()
		f()
	}()
}

// wantNoOverflow checks that the library has reported none. The adapter reports
// other things of endpoints that end.
func wantNoOverflow(t *testing.T, ia *udat.IA) {
	t.Helper()
	for {
		event, err := ia.AsyncEVD().Dequeue()
		if err != nil {
			want(t, err, udat.ErrQueueEmpty)
			return
		}
		if event.Number == udat.EventAsyncErrorEVDOverflow {
			t.Errorf("an event dispatcher has overflowed: %+v", event)
		}
	}
}

// Receives of a shared queue take room on each receive EVD of its endpoints, those
// that were posted before there was an endpoint included.
func TestSharedReceivesRoom(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		c, senders := newEmptyCrowd(t, ia, 40), newCrowd(t, ia, 256, 3)
		length := qlen(t, c.evd)
		other := &crowd{ia: ia, pz: c.pz, memory: c.memory, evd: createEVD(t, ia, 8, udat.EVDDTO), events: c.events, ends: c.ends}
		shorter := qlen(t, other.evd)
		srq, err := udat.CreateSRQ(ia, c.pz, udat.SRQAttr{MaxRecvDTOs: 2 * length, MaxRecvIOV: 1})
		want(t, err)
		t.Cleanup(func() { want(t, srq.Free()) })
		c.srq, other.srq = srq, srq
		post := func(n int) {
			t.Helper()
			for range n {
				want(t, srq.PostRecv(c.segment(t), 1))
			}
		}
		post(length)
		c.request = createEVD(t, ia, 256, udat.EVDDTO)
		c.join(t, nil)
		c.join(t, nil)
		want(t, srq.PostRecv(c.segment(t), 99), noRoom...)
		if now := qlen(t, c.evd); now != length {
			t.Errorf("the event dispatcher held %d and holds %d", length, now)
		}
		listener := udattest.Listen(t, ia)
		connect(t, listener, senders, c, 0)
		connect(t, listener, senders, c, 1)
		send := func(i int) {
			t.Helper()
			want(t, senders.eps[i].PostSend(senders.segment(t), 1, 0))
			wantCompletion(t, senders.evd, 1, udat.DTOSuccess)
		}
		wantCompletions := func(evd *udat.EVD, n int) {
			t.Helper()
			for range n {
				want(t, udattest.Expect(t, evd, udat.EventDTOCompletion).Err())
			}
		}
		for i := range length {
			send(i % 2)
		}
		want(t, srq.PostRecv(c.segment(t), 99), noRoom...) // the completions were not taken
		wantCompletions(c.evd, length)
		wantNoEvent(t, c.evd)

		// On a second EVD as well, the shorter of which says how many there can be.
		post(shorter + 1)
		_, err = udat.CreateEPWithSRQ(ia, c.pz, other.evd, c.request, c.events, srq, nil)
		want(t, err, noRoom...)
		send(0)
		wantCompletions(c.evd, 1)
		other.request = c.request
		other.join(t, nil)
		want(t, srq.PostRecv(c.segment(t), 99), noRoom...)
		senders.eps[0], senders.eps[2] = senders.eps[2], senders.eps[0]
		connect(t, listener, senders, other, 0)
		for range shorter {
			send(0)
		}
		wantCompletions(other.evd, shorter)
		post(shorter)
		want(t, srq.PostRecv(c.segment(t), 99), noRoom...)
		want(t, other.eps[0].Free())
		post(length - shorter)
		want(t, srq.PostRecv(c.segment(t), 99), noRoom...)
		wantNoOverflow(t, ia)
	})
}
