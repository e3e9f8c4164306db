package conformance

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"time"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/udattest"
)

// must ends the trial when a call fails that must succeed.
func (t *trial) must(err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// refused fails the trial if an error does not match all targets.
func (t *trial) refused(err error, targets ...error) {
	t.Helper()
	for _, target := range targets {
		if !errors.Is(err, target) {
			t.Errorf("the error is %v, want one that matches %v", err, target)
		}
	}
}

// neverShown is the trial of a clause that cannot be shown.
func neverShown(reason, needs string) func(*trial) {
	return func(t *trial) { t.notShown(reason, needs) }
}

// noState is the trial of a clause about TENTATIVE_CONNECTION_PENDING.
var noState = neverShown("no endpoint gets into the state: there are no service points with the provider flag, since no provider accepts a request on an endpoint that it has made itself",
	"a provider that makes endpoints for its service points")

// invalidHandle is the trial of calls on invalid endpoints: nil, zero and freed.
func invalidHandle(calls ...func(*udat.EP) error) func(*trial) {
	return func(t *trial) {
		e := t.endpoint()
		t.must(e.EP.Free())
		for name, ep := range map[string]*udat.EP{"nil": nil, "zero": {}, "freed": e.EP} {
			for _, call := range calls {
				if err := call(ep); !errors.Is(err, udat.ErrInvalidHandle) || !errors.Is(err, udat.InvalidHandleEP) {
					t.Errorf("with a %s endpoint the error is %v", name, err)
				}
			}
		}
	}
}

func (t *trial) address() netip.Addr {
	t.Helper()
	return udattest.Address(t, t.ia)
}

func (t *trial) endpoint() *udattest.Endpoint {
	t.Helper()
	return udattest.NewEndpoint(t, t.ia, nil)
}

func (t *trial) pair() (active, passive *udattest.Endpoint) {
	t.Helper()
	return udattest.Pair(t, t.ia, nil)
}

// limits are those of the device.
func (t *trial) limits() udat.IAAttr {
	t.Helper()
	attr, _, err := t.ia.Query()
	t.must(err)
	return attr
}

// ask has an endpoint ask for a connection, and returns the request.
func (t *trial) ask(l *udattest.Listener, e *udattest.Endpoint) *udat.CR {
	t.Helper()
	t.must(e.EP.Connect(t.address(), l.ConnQual, udattest.Patience, nil))
	return udattest.Expect(t, l.Requests, udat.EventConnectionRequest).CR()
}

// accepted accepts a request, on an endpoint or that which is reserved, and expects that both ends are connected.
func (t *trial) accepted(cr *udat.CR, on *udat.EP, ends ...*udattest.Endpoint) {
	t.Helper()
	t.must(cr.Accept(on, nil))
	for _, e := range ends {
		if event := udattest.Expect(t, e.Connect, udat.EventConnectionEstablished); event.EP() != e.EP {
			t.Error("the event names another endpoint")
		}
	}
}

// atOnce makes a call several times at once, and expects that all succeed.
func (t *trial) atOnce(n int, call func(i int) error) (wait func()) {
	failures := make(chan error, n)
	for i := range n {
		go func() { failures <- call(i) }()
	}
	return func() {
		t.Helper()
		for range n {
			if err := <-failures; err != nil {
				t.Error(err)
			}
		}
	}
}

// deepPair is a pair with room for n operations in each direction.
func (t *trial) deepPair(n int) (active, passive *udattest.Endpoint) {
	t.Helper()
	attr := udattest.DefaultAttr(t, t.ia)
	attr.MaxRecvDTOs, attr.MaxRequestDTOs = n, n
	o := udattest.Options{Attr: &attr, QueueLength: 2 * n}
	listener := udattest.Listen(t, t.ia)
	active, passive = o.NewEndpoint(t, t.ia), o.NewEndpoint(t, t.ia)
	udattest.ConnectPair(t, listener, active, passive)
	return active, passive
}

// evd makes an event dispatcher that is freed when the trial ends.
func (t *trial) evd(length int, flags udat.EVDFlags) *udat.EVD {
	t.Helper()
	evd, err := udat.CreateEVD(t.ia, length, nil, flags)
	t.must(err)
	t.cleanup(evd)
	return evd
}

// zone makes a protection zone and memory in it.
func (t *trial) zone() (*udat.PZ, *udat.LMR) {
	t.Helper()
	pz, err := udat.CreatePZ(t.ia)
	t.must(err)
	t.cleanup(pz)
	memory, err := udat.AllocMemory(pz, 64<<10, udat.MemPrivAll)
	t.must(err)
	t.cleanup(memory)
	return pz, memory
}

// cleanup frees an object when the trial ends, unless the trial has freed it.
func (t *trial) cleanup(o interface{ Free() error }) {
	t.Cleanup(func() {
		if err := o.Free(); err != nil && !errors.Is(err, udat.ErrClosed) {
			t.Error(err)
		}
	})
}

func one(s udat.Segment) []udat.Segment { return []udat.Segment{s} }

// message is the length of the messages of most trials, in bytes.
const message = 64

func (t *trial) postRecv(e *udattest.Endpoint, cookies ...uint64) {
	t.Helper()
	for _, cookie := range cookies {
		t.must(e.PostRecv(one(e.Segment(t, 0, message)), cookie, 0))
	}
}

func (t *trial) postSend(e *udattest.Endpoint, cookies ...uint64) {
	t.Helper()
	for _, cookie := range cookies {
		t.must(e.PostSend(one(e.Segment(t, 0, message)), cookie, 0))
	}
}

func (t *trial) remote(e *udattest.Endpoint) udat.RMRTriplet {
	t.Helper()
	remote, err := e.Memory.RMRTriplet(0, message)
	t.must(err)
	return remote
}

func (t *trial) postRead(e, from *udattest.Endpoint, cookie uint64) {
	t.Helper()
	t.must(e.PostRDMARead(one(e.Segment(t, 0, message)), cookie, t.remote(from), 0))
}

func (t *trial) postWrite(e, to *udattest.Endpoint, cookie uint64) {
	t.Helper()
	t.must(e.PostRDMAWrite(one(e.Segment(t, 0, message)), cookie, t.remote(to), 0))
}

// exchange sends a message and expects both completions.
func (t *trial) exchange(from, to *udattest.Endpoint) {
	t.Helper()
	t.postRecv(to, 1001)
	t.postSend(from, 1002)
	udattest.Completion(t, from.Request, 1002)
	udattest.Completion(t, to.Recv, 1001)
}

// completions takes the completions of n operations. It fails the trial if they do not come in the order of their
// cookies.
func (t *trial) completions(evd *udat.EVD, cookies ...uint64) (status []udat.DTOStatus) {
	t.Helper()
	for i, cookie := range cookies {
		event := udattest.Expect(t, evd, udat.EventDTOCompletion)
		for event.Cookie >= occupier {
			event = udattest.Expect(t, evd, udat.EventDTOCompletion)
		}
		if event.Cookie != cookie {
			t.Errorf("completion %d is of operation %d, want %d", i, event.Cookie, cookie)
		}
		status = append(status, event.Status)
	}
	return status
}

// succeeded takes the completions of operations that must all succeed.
func (t *trial) succeeded(evd *udat.EVD, cookies ...uint64) {
	t.Helper()
	for i, status := range t.completions(evd, cookies...) {
		if status != udat.DTOSuccess {
			t.Errorf("operation %d completes with %v", cookies[i], status)
		}
	}
}

// flushed takes the completions of operations that must all fail.
func (t *trial) flushed(evd *udat.EVD, cookies ...uint64) {
	t.Helper()
	for i, status := range t.completions(evd, cookies...) {
		if status == udat.DTOSuccess {
			t.Errorf("operation %d has succeeded", cookies[i])
		}
	}
}

func (t *trial) status(e *udattest.Endpoint) udat.EPStatus {
	t.Helper()
	s, err := e.GetStatus()
	t.must(err)
	return s
}

func (t *trial) wantState(e *udattest.Endpoint, want udat.EPState) {
	t.Helper()
	if s := t.status(e); s.State != want {
		t.Fatalf("the endpoint is in the state %v, want %v", s.State, want)
	}
}

func (t *trial) wantIdle(e *udattest.Endpoint, recv, request bool) {
	t.Helper()
	if s := t.status(e); s.RecvIdle != recv || s.RequestIdle != request {
		t.Errorf("receives are idle: %v, requests are idle: %v; want %v and %v", s.RecvIdle, s.RequestIdle, recv, request)
	}
}

func (t *trial) query(e *udattest.Endpoint) udat.EPParam {
	t.Helper()
	param, err := e.Query()
	t.must(err)
	return param
}

// disconnected expects the end of a connection on both sides. On iWARP, the end of the TCP connection is an error for a
// side that is sending, or answering a read.
func (t *trial) disconnected(endpoints ...*udattest.Endpoint) {
	t.Helper()
	for _, e := range endpoints {
		event := udattest.Wait(t, e.Connect)
		if n := event.Number; n != udat.EventConnectionDisconnected && !(t.iwarp && n == udat.EventConnectionBroken) {
			t.Fatalf("got the event %v, want the end of the connection", n)
		}
		t.wantState(e, udat.EPStateDisconnected)
	}
}

// quiet fails if an event comes within a moment.
func quiet(evd *udat.EVD, moment time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), moment)
	defer cancel()
	event, err := evd.Wait(ctx)
	switch {
	case err == nil:
		return errors.New("there is the event " + event.Number.String())
	case !errors.Is(err, context.DeadlineExceeded):
		return err
	}
	return nil
}

// series returns consecutive numbers, starting with first.
func series(first, n int) []uint64 {
	s := make([]uint64, n)
	for i := range s {
		s[i] = uint64(first + i)
	}
	return s
}

// monotone reports whether nothing succeeds after the first failure.
func monotone(status []udat.DTOStatus) bool {
	first := slices.IndexFunc(status, func(s udat.DTOStatus) bool { return s != udat.DTOSuccess })
	return first < 0 || !slices.Contains(status[first:], udat.DTOSuccess)
}
