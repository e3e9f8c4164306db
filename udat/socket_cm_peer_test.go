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

// socketCMPeer is a peer of the socket CM provider that does as the test likes.
type socketCMPeer struct {
	*testing.T
	listener net.Listener
	qual     udat.ConnQual
}

func listenAsSocketCM(t *testing.T, address netip.Addr) *socketCMPeer {
	t.Helper()
	const firstPort = 1000 // that of qualifier 0
	p := &socketCMPeer{T: t, qual: udattest.ConnQual()}
	listener, err := net.ListenTCP("tcp", net.TCPAddrFromAddrPort(netip.AddrPortFrom(address, firstPort+uint16(p.qual))))
	want(t, err)
	t.Cleanup(func() { listener.Close() })
	want(t, listener.SetDeadline(time.Now().Add(udattest.Patience)))
	p.listener = listener
	return p
}

// request takes a connection, and returns what comes over it.
func (p *socketCMPeer) request() (conn net.Conn, header, privateData []byte) {
	p.Helper()
	conn, err := p.listener.Accept()
	want(p.T, err)
	p.Cleanup(func() { conn.Close() })
	want(p.T, conn.SetDeadline(time.Now().Add(udattest.Patience)))
	header = make([]byte, messageHeader)
	_, err = io.ReadFull(conn, header)
	want(p.T, err)
	privateData = make([]byte, binary.BigEndian.Uint16(header[messageLengthAt:]))
	_, err = io.ReadFull(conn, privateData)
	want(p.T, err)
	return conn, header, privateData
}

func forEachSocketCM(t *testing.T, test func(t *testing.T, ia *udat.IA)) {
	for _, name := range udattest.Names(t) {
		if strings.Contains(name, "scm") {
			t.Run(name, func(t *testing.T) { test(t, udattest.Open(t, name)) })
		}
	}
}

// A peer whose adapter is not found has not been connected with, though it has accepted.
func TestUnreadyIsNotEstablished(t *testing.T) {
	forEachSocketCM(t, func(t *testing.T, ia *udat.IA) {
		peer := listenAsSocketCM(t, udattest.Address(t, ia))
		e := udattest.NewEndpoint(t, ia, nil)
		want(t, e.EP.Connect(udattest.Address(t, ia), peer.qual, udattest.Patience, nil))
		conn, reply, _ := peer.request()
		binary.BigEndian.PutUint16(reply[messageKindAt:], messageReply)
		nowhere := netip.MustParseAddr("::ffff:203.0.113.9").As16()
		copy(reply[senderGIDAt:], nowhere[:])
		_, err := conn.Write(reply)
		want(t, err)

		udattest.Expect(t, e.Connect, udat.EventConnectionUnreachable)
		wantState(t, e.EP, udat.EPStateDisconnected)
		if n, err := conn.Read(make([]byte, 1)); n > 0 || err == nil {
			t.Errorf("the peer is told that the connection is established")
		}
		want(t, e.Reset())
		udattest.ConnectPair(t, udattest.Listen(t, ia), e, udattest.NewEndpoint(t, ia, nil))
	})
}

// The library asks once more when the peer closes the connection instead of answering.
func TestRepeatedRequestIsTheSame(t *testing.T) {
	forEachSocketCM(t, func(t *testing.T, ia *udat.IA) {
		peer := listenAsSocketCM(t, udattest.Address(t, ia))
		e := udattest.NewEndpoint(t, ia, nil)
		said := []byte("are you there?")
		want(t, e.EP.Connect(udattest.Address(t, ia), peer.qual, udattest.Patience, said))
		var first []byte
		for i := range 2 {
			conn, header, privateData := peer.request()
			clear(header[senderAddressAt:][:28])
			if i == 0 {
				first = header
			} else if !bytes.Equal(header, first) {
				t.Errorf("the second request is % x, the first was % x", header, first)
			}
			if !bytes.Equal(privateData, said) {
				t.Errorf("request %d carries %q", i, privateData)
			}
			conn.Close()
		}
		if event := udattest.Wait(t, e.Connect); event.Err() == nil {
			t.Errorf("the attempt ends with %v", event.Number)
		}
	})
}
