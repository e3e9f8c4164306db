package udat_test

import (
	"testing"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/udattest"
)

// shape is how a program in C sizes its event dispatchers, which is for what it
// posts, and its endpoints, which are larger.
type shape struct {
	name      string
	length    int // of the event dispatcher for completions
	apart     bool
	events    int // length of that for connection events
	endpoints int
	attr      func(*udat.EPAttr)
	receives  int  // posted on an endpoint at the same time
	writes    int  // posted at the same time, too, suppressed but for the last one
	grow      int  // length after half of the endpoints were made and used
	notified  bool // waits with a CNO
	idleToo   bool // receives stay posted on all endpoints
	shared    int  // length of the shared queue for receives, 0 for none
}

var shapes = []shape{
	{name: "dapltest, a transaction", length: 8, apart: true, events: 8, endpoints: 1, receives: 4, writes: 3},
	{name: "dapltest, endpoints that share", length: 8, events: 8, endpoints: 8, receives: 2, writes: 2},
	{name: "pscom", length: 16, events: 16, endpoints: 1, receives: 8, writes: 4},
	{name: "Open MPI", length: 4 * 102, events: 256, endpoints: 16, grow: 8 * 102, attr: depths(84, 84), receives: 10, writes: 5, idleToo: true},
	{name: "MVAPICH2", length: 6000, events: 256, endpoints: 80, attr: depths(128, 64), receives: 6, writes: 4, idleToo: true},
	{name: "Photon", length: 64, apart: true, events: 64, endpoints: 12, attr: depths(64, 64), receives: 2, writes: 16},
	{name: "NetPIPE", length: 1024, apart: true, events: 8, endpoints: 1, attr: depths(8000, 8000), receives: 100, writes: 20, notified: true},
	{name: "HTX", length: 32, apart: true, events: 8, endpoints: 2, attr: depths(256, 256), receives: 10, writes: 8, notified: true},
	{name: "srdma", length: 10, events: 10, endpoints: 6, attr: depths(33, 37), receives: 3, writes: 3},
	{name: "dtestsrq", length: 4 * 20, apart: true, events: 8, endpoints: 4, attr: depths(20, 20), receives: 20, writes: 10, shared: 4 * 20, idleToo: true},
}

func depths(receives, requests int) func(*udat.EPAttr) {
	return func(a *udat.EPAttr) { a.MaxRecvDTOs, a.MaxRequestDTOs = receives, requests }
}

// Programs in C keep their structure in Go: their event dispatchers are as long as
// what they post, and they bound themselves.
func TestProgramShapes(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		for _, s := range shapes {
			t.Run(s.name, func(t *testing.T) { s.run(t, ia) })
		}
	})
}

func (s *shape) run(t *testing.T, ia *udat.IA) {
	attr := udattest.DefaultAttr(t, ia)
	if s.attr != nil {
		s.attr(&attr)
	}
	sides := [2]*crowd{s.side(t, ia), s.side(t, ia)}
	listener := udattest.Listen(t, ia)
	endpoints := fewerOnSIW(t, ia, s.endpoints, 4)
	for i := range endpoints {
		if s.grow > 0 && i == endpoints/2 && canResize(t, ia) {
			for _, c := range sides {
				want(t, c.evd.Resize(s.grow))
			}
		}
		for _, c := range sides {
			c.join(t, &attr)
		}
		connect(t, listener, sides[0], sides[1], i)
		for side, c := range sides {
			if s.idleToo {
				for range 2 {
					want(t, c.posted(c.receive(t, c.eps[i])))
				}
			}
			s.exchange(t, c, sides[1-side], i)
		}
	}
	for i := range endpoints {
		s.exchange(t, sides[i%2], sides[1-i%2], i)
	}
	for _, c := range sides {
		n := 0
		for _, op := range c.ops {
			if !op.suppressed {
				n++
			}
		}
		if idle := map[bool]int{true: 2 * endpoints}[s.idleToo]; n != idle {
			t.Errorf("%d operations have not completed, want %d", n, idle)
		}
		wantNoEvent(t, c.evd)
	}
	wantNoOverflow(t, ia)
}

func (s *shape) side(t *testing.T, ia *udat.IA) *crowd {
	// With 6000, a queue comes to lie where libsiw takes it for none (SIW_INVAL_UOBJ_KEY).
	length := fewerOnSIW(t, ia, s.length, 3000)
	c := newEmptyCrowd(t, ia, length)
	if s.apart {
		c.request = createEVD(t, ia, length, udat.EVDDTO)
	}
	want(t, c.events.Resize(s.events))
	if s.shared > 0 {
		var err error
		c.srq, err = udat.CreateSRQ(ia, c.pz, udat.SRQAttr{MaxRecvDTOs: s.shared, MaxRecvIOV: 1})
		want(t, err)
		t.Cleanup(func() { want(t, c.srq.Free()) })
	}
	if s.notified {
		c.cno = createCNO(t, ia, nil, c.evd, c.requests())
	}
	return c
}

// exchange has one side send as many messages as the other has receives, and
// write, and both take what completes.
func (s *shape) exchange(t *testing.T, from, to *crowd, index int) {
	t.Helper()
	ahead := map[bool]int{true: 2}[s.idleToo]
	for range s.receives - ahead {
		want(t, to.posted(to.receive(t, to.eps[index])))
	}
	remote, err := to.memory.RMRTriplet(0, 8)
	want(t, err)
	ep := from.eps[index]
	for i := range s.writes {
		op := outstanding{suppressed: i < s.writes-1}
		flags := udat.CompletionFlags(0)
		if op.suppressed {
			flags = udat.CompletionSuppress
		}
		cookie := from.begin(op)
		want(t, from.posted(cookie, ep.PostRDMAWrite(from.segment(t), cookie, remote, flags)))
	}
	from.takeOne(t, from.requests())
	for range s.receives - ahead {
		cookie := from.begin(outstanding{})
		want(t, from.posted(cookie, ep.PostSend(from.segment(t), cookie, 0)))
		from.takeOne(t, from.requests())
		to.takeOne(t, to.evd)
	}
}

// receive posts a receive.
func (c *crowd) receive(t *testing.T, ep *udat.EP) (cookie uint64, err error) {
	cookie = c.begin(outstanding{})
	if c.srq != nil {
		return cookie, c.srq.PostRecv(c.segment(t), cookie)
	}
	return cookie, ep.PostRecv(c.segment(t), cookie, 0)
}

// takeOne waits for a completion on the event dispatcher and takes it.
func (c *crowd) takeOne(t *testing.T, evd *udat.EVD) {
	t.Helper()
	if c.cno != nil {
		if got := waitCNO(t, c.cno); got != evd {
			t.Error("the notification object names another event dispatcher")
		}
	}
	event := udattest.Expect(t, evd, udat.EventDTOCompletion)
	want(t, event.Err())
	c.complete(t, event)
}
