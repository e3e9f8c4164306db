package main

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/goudat/goudat/examples/interop/internal/testprogram"
	"github.com/goudat/goudat/udat"
)

// link is one end of a connection: an endpoint with its own event dispatchers.
type link struct {
	ep *udat.EP

	recv, request, connection *udat.EVD
	requests                  *udat.EVD // for connection requests, of a listening link

	ended  chan struct{} // closed when the connection has ended; nil before it
	forget func()        // ends the watch
}

// lengths are those of a link's event dispatchers.
type lengths struct{ recv, request, connection int }

// The lengths of event dispatchers are those of the C program.
const (
	serverQueue = 32
	clientQueue = 8
	testQueue   = 8
)

func sameLengths(n int) lengths { return lengths{n, n, n} }

// newLink makes an unconnected endpoint. The lengths cover the operations that are outstanding at a time, which are
// fewer than the attributes allow.
func newLink(ia *udat.IA, pz *udat.PZ, length lengths, attr udat.EPAttr, listens bool) (l *link, err error) {
	l = &link{}
	defer func() {
		if err != nil {
			err = errors.Join(err, l.Free())
		}
	}()
	for _, evd := range []struct {
		evd    **udat.EVD
		length int
		flags  udat.EVDFlags
		wanted bool
	}{
		{&l.recv, length.recv, udat.EVDDTO, true},
		{&l.request, length.request, udat.EVDDTO | udat.EVDRMRBind, true},
		{&l.requests, length.connection, udat.EVDCR, listens},
		{&l.connection, length.connection, udat.EVDConnection, true},
	} {
		if !evd.wanted {
			continue
		}
		if *evd.evd, err = udat.CreateEVD(ia, evd.length, nil, evd.flags); err != nil {
			return l, err
		}
	}
	l.ep, err = udat.CreateEP(ia, pz, l.recv, l.request, l.connection, &attr)
	return l, err
}

const (
	// persistence is how long a client retries when it is rejected.
	persistence = 20 * time.Second
	// between is the time from one attempt to the next.
	between = 20 * time.Millisecond
)

// service is an address that a client connects to.
type service struct {
	address     netip.Addr
	port        udat.ConnQual
	privateData []byte // for the server
}

// connect connects to a server, which may not listen yet. post posts the receives; a failed attempt loses them. When
// the connection ends, it calls end with the reason.
func (l *link) connect(ctx context.Context, to service, t trace, post func(), end func(error)) {
	t.say(1, "connecting to %v, port %d", to.address, to.port)
	deadline := time.Now().Add(persistence)
	for {
		post()
		check(l.ep.Connect(to.address, to.port, patience, to.privateData))
		err := l.establish(ctx, end)
		rejected := errors.Is(err, udat.EventConnectionPeerRejected) || errors.Is(err, udat.EventConnectionNonPeerRejected)
		if !rejected || time.Now().After(deadline) {
			check(err)
			return
		}
		t.say(1, "nobody listens at port %d", to.port)
		check(testprogram.Pause(ctx, between))
		l.reset()
	}
}

// listen listens for requests to the endpoint: on a reserved service point, which takes one request, or on a public
// one.
func (l *link) listen(ia *udat.IA, port udat.ConnQual, reserved bool) (object, error) {
	if reserved {
		return udat.CreateRSP(ia, port, l.ep, l.requests)
	}
	return udat.CreatePSP(ia, port, l.requests)
}

// nextRequest waits for a request.
func (l *link) nextRequest(ctx context.Context) (*udat.CR, udat.CRParam) {
	cr := must(take(ctx, l.requests)).CR()
	return cr, must(cr.Query())
}

// accept accepts a request, which may come from a reserved service point. For end, see connect.
func (l *link) accept(ctx context.Context, cr *udat.CR, reserved bool, end func(error)) {
	ep := l.ep
	if reserved {
		ep = nil
	}
	check(cr.Accept(ep, nil))
	check(l.establish(ctx, end))
}

