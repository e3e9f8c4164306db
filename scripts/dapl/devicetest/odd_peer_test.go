package devicetest

import (
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/goudat/goudat/cgo"
	"github.com/goudat/goudat/udat/udattest"
)

// A message of the socket CM provider, which it exchanges over TCP: a header, in which these are, and the private data.
const (
	messageKindAt   = 2  // 2 bytes
	messageLengthAt = 16 // 2 bytes, of the private data
	senderGIDAt     = 44 // 16 bytes
	senderAddressAt = 64 // 28 bytes, with the port, which is another for each attempt
	messageHeader   = 148

	messageReply = 2
)

const question = "are you there?"

// oddPeer is a peer of an endpoint that connects, and does as the test likes.
type oddPeer struct {
	*net.TCPListener
	e *endpoint
}

func forEachOddPeer(t *testing.T, test func(t *testing.T, a *adapter, p oddPeer)) {
	t.Helper()
	forEachSocketCM(t, func(t *testing.T, a *adapter) { test(t, a, a.oddPeer(t, a.address.Addr())) })
}

// oddPeer returns one at an address, to which an endpoint of the adapter connects.
func (a *adapter) oddPeer(t *testing.T, at netip.Addr) oddPeer {
	t.Helper()
	qual, address := uint64(udattest.ConnQual()), cgo.NewSockAddr(at)
	listener, err := net.ListenTCP("tcp", net.TCPAddrFromAddrPort(netip.AddrPortFrom(at, uint16(firstPort+qual))))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	listener.SetDeadline(time.Now().Add(udattest.Patience))
	p := oddPeer{listener, a.newEndpoint(t)}
	success(t, "EPConnect", cgo.EPConnect(p.e.EPHandle, &address, qual, cgo.TimeoutInfinite, []byte(question), cgo.QOSBestEffort, cgo.ConnectDefault))
	return p
}

// request takes a connection of the endpoint, and returns what comes over it.
func (p oddPeer) request(t *testing.T) (net.Conn, []byte) {
	t.Helper()
	conn, err := p.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	conn.SetDeadline(time.Now().Add(udattest.Patience))
	message := make([]byte, messageHeader+len(question))
	if _, err := io.ReadFull(conn, message); err != nil {
		t.Fatal(err)
	}
	if n := binary.BigEndian.Uint16(message[messageLengthAt:]); int(n) != len(question) {
		t.Fatalf("the request comes with %d bytes of private data", n)
	}
	return conn, message
}

// A peer whose adapter is not found has not been connected with, though it has accepted.
func TestUnreadyIsNotEstablished(t *testing.T) {
	forEachOddPeer(t, func(t *testing.T, a *adapter, p oddPeer) {
		conn, reply := p.request(t)
		binary.BigEndian.PutUint16(reply[messageKindAt:], messageReply)
		nowhere := netip.MustParseAddr("::ffff:203.0.113.9").As16()
		copy(reply[senderGIDAt:], nowhere[:])
		if _, err := conn.Write(reply); err != nil {
			t.Fatal(err)
		}
		p.e.connect.expect(t, cgo.EventConnectionUnreachable)
		p.e.wantState(t, cgo.EPStateDisconnected)
		if n, err := conn.Read(make([]byte, 1)); n > 0 || err == nil || isTimeout(err) {
			t.Errorf("the peer is told that the connection is established: %v", err)
		}
		success(t, "EPReset", cgo.EPReset(p.e.EPHandle))
		a.connect(t, a.listen(t), p.e, a.newEndpoint(t), nil)
	})
}

// The library asks once more, in the same way, when the peer closes the connection instead of answering.
func TestRepeatedRequestIsTheSame(t *testing.T) {
	forEachOddPeer(t, func(t *testing.T, _ *adapter, p oddPeer) {
		var requests [2][]byte
		for i := range requests {
			conn, message := p.request(t)
			clear(message[senderAddressAt:][:28])
			requests[i] = message
			conn.Close()
		}
		if !bytes.Equal(requests[0], requests[1]) || !bytes.HasSuffix(requests[0], []byte(question)) {
			t.Errorf("the requests are % x", requests)
		}
		p.e.connect.expect(t, cgo.EventConnectionNonPeerRejected)
	})
}
