package udat_test

import (
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/goudat/goudat/udat"
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

// forEachSocketCM has an endpoint connect to a peer that does as the test likes. request takes a connection of
// the endpoint, and returns what comes over it.
func forEachSocketCM(t *testing.T, test func(t *testing.T, e *udattest.Endpoint, request func() (net.Conn, []byte))) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		if !strings.Contains(ia.Name(), "scm") {
			return
		}
		const firstPort = 1000 // that of qualifier 0
		qual, deadline := udattest.ConnQual(), time.Now().Add(udattest.Patience)
		listener := must(net.ListenTCP("tcp", net.TCPAddrFromAddrPort(netip.AddrPortFrom(udattest.Address(t, ia), firstPort+uint16(qual)))))
		defer listener.Close()
		want(t, listener.SetDeadline(deadline))
		e := udattest.NewEndpoint(t, ia, nil)
		want(t, e.EP.Connect(udattest.Address(t, ia), qual, udattest.Patience, []byte("are you there?")))
		test(t, e, func() (net.Conn, []byte) {
			conn := must(listener.Accept())
			t.Cleanup(func() { conn.Close() })
			want(t, conn.SetDeadline(deadline))
			message := make([]byte, messageHeader)
			must(io.ReadFull(conn, message))
			privateData := make([]byte, binary.BigEndian.Uint16(message[messageLengthAt:]))
			must(io.ReadFull(conn, privateData))
			return conn, append(message, privateData...)
		})
	})
}

// A peer whose adapter is not found has not been connected with, though it has accepted.
func TestUnreadyIsNotEstablished(t *testing.T) {
	forEachSocketCM(t, func(t *testing.T, e *udattest.Endpoint, request func() (net.Conn, []byte)) {
		conn, reply := request()
		binary.BigEndian.PutUint16(reply[messageKindAt:], messageReply)
		nowhere := netip.MustParseAddr("::ffff:203.0.113.9").As16()
		copy(reply[senderGIDAt:], nowhere[:])
		must(conn.Write(reply))
		udattest.Expect(t, e.Connect, udat.EventConnectionUnreachable)
		wantState(t, e.EP, udat.EPStateDisconnected)
		if n, err := conn.Read(make([]byte, 1)); n > 0 || err == nil {
			t.Errorf("the peer is told that the connection is established")
		}
		want(t, e.Reset())
		udattest.ConnectPair(t, udattest.Listen(t, e.IA), e, udattest.NewEndpoint(t, e.IA, nil))
	})
}

// The library asks once more, in the same way, when the peer closes the connection instead of answering.
func TestRepeatedRequestIsTheSame(t *testing.T) {
	forEachSocketCM(t, func(t *testing.T, e *udattest.Endpoint, request func() (net.Conn, []byte)) {
		var requests [2][]byte
		for i := range requests {
			conn, message := request()
			clear(message[senderAddressAt:][:28])
			requests[i] = message
			conn.Close()
		}
		if !bytes.Equal(requests[0], requests[1]) || !bytes.HasSuffix(requests[0], []byte("are you there?")) {
			t.Errorf("the requests are % x", requests)
		}
		if event := udattest.Wait(t, e.Connect); event.Err() == nil {
			t.Errorf("the attempt ends with %v", event.Number)
		}
	})
}