// establish waits until the connection is established, and then watches it.
func (l *link) establish(ctx context.Context, end func(error)) error {
	ctx, cancel := patient(ctx)
	defer cancel()
	if _, err := l.connection.Expect(ctx, udat.EventConnectionEstablished); err != nil {
		return fmt.Errorf("connecting: %w", err)
	}
	watching, forget := context.WithCancel(context.Background())
	l.ended, l.forget = make(chan struct{}), forget
	go l.watch(watching, end)
	return nil
}

func (l *link) watch(ctx context.Context, end func(error)) {
	defer close(l.ended)
	if event, err := l.connection.Wait(ctx); err == nil {
		end(fmt.Errorf("the connection has ended: %w", event.Number))
	}
}

// disconnect ends the connection if there is one, and waits until it has ended.
func (l *link) disconnect(how udat.CloseFlags) error {
	if l.ended == nil {
		return nil
	}
	err := l.ep.Disconnect(how)
	timeout := time.NewTimer(patience)
	defer timeout.Stop()
	select {
	case <-l.ended:
	case <-timeout.C:
		err = errors.Join(err, fmt.Errorf("the connection has not ended: %w", errSilent))
	}
	l.forget()
	<-l.ended
	l.ended = nil
	return err
}

// reset makes the endpoint ready for another connection, without receives.
func (l *link) reset() {
	check(l.ep.Reset())
	drain(l.recv)
	drain(l.request)
}

// drain drops the waiting events.
func drain(evd *udat.EVD) {
	var events [16]udat.Event
	for must(evd.Poll(events[:])) > 0 {
	}
}

// Free ends the connection and frees everything.
func (l *link) Free() error {
	if l == nil {
		return nil
	}
	err := l.disconnect(udat.CloseAbrupt)
	return errors.Join(err, free(l.ep, l.connection, l.requests, l.request, l.recv))
}

// sendNote sends the beginning of a buffer.
func (l *link) sendNote(b *buffers, i, length int) {
	check(l.ep.PostSend([]udat.Segment{must(b.lmr.Segment(i*b.size, length))}, noteCookie(i), udat.CompletionDefault))
}

// postNote posts a receive for a note into the beginning of a buffer.
func (l *link) postNote(b *buffers, i, length int) {
	check(l.ep.PostRecv([]udat.Segment{must(b.lmr.Segment(i*b.size, length))}, noteCookie(i), udat.CompletionDefault))
}

// noteCookie is the cookie of a note. The cookies of operations are their numbers.
func noteCookie(i int) uint64 { return 1<<32 | uint64(i) }

// completion is an expected completion.
type completion struct {
	ep     *udat.EP
	cookie uint64
	length int
}

func (c completion) check(event udat.Event) {
	switch {
	case event.EP() != c.ep:
		check(errors.New("the completion is of another endpoint"))
	case event.Cookie != c.cookie:
		check(fmt.Errorf("the completion has the cookie %#x, want %#x", event.Cookie, c.cookie))
	case int(event.Length) != c.length:
		check(fmt.Errorf("%d bytes were transferred, want %d", event.Length, c.length))
	}
}

// takeNote waits until a note was sent or received.
func (l *link) takeNote(ctx context.Context, evd *udat.EVD, i, length int) {
	ctx, cancel := patient(ctx)
	defer cancel()
	completion{l.ep, noteCookie(i), length}.check(must(take(ctx, evd)))
}

// lastNote sends the last note on a connection. The note's completion does not matter: the peer may leave as soon as it has
// the note, before this side knows.
func lastNote(send func()) {
	err := testprogram.Attempt(send)
	if status := udat.DTOSuccess; !errors.As(err, &status) {
		check(err)
	}
}

// within returns the error of what is done on a link.
func within(linked context.Context, do func()) error { return explain(linked, testprogram.Attempt(do)) }

// explain adds the reason for the end of a link's context to an error: the error of an operation that fails because of
// it does not have the reason.
func explain(linked context.Context, err error) error {
	status := udat.DTOSuccess
	if err == nil || !errors.As(err, &status) && !errors.Is(err, udat.ErrInvalidState) {
		return err
	}
	reason, cancel := context.WithTimeoutCause(linked, time.Second, nil)
	defer cancel()
	<-reason.Done()
	if cause := context.Cause(linked); cause != nil {
		err = fmt.Errorf("%w: %w", err, cause)
	}
	return err
}
