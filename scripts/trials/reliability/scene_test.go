//go:build linux

package reliability

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"strconv"
	"testing"
	"time"

	"github.com/goudat/goudat/scripts/trials/internal/process"
	"github.com/goudat/goudat/scripts/vm/control"
	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/udattest"
)

// seedFlag determines moments and contents.
var seedFlag = flag.Uint64("reliability.seed", 1, "determines the moments at which things break, and contents")

// bound is the program's bound for an operation: longer than the adapter's own retries, even on a busy machine.
const bound = 90 * time.Second

// The ranks of the machines. The same tests run on each, in step.
const (
	nearRank = iota // breaks things, and sends
	farRank         // answers
	// Machines from this rank on replace far in tests that kill a machine.
	firstVictimRank
)

// untilTurn is longer than all other tests take: a machine that will be killed waits for its turn.
const untilTurn = time.Hour

// scene is one machine's part in a test.
type scene struct {
	*testing.T
	what     string // happens
	provider string // the adapter's name
	rank     int
	peer     int // the other one's rank
	ia       *udat.IA
	iwarp    bool // the device speaks it
	rand     *rand.Rand
	// patience is how long the program waits for the completion of a send.
	patience time.Duration
	// losing is set while the device is removed: the adapter may refuse posts.
	losing bool
	group  process.Group // that limits the objects of the device

	name  string // of its meetings
	steps int
}

func (s *scene) near() bool { return s.rank == nearRank }

// play runs a scenario on two machines, with each provider. what is its name on the page.
func play(t *testing.T, what string, do func(s *scene)) {
	playOn(t, udattest.Names(t), farRank, what, do)
}

func playOn(t *testing.T, providers []string, far int, what string, do func(s *scene)) {
	rank, err := control.Rank()
	if err != nil {
		t.Skip(err)
	}
	if rank != nearRank && rank != far {
		return
	}
	for _, provider := range providers {
		t.Run(provider, func(t *testing.T) {
			// This adapter stays open: the library keeps some descriptors of the last adapter.
			udattest.Open(t, provider)
			newScene(t, what, provider, far).play(func(s *scene) {
				s.ia = udattest.Open(s.T, provider)
				s.iwarp = udattest.IWARP(s.T, s.ia)
				do(s)
			})
		})
	}
}

// newScene returns the scene for this machine, which is near or far.
func newScene(t *testing.T, what, provider string, far int) *scene {
	rank, err := control.Rank()
	if err != nil {
		t.Fatal(err)
	}
	peer := far
	if rank == far {
		peer = nearRank
	}
	return &scene{
		T: t, what: what, provider: provider, rank: rank, peer: peer, name: t.Name(), patience: bound,
		rand: rand.New(rand.NewPCG(*seedFlag, uint64(len(t.Name())))),
	}
}

// play plays the part at the same time as the other side, and checks that nothing is left behind.
func (s *scene) play(do func(s *scene)) {
	s.Helper()
	s.meetWithin(untilTurn, "")
	before := holdings(s.T)
	ok := s.Run("run", func(t *testing.T) {
		inner := *s
		inner.T = t
		do(&inner)
	})
	if !ok {
		return // the other side notices that this process ends
	}
	s.name += " is over"
	s.meet("")
	before.await(s.T)
}

// meet waits for the other side, and returns its value.
func (s *scene) meet(value string) string {
	s.Helper()
	return s.meetWithin(3*bound, value)
}

func (s *scene) meetWithin(limit time.Duration, value string) string {
	s.Helper()
	s.steps++
	other, err := s.meetAt(strconv.Itoa(s.steps), limit, value)
	if err != nil {
		s.Fatal(err)
	}
	return other
}

// meetAt is a meeting outside of the usual order.
func (s *scene) meetAt(step string, limit time.Duration, value string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	values, err := control.Meet(ctx, s.name+", "+step, value, s.rank, s.peer)
	if err != nil {
		return "", err
	}
	return values[s.peer], nil
}

// tell is meet for numbers.
func (s *scene) tell(n int) int {
	s.Helper()
	other, err := strconv.Atoi(s.meet(strconv.Itoa(n)))
	if err != nil {
		s.Fatalf("the other side has failed: %v", err)
	}
	return other
}

