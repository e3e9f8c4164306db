package stream

import (
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"
	"testing"
	"time"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/udattest"
)

// stranger is a peer that knows the greeting and then sends what it likes.
type stranger struct {
	*udattest.Endpoint
	listener *Listener // of its peer
	sent     int
}

func (s *stranger) send(t testing.TB, message []byte) {
	t.Helper()
	copy(s.Memory.Bytes()[s.sent%32*2048:], message)
	if err := s.PostSend([]udat.Segment{s.Segment(t, s.sent%32*2048, len(message))}, uint64(s.sent), udat.CompletionSuppress); err != nil {
		t.Log(err) // the connection has been broken for an earlier message
	}
	s.sent++
}

// connectStranger connects a stranger to a listener, and returns the listener's side.
func connectStranger(t *testing.T, name string) (*stranger, *Conn) {
	_, l := openListener(t, name)
	s := &stranger{listener: l, Endpoint: udattest.NewEndpoint(t, udattest.Open(t, name), &udat.EPAttr{MaxRequestDTOs: 64})}
	for i := range standard.slots + more {
		if err := s.PostRecv([]udat.Segment{s.Segment(t, 0, 16)}, uint64(i), 0); err != nil {
			break // as many as there may be
		}
	}
	ring, err := s.Memory.RMRTriplet(0, 8)
	want(t, err)
	ring.SegmentLength = standard.window()
	want(t, s.EP.Connect(l.address.Addr(), udat.ConnQual(l.address.Port()), udattest.Patience, greeting{standard.slots, standard.short, ring}.bytes()))
	udattest.Expect(t, s.Connect, udat.EventConnectionEstablished)
	s.send(t, message(header{kind: kindData, length: 1}, 1))
	c, err := l.Accept()
	want(t, err)
	_ = c.SetDeadline(time.Now().Add(udattest.Patience))
	return s, c.(*Conn)
}

// standard are the sizes of the default settings.
var standard = func() sizes {
	c, err := Config{}.complete()
	if err != nil {
		panic(err)
	}
	return c.sizes()
}()

func message(h header, follow int) []byte {
	m := make([]byte, headerSize+follow)
	h.put(m)
	return m
}

func TestNonsense(t *testing.T) {
	short := message(header{kind: kindData, length: 1}, 1)
	long := message(header{kind: kindData, length: standard.most()}, 0)
	end := message(header{kind: kindEnd}, 0)
	repeat := func(m []byte, times int) (all [][]byte) {
		for range times {
			all = append(all, m)
		}
		return all
	}
	for what, messages := range map[string][][]byte{
		"nothing":                      {{}},
		"half a header":                {make([]byte, headerSize-1)},
		"zeros":                        {make([]byte, 100)},
		"an unknown kind":              {message(header{kind: 99}, 0)},
		"a wrong length":               {message(header{kind: kindData, length: 100}, 1)},
		"no length":                    {message(header{kind: kindData}, 1)},
		"a chunk that is too long":     {message(header{kind: kindData, length: standard.most() + 1}, 0)},
		"long data behind the header":  {message(header{kind: kindData, length: standard.mostShort() + 1}, 1)},
		"an end with data":             {message(header{kind: kindEnd, length: 1}, 1)},
		"more than the ring holds":     repeat(long, 9),
		"more than there is room for":  repeat(short, int(standard.slots)+1),
		"data after the end":           {end, short},
		"two ends":                     {end, end},
		"credit for what was not sent": {message(header{kind: kindData, read: 1}, 0)},
		"less credit than before":      {message(header{kind: kindData, read: 1<<32 - 1}, 0)},
	} {
		for _, name := range udattest.Names(t) {
			t.Run(fmt.Sprintf("%s/%s", name, what), func(t *testing.T) {
				s, c := connectStranger(t, name)
				for _, m := range messages {
					s.send(t, m)
				}
				udattest.Expect(t, s.Connect, udat.EventConnectionDisconnected)
				<-c.over.Done()
				var err error
				for err == nil {
					_, err = c.Read(make([]byte, standard.window()))
				}
				if what == "data after the end" || what == "two ends" {
					if err != io.EOF {
						t.Errorf("the end was not read, but %v", err)
					}
					_, err = c.Write([]byte{1})
				}
				if !errors.Is(err, ErrProtocol) || !errors.Is(err, syscall.ECONNRESET) {
					t.Errorf("the error is %v", err)
				}
			})
		}
	}
}

// Whatever a peer sends along instead of a greeting, it is refused.
func TestGreetings(t *testing.T) {
	good := greeting{standard.slots, standard.short, udat.RMRTriplet{SegmentLength: standard.window()}}
	want(t, second(parseGreeting(append(good.bytes(), 0, 0))))
	for what, bad := range map[string]func(g greeting) []byte{
		"nothing":             func(greeting) []byte { return nil },
		"something else":      func(greeting) []byte { return []byte("something else") },
		"another version":     func(g greeting) []byte { return append([]byte("goudstr4"), g.bytes()[len(magic):]...) },
		"half of it":          func(g greeting) []byte { return g.bytes()[:greetingSize-1] },
		"no slots":            func(g greeting) []byte { g.slots = 0; return g.bytes() },
		"too many slots":      func(g greeting) []byte { g.slots = 2 * mostSlots; return g.bytes() },
		"a third":             func(g greeting) []byte { g.slots = 33; return g.bytes() },
		"a window of nothing": func(g greeting) []byte { g.ring.SegmentLength = g.slots; return g.bytes() },
		"a vast window":       func(g greeting) []byte { g.ring.SegmentLength = 1<<32 - 1; return g.bytes() },
		"no room for headers": func(g greeting) []byte { g.short = 8; return g.bytes() },
	} {
		if g, err := parseGreeting(bad(good)); !errors.Is(err, ErrProtocol) {
			t.Errorf("%s: the greeting is %v, and the error %v", what, g, err)
		}
	}
}

