package stream

import (
	"errors"
	"fmt"
	"io"
	"syscall"
	"testing"
	"time"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/udattest"
)

// stranger is a peer that knows the greeting and then sends what it likes.
type stranger struct {
	*udattest.Endpoint
	sent int
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
	s := &stranger{Endpoint: udattest.NewEndpoint(t, udattest.Open(t, name), &udat.EPAttr{MaxRequestDTOs: 64})}
	for i := range receives {
		if err := s.PostRecv([]udat.Segment{s.Segment(t, 0, 16)}, uint64(i), 0); err != nil {
			break // as many as there may be
		}
	}
	ring, err := s.Memory.RMRTriplet(0, 8)
	if err != nil {
		t.Fatal(err)
	}
	ring.SegmentLength = ringSize
	if err := s.EP.Connect(l.address.Addr(), udat.ConnQual(l.address.Port()), udattest.Patience, greeting(ring)); err != nil {
		t.Fatal(err)
	}
	udattest.Expect(t, s.Connect, udat.EventConnectionEstablished)
	s.send(t, message(header{kind: kindData, length: 1}, 1))
	c, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	_ = c.SetDeadline(time.Now().Add(udattest.Patience))
	return s, c.(*Conn)
}

func message(h header, follow int) []byte {
	m := make([]byte, headerSize+follow)
	h.put(m)
	return m
}

func TestNonsense(t *testing.T) {
	short := message(header{kind: kindData, length: 1}, 1)
	long := message(header{kind: kindData, length: chunk}, 0)
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
		"a chunk that is too long":     {message(header{kind: kindData, length: ringSize}, 0)},
		"long data behind the header":  {message(header{kind: kindData, length: mostShort + 1}, 1)},
		"an end with data":             {message(header{kind: kindEnd, length: 1}, 1)},
		"more than the ring holds":     repeat(long, ringSize/chunk+1),
		"more than there is room for":  repeat(short, slots+1),
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
					_, err = c.Read(make([]byte, ringSize))
				}
				if what == "data after the end" || what == "two ends" {
					if err != io.EOF {
						t.Errorf("the end was not read, but %v", err)
					}
					_, err = c.Write([]byte{1})
				}
				if !errors.Is(err, errNonsense) || !errors.Is(err, syscall.ECONNRESET) {
					t.Errorf("the error is %v", err)
				}
			})
		}
	}
}

// A peer that is not of this protocol is refused, and one that says nothing keeps no other from connecting, and is given up.
func TestStrangers(t *testing.T) {
	for _, name := range udattest.Names(t) {
		t.Run(name, func(t *testing.T) {
			n, l := openListener(t, name)
			ia := udattest.Open(t, name)
			qual := udat.ConnQual(l.address.Port())
			other := udattest.NewEndpoint(t, ia, nil)
			if err := other.EP.Connect(l.address.Addr(), qual, udattest.Patience, []byte("something else")); err != nil {
				t.Fatal(err)
			}
			udattest.Expect(t, other.Connect, udat.EventConnectionPeerRejected)

			silent := connectSilent(t, ia, l)
			began := time.Now()
			c, err := n.Dial(l.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			if _, err := l.Accept(); err != nil {
				t.Fatal(err)
			}
			_ = c.Close()
			udattest.Expect(t, silent.Connect, udat.EventConnectionDisconnected)
			if took := time.Since(began); took > handshakeTimeout/2 {
				t.Errorf("a peer that said nothing stayed for %v", took)
			}
		})
	}
}

// Close of a listener ends the connections that it is making.
func TestListenerCloseBesideSilent(t *testing.T) {
	for _, name := range udattest.Names(t) {
		t.Run(name, func(t *testing.T) {
			n, l := openListener(t, name)
			silent := connectSilent(t, udattest.Open(t, name), l)
			c, err := n.Dial(l.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			accepted, err := l.Accept() // and so the listener waits for the first byte of the other, which came before
			if err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			udattest.Expect(t, silent.Connect, udat.EventConnectionDisconnected)
			if took := time.Since(began); took > firstByteTimeout/2 {
				t.Errorf("a connection without a first byte outlived its listener by %v", took)
			}
			_ = c.SetDeadline(time.Now().Add(udattest.Patience))
			if _, err := accepted.Write([]byte{1}); err != nil {
				t.Error(err)
			}
			if _, err := c.Read(make([]byte, 1)); err != nil {
				t.Error(err)
			}
		})
	}
}

// openListener opens a network with a listener, until the test ends.
func openListener(t *testing.T, name string) (*Network, *Listener) {
	t.Helper()
	n, err := Open(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = n.Close() })
	l, err := n.Listen(":0")
	if err != nil {
		t.Fatal(err)
	}
	return n, l
}

// connectSilent connects a peer that knows the greeting and then says nothing.
func connectSilent(t *testing.T, ia *udat.IA, l *Listener) *udattest.Endpoint {
	t.Helper()
	silent := udattest.NewEndpoint(t, ia, nil)
	private := greeting(udat.RMRTriplet{SegmentLength: ringSize})
	if err := silent.EP.Connect(l.address.Addr(), udat.ConnQual(l.address.Port()), udattest.Patience, private); err != nil {
		t.Fatal(err)
	}
	udattest.Expect(t, silent.Connect, udat.EventConnectionEstablished)
	return silent
}

func greeting(ring udat.RMRTriplet) []byte {
	private, _ := ring.AppendBinary([]byte(magic))
	return private
}