// do begins a disturbance, or ends one.
func (s *scene) do(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// peerAddress is the other machine's.
func (s *scene) peerAddress() netip.Addr {
	s.Helper()
	peers, err := control.Peers()
	s.do(err)
	return peers[s.peer]
}

// peerService takes the qualifier of one of the peer's service points, and returns the whole of its address.
func (s *scene) peerService() netip.AddrPort {
	s.Helper()
	return netip.AddrPortFrom(s.peerAddress(), uint16(s.tell(0)))
}

// connect returns this side's end of a new connection. An attempt may fail soon after a link has come back: the kernel
// looks for the peer's hardware address for one second only. Both sides then know, and try again.
func (s *scene) connect() *udattest.Endpoint {
	s.Helper()
	e := s.endpoint()
	var try func() error
	if s.near() {
		qual := udat.ConnQual(s.tell(0))
		try = func() error { return e.EP.Connect(s.peerAddress(), qual, bound, nil) }
	} else {
		listener := udattest.Listen(s.T, s.ia)
		s.tell(int(listener.ConnQual))
		try = func() error {
			return udattest.Expect(s.T, listener.Requests, udat.EventConnectionRequest).CR().Accept(e.EP, nil)
		}
	}
	for deadline := time.Now().Add(bound); ; {
		err := s.attempt(e, try)
		if err == nil {
			return e
		}
		if time.Now().After(deadline) {
			s.Fatal(err)
		}
		s.Logf("an attempt to connect failed: %v", err)
	}
}

// attempt tries to connect once; the endpoint is unconnected if it fails.
func (s *scene) attempt(e *udattest.Endpoint, try func() error) error {
	s.Helper()
	if err := try(); err != nil {
		return err
	}
	event := udattest.Wait(s.T, e.Connect)
	if event.Number == udat.EventConnectionEstablished {
		return nil
	}
	s.do(e.Reset())
	return fmt.Errorf("the attempt ends with %v", event.Number)
}

// endpoint returns an endpoint for a stream in either direction.
func (s *scene) endpoint() *udattest.Endpoint {
	s.Helper()
	attr := udattest.DefaultAttr(s.T, s.ia)
	attr.MaxRecvDTOs, attr.MaxRequestDTOs = posted, window
	e := udattest.Options{Attr: &attr, MemorySize: memorySize}.NewEndpoint(s.T, s.ia)
	if holdings(s.T).Pinned == 0 {
		s.Error("the memory does not count as pinned, so leaked memory would not be seen")
	}
	return e
}

// connectTo connects to a service point of the other side.
func (s *scene) connectTo(service netip.AddrPort) *udattest.Endpoint {
	s.Helper()
	e := s.endpoint()
	s.do(e.EP.Connect(service.Addr(), udat.ConnQual(service.Port()), bound, nil))
	udattest.Expect(s.T, e.Connect, udat.EventConnectionEstablished)
	return e
}

// accept accepts the next request on an endpoint.
func (s *scene) accept(listener *udattest.Listener, e *udattest.Endpoint) {
	s.Helper()
	s.do(udattest.Expect(s.T, listener.Requests, udat.EventConnectionRequest).CR().Accept(e.EP, nil))
	udattest.Expect(s.T, e.Connect, udat.EventConnectionEstablished)
}

// eventually waits for what nothing tells.
func (s *scene) eventually(what string, done func() bool) {
	s.Helper()
	for deadline := time.Now().Add(bound); !done(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			s.Fatalf("not in %v: %s", bound, what)
		}
	}
}

// reconnect shows that both sides can connect again.
func (s *scene) reconnect() {
	s.Helper()
	e := s.connect()
	if s.near() {
		s.meet("") // the receive is posted
		s.do(e.PostSend([]udat.Segment{e.Segment(s.T, 0, 64)}, 1, 0))
		s.succeeded(udattest.Wait(s.T, e.Request))
	} else {
		s.do(e.PostRecv([]udat.Segment{e.Segment(s.T, 0, 64)}, 1, 0))
		s.meet("")
		s.succeeded(udattest.Wait(s.T, e.Recv))
	}
	s.meet("")
}

func (s *scene) succeeded(event udat.Event) {
	s.Helper()
	if err := event.Err(); err != nil {
		s.Errorf("a completion fails: %v", err)
	}
}

// saw records what the program saw, for the page.
func (s *scene) saw(format string, args ...any) {
	s.Helper()
	text := fmt.Sprintf(format, args...)
	s.Logf("saw: %s", text)
	page.add(s.what, s.provider, text)
}

// held is the process's use of system resources.
type held struct{ process.Holdings }

func holdings(t *testing.T) held {
	t.Helper()
	h, err := process.Measure()
	if err != nil {
		t.Fatal(err)
	}
	return held{h}
}

func (h held) within(before held) bool {
	const moreThreads = 16 // which Go keeps once it needed them
	return h.Descriptors <= before.Descriptors && h.Threads <= before.Threads+moreThreads && h.Pinned <= before.Pinned
}

// await waits until the process holds no more than before: threads of the library release some later, which tells nobody.
func (h held) await(t *testing.T) {
	t.Helper()
	for deadline := time.Now().Add(bound); ; time.Sleep(10 * time.Millisecond) {
		now := holdings(t)
		if now.within(h) {
			return
		}
		if time.Now().After(deadline) {
			t.Errorf("the process holds %+v, before it was %+v", now, h)
			return
		}
	}
}

// TestMain ends the process with the first failure: after it, the two sides are no longer in step. The end also stops
// the other side's wait.
func TestMain(m *testing.M) {
	flag.Parse()
	udattest.Patience = bound
	set := func(name, value string) {
		if err := flag.Set(name, value); err != nil {
			panic(err)
		}
	}
	set("test.failfast", "true")
	switch rank, err := control.Rank(); {
	case err != nil:
		set("test.skip", "^Example$") // it cannot skip like tests without machines
	case rank != nearRank:
		set("test.v", "false") // the result for "go test" is one machine's
	}
	udattest.Main(m)
}