// A peer that is not of this protocol is refused, and one that says nothing keeps no other from connecting, and is given up.
func TestStrangers(t *testing.T) {
	eachListener(t, func(t *testing.T, a *Adapter, l *Listener) {
		a.config.SilenceTimeout = time.Second
		ia := udattest.Open(t, a.ia.Name())
		qual := udat.ConnQual(l.address.Port())
		other := udattest.NewEndpoint(t, ia, nil)
		want(t, other.EP.Connect(l.address.Addr(), qual, udattest.Patience, []byte("something else")))
		udattest.Expect(t, other.Connect, udat.EventConnectionPeerRejected)

		silent := connectSilent(t, ia, l)
		began := time.Now()
		c, _ := connect(t, a, l)
		_ = c.Close()
		udattest.Expect(t, silent.Connect, udat.EventConnectionDisconnected)
		if took := time.Since(began); took > 5*a.config.SilenceTimeout {
			t.Errorf("a peer that said nothing stayed for %v", took)
		}
	})
}

// Something else that listens is an error of its own.
func TestNoStream(t *testing.T) {
	for _, name := range udattest.Names(t) {
		t.Run(name, func(t *testing.T) {
			a, _ := openListener(t, name)
			ia := udattest.Open(t, name)
			l, server := udattest.Listen(t, ia), udattest.NewEndpoint(t, ia, nil)
			result := make(chan error, 1)
			go func() {
				_, err := a.Dial(udattest.Context(t), "rdma", net.JoinHostPort(a.address.String(), fmt.Sprint(l.ConnQual)))
				result <- err
			}()
			want(t, udattest.Expect(t, l.Requests, udat.EventConnectionRequest).CR().Accept(server.EP, []byte("welcome")))
			var opError *net.OpError
			if err := <-result; !errors.Is(err, ErrProtocol) || !errors.As(err, &opError) {
				t.Errorf("the dial returned %v", err)
			}
			udattest.Expect(t, server.Connect, udat.EventConnectionEstablished)
			udattest.Expect(t, server.Connect, udat.EventConnectionDisconnected)
		})
	}
}

// Close of a listener ends the connections that it is making.
func TestListenerCloseBesideSilent(t *testing.T) {
	eachListener(t, func(t *testing.T, a *Adapter, l *Listener) {
		silent := connectSilent(t, udattest.Open(t, a.ia.Name()), l)
		c, accepted := connect(t, a, l) // and so the listener waits for the first byte of the other, which came before
		began := time.Now()
		want(t, l.Close())
		if err := l.Close(); !errors.Is(err, net.ErrClosed) {
			t.Errorf("the second Close returned %v", err)
		}
		udattest.Expect(t, silent.Connect, udat.EventConnectionDisconnected)
		if took := time.Since(began); took > a.config.SilenceTimeout/2 {
			t.Errorf("a connection without a first byte outlived its listener by %v", took)
		}
		if _, err := accepted.Write([]byte{1}); err != nil {
			t.Error(err)
		}
		if _, err := c.Read(make([]byte, 1)); err != nil {
			t.Error(err)
		}
	})
}

func want(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func second[T any](_ T, err error) error { return err }

// eachListener runs a test with each adapter and a listener of it.
func eachListener(t *testing.T, test func(t *testing.T, a *Adapter, l *Listener)) {
	for _, name := range udattest.Names(t) {
		t.Run(name, func(t *testing.T) {
			a, l := openListener(t, name)
			test(t, a, l)
		})
	}
}

// openListener opens an adapter with a listener, until the test ends.
func openListener(t *testing.T, name string) (*Adapter, *Listener) {
	t.Helper()
	a, err := Open(name, &Config{Linger: udattest.Patience, SilenceTimeout: udattest.Patience}) // machines may be starved
	want(t, err)
	t.Cleanup(func() { _ = a.Close() })
	l, err := a.Listen(t.Context(), "rdma", ":0")
	want(t, err)
	return a, l.(*Listener)
}

// connect makes a connection. The side that connects comes first.
func connect(t *testing.T, a *Adapter, l *Listener) (x, y *Conn) {
	t.Helper()
	c, err := a.Dial(udattest.Context(t), "rdma", l.Addr().String())
	want(t, err)
	accepted, err := l.Accept()
	want(t, err)
	for _, c := range []net.Conn{c, accepted} {
		_ = c.SetDeadline(time.Now().Add(udattest.Patience))
	}
	return c.(*Conn), accepted.(*Conn)
}

// connectSilent connects a peer that knows the greeting and then says nothing.
func connectSilent(t *testing.T, ia *udat.IA, l *Listener) *udattest.Endpoint {
	t.Helper()
	silent := udattest.NewEndpoint(t, ia, nil)
	private := greeting{standard.slots, standard.short, udat.RMRTriplet{SegmentLength: standard.window()}}.bytes()
	want(t, silent.EP.Connect(l.address.Addr(), udat.ConnQual(l.address.Port()), udattest.Patience, private))
	udattest.Expect(t, silent.Connect, udat.EventConnectionEstablished)
	return silent
}
