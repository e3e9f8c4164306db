//go:build linux

package failures

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/udattest"
)

const (
	socketCM  = "ofa-v2-scm"
	firstPort = 1000 // that of qualifier 0 with the socket CM provider

	// In a message of socket CM.
	messageKindAt   = 2
	messageLengthAt = 16 // of the private data
	messageHeader   = 148
	confirmation    = 4 // bytes, with which a client ends the handshake

	greeting = "through the middle"
)

func (h *host) tcpAddress(qual udat.ConnQual) *net.TCPAddr {
	return &net.TCPAddr{IP: h.address.AsSlice(), Port: firstPort + int(qual)}
}

// tampering is what a middle does with one byte of a stream.
type tampering struct {
	how      tamper
	toServer bool
	at       int
}

type tamper string

const (
	cut    tamper = "cut"    // the connection, before the byte
	delay  tamper = "delay"  // what follows, so that the message comes in pieces
	flip   tamper = "flip"   // a bit of the byte
	repeat tamper = "repeat" // all that comes with the byte
)

// middle passes on what a client and the host say to each other, but for some tampering.
type middle struct {
	*host
	qual udat.ConnQual

	mu   sync.Mutex
	do   tampering
	said [2]bytes.Buffer // to the client, and to the server
}

func newMiddle(h *host) *middle {
	m := &middle{host: h, qual: udattest.ConnQual()}
	listener, err := net.ListenTCP("tcp", h.tcpAddress(m.qual))
	h.do(err)
	h.Cleanup(func() { listener.Close() })
	go func() {
		for {
			client, err := listener.AcceptTCP()
			if err != nil {
				return
			}
			server, err := net.DialTCP("tcp", nil, h.tcpAddress(h.listener.ConnQual))
			if err != nil {
				h.Errorf("the server cannot be reached: %v", err)
				client.Close()
				return
			}
			go m.pass(server, client, true)
			go m.pass(client, server, false)
		}
	}()
	return m
}

// pass passes on what one side says.
func (m *middle) pass(to, from *net.TCPConn, toServer bool) {
	defer to.Close()
	defer from.Close()
	direction, at := 0, 0
	if toServer {
		direction = 1
	}
	buffer := make([]byte, 4096)
	for {
		n, err := from.Read(buffer)
		if err != nil {
			return
		}
		message := buffer[:n]
		m.mu.Lock()
		do := m.do
		m.said[direction].Write(message)
		m.mu.Unlock()
		parts := [][]byte{message}
		if i := do.at - at; do.toServer == toServer && i >= 0 && i < n {
			switch do.how {
			case cut:
				to.Write(message[:i])
				return
			case delay:
				parts = [][]byte{message[:i], message[i:]}
			case flip:
				message[i] ^= 1 << (do.at % 8)
			case repeat:
				parts = append(parts, message)
			}
		}
		at += n
		for i, part := range parts {
			if i > 0 {
				time.Sleep(20 * time.Millisecond) // the delay, in which the first part arrives alone
			}
			if _, err := to.Write(part); err != nil {
				return
			}
		}
	}
}

// try connects through the middle, which does something, and ends the connection that results.
func (m *middle) try(client *udattest.Endpoint, do tampering) udat.EventNumber {
	m.mu.Lock()
	m.do = do
	m.said = [2]bytes.Buffer{}
	m.mu.Unlock()
	const timeout = 500 * time.Millisecond
	if err := client.EP.Connect(m.address, m.qual, timeout, []byte(greeting)); err != nil {
		m.Errorf("connecting: %v", err)
		return 0
	}
	number := m.outcome(client, udattest.Patience)
	if err := client.Reset(); err != nil {
		m.Errorf("resetting the client: %v", err)
	}
	return number
}

// A middle that cuts, delays, splits, changes or repeats what both sides say.
func TestTamperingMiddle(t *testing.T) {
	forEachHost(t, socketCM, func(h *host) {
		m := newMiddle(h)
		client := udattest.NewEndpoint(h.T, h.ia, nil)
		toServer, toClient := messageHeader+len(greeting)+confirmation, messageHeader
		var all []tampering
		for _, how := range []tamper{cut, delay, flip, repeat} {
			for at := range toServer + toClient {
				all = append(all, tampering{how, at < toServer, at % toServer})
			}
		}
		random := rand.New(rand.NewPCG(*seedFlag, 1))
		h.Logf("of %d tamperings, seed %d", len(all), *seedFlag)
		outcomes := make(map[string]int)
		for _, n := range chosen(len(all), 24, random) {
			do := all[n-1]
			outcomes[fmt.Sprintf("%v: %v", do.how, m.try(client, do))]++
			if h.Failed() {
				h.Fatalf("the tampering was %+v", do)
			}
		}
		h.Log(outcomes)
	})
}

// Strangers that connect to the port, and send what they like.
func TestSocketStrangers(t *testing.T) {
	forEachHost(t, socketCM, func(h *host) {
		m := newMiddle(h)
		m.try(udattest.NewEndpoint(h.T, h.ia, nil), tampering{})
		m.mu.Lock()
		request := bytes.Clone(m.said[1].Bytes())
		m.mu.Unlock()
		say := func(stay time.Duration, messages ...[]byte) {
			h.Helper()
			conn, err := net.DialTCP("tcp", nil, h.tcpAddress(h.listener.ConnQual))
			h.do(err)
			defer conn.Close()
			for i, message := range messages {
				if i > 0 {
					conn.SetReadDeadline(time.Now().Add(stay))
					conn.Read(make([]byte, 1000)) // the answer
				}
				conn.Write(message)
			}
			if stay > 0 {
				conn.SetReadDeadline(time.Now().Add(stay))
				io.Copy(io.Discard, conn)
			}
		}
		// Those that close at each byte of a request.
		for n := range len(request) + 1 {
			say(0, request[:n])
		}
		const stay = 500 * time.Millisecond
		for _, n := range []int{0, 1, 4, 100, len(request) - 1} {
			go say(5*stay, request[:n])
		}
		for kind := range uint16(8) {
			changed := bytes.Clone(request)
			binary.BigEndian.PutUint16(changed[messageKindAt:], kind)
			say(0, changed)
		}
		for _, length := range []uint16{0, 1, 255, 256, 257, 1000, 0x7fff, 0x8000, 0xffff} {
			changed := bytes.Clone(request)
			binary.BigEndian.PutUint16(changed[messageLengthAt:], length)
			say(0, changed)
			say(stay/10, append(changed, make([]byte, 1000)...))
		}
		random := rand.NewChaCha8([32]byte{byte(*seedFlag)})
		garbage := func(n int) []byte {
			b := make([]byte, n)
			random.Read(b)
			return b
		}
		for n := range 20 {
			say(0, garbage(n*n*4))
			say(0, append(bytes.Clone(request[:2]), garbage(n*n*4)...)) // of the right version
		}
		// Those that get an answer, and say something odd then.
		for n := range 6 {
			say(stay, request, garbage(n*n))
			say(stay, request, request)
		}
	})
}

func isLong() bool { return os.Getenv("GOUDAT_TEST_LONG") != "" }
