package devicetest

import (
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"net/netip"
	"os"
	"slices"
	"strconv"
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

func dial(t *testing.T, address *net.TCPAddr) *net.TCPConn {
	t.Helper()
	conn, err := net.DialTCP("tcp", nil, address)
	do(t, err)
	t.Cleanup(func() { conn.Close() })
	return conn
}

func write(t *testing.T, conn net.Conn, b []byte) {
	t.Helper()
	_, err := conn.Write(b)
	do(t, err)
}

// wantEnd expects that the library ends a TCP connection within a time, and has sent nothing.
func wantEnd(t *testing.T, conn net.Conn, within time.Duration) {
	t.Helper()
	conn.SetReadDeadline(time.Now().Add(within))
	n, err := conn.Read(make([]byte, 1))
	if e, ok := err.(net.Error); n > 0 || ok && e.Timeout() {
		t.Errorf("the peer is not turned away: %d bytes, %v", n, err)
	}
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
			write(t, conn, begin)
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
				time.Sleep(200 * time.Millisecond) // a byte now and then
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
			wantEnd(t, conn, udattest.Patience)
		}
		<-stopped
	})
}

// Messages that arrive byte by byte are accepted, too.
func TestMessagesInPieces(t *testing.T) {
	forEachSocketCM(t, func(t *testing.T, a *adapter) {
		l := a.listen(t)
		const offset = 1 // of the qualifier of the relay
		between, err := net.ListenTCP("tcp", a.tcpAddress(l.qual+offset))
		do(t, err)
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
		time.Sleep(time.Millisecond) // so that TCP does not join two bytes
	}
}

// A peer that has connected, and has not sent its request, is turned away when the service point is freed.
func TestFreeTurnsPeersAway(t *testing.T) {
	forEachSocketCM(t, func(t *testing.T, a *adapter) {
		l := a.createListener(t)
		conn := dial(t, a.tcpAddress(l.qual))
		a.connectTime(t, l, a.newRacer(t, 1), a.newRacer(t, 2)) // the provider takes peers in their order
		success(t, "PSPFree", cgo.PSPFree(l.PSPHandle))
		wantEnd(t, conn, 5*time.Second) // half as long as a peer has for its request
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
	do(t, syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

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
	do(t, err)
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
	do(t, err)
	t.Cleanup(func() { conn.Close() })
	conn.SetDeadline(time.Now().Add(udattest.Patience))
	message := make([]byte, messageHeader+len(question))
	_, err = io.ReadFull(conn, message)
	do(t, err)
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
		write(t, conn, reply)
		p.e.connect.expect(t, cgo.EventConnectionUnreachable)
		p.e.wantState(t, cgo.EPStateDisconnected)
		wantEnd(t, conn, udattest.Patience) // without being told that the connection is established
		reset(t, p.e)
		a.connect(t, a.listen(t), p.e, a.newEndpoint(t))
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

// countedPolls writes a byte to a pipe for each question about one file.
const countedPolls = `
int poll(struct pollfd *fds, nfds_t count, int timeout)
{
	const char *pipe = getenv("DEVICETEST_POLLS");

	if (count == 1 && timeout == 0 && pipe != NULL && write(atoi(pipe), "", 1) != 1)
		abort();
	return NEXT(poll)(fds, count, timeout);
}
`

// A connection costs no more system calls the more other connections there are.
func TestPollsOfConnections(t *testing.T) {
	preloadedSocketCM(t, countedPolls, func(t *testing.T, a *adapter) {
		const pairs = 50
		l, r := a.listen(t), a.newRacer(t, 1)
		connect := func() (from, to cgo.EPHandle) {
			from, to = r.newEndpoint(t), r.newEndpoint(t)
			r.connectTo(t, l, from, "")
			success(t, "CRAccept", cgo.CRAccept(l.request(t), to, nil))
			r.connect.expect(t, cgo.EventConnectionEstablished)
			r.connect.expect(t, cgo.EventConnectionEstablished)
			return from, to
		}
		var eps []cgo.EPHandle
		for range pairs {
			from, to := connect()
			eps = append(eps, from, to)
		}
		counted, pipe, err := os.Pipe()
		do(t, err)
		defer counted.Close()
		os.Setenv("DEVICETEST_POLLS", strconv.Itoa(int(pipe.Fd())))
		from, to := connect()
		r.end(t, from, to)
		os.Unsetenv("DEVICETEST_POLLS")
		r.end(t, eps...)
		pipe.Close()
		polls, err := io.ReadAll(counted)
		do(t, err)
		t.Logf("%d calls of poll for one file", len(polls))
		if len(polls) > pairs {
			t.Errorf("%d calls of poll for a connection beside %d others", len(polls), pairs)
		}
	})
}

// failedPolls makes poll fail for sockets while the file exists.
const failedPolls = `
int poll(struct pollfd *fds, nfds_t count, int timeout)
{
	int type;
	socklen_t size = sizeof(type);

	if (told() && getsockopt(fds->fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0) {
		errno = ENOMEM;
		return -1;
	}
	return NEXT(poll)(fds, count, timeout);
}
`

// A poll that fails says nothing of the sockets: connections go on, and new ones are made afterwards.
func TestFailedPolls(t *testing.T) {
	preloadedSocketCM(t, failedPolls, func(t *testing.T, a *adapter) {
		active, passive := a.connectedPair(t)
		tell(t, "")
		l := a.listen(t)                   // which wakes the thread
		time.Sleep(100 * time.Millisecond) // while polls fail
		untell(t)
		a.connect(t, l, a.newEndpoint(t), a.newEndpoint(t))
		active.connect.empty(t)
		passive.connect.empty(t)
	})
}

// earlyThreads has an accept not return before a file exists, and the threads of the provider, which block all signals,
// go on without the connection lock meanwhile, as those of ucm and mcm do.
const earlyThreads = `
static pthread_mutex_t *volatile passed;
static __thread pthread_mutex_t *first, *passing; /* of those that the thread has */
static __thread int depth;

int pthread_mutex_lock(pthread_mutex_t *lock)
{
	if (!is_provider()) {
		if (depth++ == 0)
			first = lock;
		return LIBC(pthread_mutex_lock)(lock);
	}
	while (pthread_mutex_trylock(lock) != 0) {
		if (lock == passed) {
			passing = lock;
			break;
		}
		usleep(1000);
	}
	return 0;
}

int pthread_mutex_unlock(pthread_mutex_t *lock)
{
	if (lock == passing) {
		passing = NULL;
		return 0;
	}
	if (!is_provider())
		depth--;
	return LIBC(pthread_mutex_unlock)(lock);
}

ssize_t writev(int fd, const struct iovec *iov, int count)
{
	ssize_t n = NEXT(writev)(fd, iov, count);

	if (depth > 0 && !is_provider()) {
		passed = first;
		await_told();
		passed = NULL;
	}
	return n;
}
`

// The peer's answer comes before the accept returns: the connection is established.
func TestEstablishedBeforeAcceptReturns(t *testing.T) {
	preloadedSocketCM(t, earlyThreads, func(t *testing.T, a *adapter) {
		l, active, passive := a.listen(t), a.newEndpoint(t), a.newEndpoint(t)
		a.startConnect(t, l, active, cgo.TimeoutInfinite)
		request, done := l.request(t), make(chan cgo.Return, 1)
		go func() { done <- cgo.CRAccept(request, passive.EPHandle, nil) }()
		returns := func() {
			tell(t, "")
			success(t, "CRAccept", <-done)
		}
		defer func() {
			if t.Failed() {
				returns()
			}
		}()
		active.connect.expect(t, cgo.EventConnectionEstablished)
		passive.connect.expect(t, cgo.EventConnectionEstablished)
		returns()
		passive.wantState(t, cgo.EPStateConnected)
		disconnect(t, active, passive)
	})
}
