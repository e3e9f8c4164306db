package devicetest

import (
	"io"
	"net"
	"net/netip"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/goudat/goudat/cgo"
	"github.com/goudat/goudat/udat/udattest"
)

// firstPort is the TCP port of qualifier 0 with the socket CM provider.
const firstPort = 1000

func (a *adapter) tcpAddress(qual uint64) *net.TCPAddr {
	return net.TCPAddrFromAddrPort(netip.AddrPortFrom(a.address.Addr(), uint16(firstPort+qual)))
}

func forEachSocketCM(t *testing.T, test func(t *testing.T, a *adapter)) {
	t.Helper()
	watch(t)
	for _, name := range udattest.Names(t) {
		if strings.Contains(name, "scm") {
			t.Run(name, func(t *testing.T) { test(t, openAdapter(t, name)) })
		}
	}
}

func dial(t *testing.T, address *net.TCPAddr) *net.TCPConn {
	t.Helper()
	conn, err := net.DialTCP("tcp", nil, address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

// Peers that begin a message, and one that sends a byte now and then, do not delay the others, and are disconnected.
func TestSlowPeers(t *testing.T) {
	// The library expects more bytes from a peer with this version than from others.
	begin := []byte{0, 1, 2, 3}
	forEachSocketCM(t, func(t *testing.T, a *adapter) {
		l := a.listen(t)
		var silent []*net.TCPConn
		for range 4 {
			conn := dial(t, a.tcpAddress(l.qual))
			if _, err := conn.Write(begin); err != nil {
				t.Fatal(err)
			}
			silent = append(silent, conn)
		}
		dripping := dial(t, a.tcpAddress(l.qual))
		stopped := make(chan struct{})
		go func() {
			defer close(stopped)
			for _, b := range append(slices.Clone(begin), make([]byte, 100)...) {
				if _, err := dripping.Write([]byte{b}); err != nil {
					return
				}
				time.Sleep(200 * time.Millisecond)
			}
		}()

		const connections, bound = 5, 5 * time.Second // a blocking provider takes 2 s for each of the silent
		active, passive := a.newRacer(t, 1), a.newRacer(t, 2)
		start := time.Now()
		for range connections {
			a.connectTime(t, l, active, passive)
		}
		if took := time.Since(start); took > bound {
			t.Errorf("%d connections have taken %v, want %v at most", connections, took, bound)
		}
		for _, conn := range append(silent, dripping) {
			conn.SetReadDeadline(time.Now().Add(udattest.Patience))
			if n, err := conn.Read(make([]byte, 1)); n > 0 || isTimeout(err) {
				t.Errorf("a peer that does not end its message is not turned away: %d bytes, %v", n, err)
			}
		}
		<-stopped
	})
}

func isTimeout(err error) bool {
	e, ok := err.(net.Error)
	return ok && e.Timeout()
}

// Messages that arrive byte by byte are accepted, too.
func TestMessagesInPieces(t *testing.T) {
	forEachSocketCM(t, func(t *testing.T, a *adapter) {
		l := a.listen(t)
		const offset = 1 // of the qualifier of the relay
		between, err := net.ListenTCP("tcp", a.tcpAddress(l.qual+offset))
		if err != nil {
			t.Fatal(err)
		}
		defer between.Close()
		go func() {
			for {
				from, err := between.Accept()
				if err != nil {
					return
				}
				to, err := net.DialTCP("tcp", nil, a.tcpAddress(l.qual))
				if err != nil {
					from.Close()
					return
				}
				go inPieces(to, from)
				go inPieces(from, to)
			}
		}()
		active, passive := a.newEndpoint(t), a.newEndpoint(t)
		const hello = "private data"
		success(t, "EPConnect", cgo.EPConnect(active.EPHandle, a.address, l.qual+offset, cgo.TimeoutInfinite, []byte(hello), cgo.QOSBestEffort, cgo.ConnectDefault))
		request := l.request(t)
		if got := requestData(t, request, len(hello)); got != hello {
			t.Errorf("the request came with %q, want %q", got, hello)
		}
		success(t, "CRAccept", cgo.CRAccept(request, passive.EPHandle, []byte(hello)))
		event := active.connect.expect(t, cgo.EventConnectionEstablished)
		got := make([]byte, len(hello))
		cgo.CopyOut(got, event.Connection().PrivateData)
		if string(got) != hello {
			t.Errorf("the answer came with %q, want %q", got, hello)
		}
		passive.connect.expect(t, cgo.EventConnectionEstablished)
		disconnect(t, active, passive)
	})
}

// inPieces copies byte by byte, each in a packet of its own.
func inPieces(to, from net.Conn) {
	defer to.Close()
	b := make([]byte, 1)
	for {
		if _, err := io.ReadFull(from, b); err != nil {
			return
		}
		if _, err := to.Write(b); err != nil {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

// A peer that has connected, and has not sent its request, is turned away when the service point is freed.
func TestFreeTurnsPeersAway(t *testing.T) {
	forEachSocketCM(t, func(t *testing.T, a *adapter) {
		l := &listener{requests: a.newQueue(t, cgo.EVDCR)}
		var r cgo.Return
		l.PSPHandle, l.qual, r = cgo.PSPCreateAny(a.IAHandle, l.requests.EVDHandle, cgo.PSPConsumer)
		success(t, "PSPCreateAny", r)
		conn := dial(t, a.tcpAddress(l.qual))
		a.connectTime(t, l, a.newRacer(t, 1), a.newRacer(t, 2)) // the provider takes peers in their order
		success(t, "PSPFree", cgo.PSPFree(l.PSPHandle))
		conn.SetReadDeadline(time.Now().Add(5 * time.Second)) // half as long as a peer has for its request
		if n, err := conn.Read(make([]byte, 1)); n > 0 || isTimeout(err) {
			t.Errorf("the peer is not turned away: %d bytes, %v", n, err)
		}
	})
}

// An unanswered request whose peer has gone does not keep a processor busy.
func TestUnansweredRequestIsIdle(t *testing.T) {
	forEachSocketCM(t, func(t *testing.T, a *adapter) {
		l, active := a.listen(t), a.newRacer(t, 1)
		ep := active.newEndpoint(t)
		active.connectTo(t, l, ep, "")
		request := l.request(t)
		active.end(t, ep)
		const watched = time.Second
		before := processorTime(t)
		time.Sleep(watched)
		if used := processorTime(t) - before; used > watched/2 {
			t.Errorf("the process was busy for %v of %v", used, watched)
		}
		success(t, "CRReject", cgo.CRReject(request, nil))
	})
}

func processorTime(t *testing.T) time.Duration {
	t.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		t.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
