package devicetest

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"regexp"
	"syscall"
	"testing"
	"time"

	"github.com/goudat/goudat/cgo"
	"github.com/goudat/goudat/udat/udattest"
)

// Faults of attempts to connect, and of accepts, that go on, or leave something behind, when they have ended.

// connectTo starts an attempt at any address and qualifier.
func (e *endpoint) connectTo(t testing.TB, address *cgo.SockAddr, qual uint64, timeout uint32) {
	t.Helper()
	success(t, "EPConnect", cgo.EPConnect(e.EPHandle, address, qual, timeout, nil, cgo.QOSBestEffort, cgo.ConnectDefault))
}

// abort ends an attempt.
func (e *endpoint) abort(t testing.TB) {
	t.Helper()
	e.end(t, cgo.CloseAbrupt)
	e.connect.expect(t, cgo.EventConnectionDisconnected)
}

// refusedListen makes every second attempt of a process to listen fail, as if somebody had the port.
const refusedListen = `
int rdma_listen(struct rdma_cm_id *id, int backlog)
{
	static int calls;

	if (++calls % 2 == 0) {
		errno = EADDRINUSE;
		return -1;
	}
	return NEXT(rdma_listen)(id, backlog);
}
`

// A service point that has connections, was freed, and could not listen again, listens when it can.
func TestListenAfterFailure(t *testing.T) {
	preloaded(t, refusedListen, func(t *testing.T, a *adapter) {
		if isSocketCM(a) { // it listens on a socket
			return
		}
		l := &listener{qual: uint64(udattest.ConnQual()), requests: a.newQueue(t, cgo.EVDCR)}
		create := func() (r cgo.Return) {
			l.PSPHandle, r = cgo.PSPCreate(a.IAHandle, l.qual, l.requests.EVDHandle, cgo.PSPConsumer)
			return r
		}
		success(t, "PSPCreate", create())
		a.connect(t, l, a.newEndpoint(t), a.newEndpoint(t))
		success(t, "PSPFree", cgo.PSPFree(l.PSPHandle))
		outcome(t, "PSPCreate", create(), cgo.ConnQualInUse, cgo.NoSubtype)
		success(t, "PSPCreate", create())
		a.connect(t, l, a.newEndpoint(t), a.newEndpoint(t))
		success(t, "PSPFree", cgo.PSPFree(l.PSPHandle))
	}, overwriteFreed)
}

// blackHole makes a TCP socket that answers no connection, as its queue is full. answer has the kernel refuse them.
func blackHole(t *testing.T, a *adapter, qual uint64) (answer func()) {
	t.Helper()
	family, at := syscall.AF_INET6, syscall.Sockaddr(&syscall.SockaddrInet6{Port: int(qual), Addr: a.address.Addr().As16()})
	if addr := a.address.Addr(); addr.Is4() {
		family, at = syscall.AF_INET, &syscall.SockaddrInet4{Port: int(qual), Addr: addr.As4()}
	}
	var fds [4]int
	for i := range fds {
		fd, err := syscall.Socket(family, syscall.SOCK_STREAM|syscall.SOCK_NONBLOCK, 0)
		do(t, err)
		fds[i] = fd
		if i == 0 {
			do(t, syscall.Bind(fd, at))
			do(t, syscall.Listen(fd, 0))
		} else if err := syscall.Connect(fd, at); err != syscall.EINPROGRESS {
			do(t, err)
		}
	}
	return func() {
		for _, fd := range fds {
			syscall.Close(fd)
		}
	}
}

// asking returns how many TCP connections to a port wait for their answer: they are in SYN_SENT.
func asking(t *testing.T, _ *adapter, port uint64) int {
	return tcpConnections(t, `[0-9A-F]+:[0-9A-F]{4} [0-9A-F]+:%04X 02 `, port)
}

// established reports whether this machine has a TCP connection to one of its ports, as under those of iWARP.
func established(t *testing.T, port uint64) bool {
	return tcpConnections(t, `[0-9A-F]+:%04X [0-9A-F]+:[0-9A-F]{4} 01 `, port) > 0
}

// tcpConnections counts the lines in the kernel's tables.
func tcpConnections(t *testing.T, format string, port uint64) (n int) {
	t.Helper()
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		text, err := os.ReadFile(table)
		if !os.IsNotExist(err) { // there may be no IPv6
			do(t, err)
		}
		n += len(regexp.MustCompile(`(?m)^ *\d+: `+fmt.Sprintf(format, port)).FindAll(text, -1))
	}
	return n
}

// acceptLate accepts a request whose peer may have left, and rejects it if that fails.
func acceptLate(t *testing.T, request cgo.CRHandle, e *endpoint) (accepted bool) {
	t.Helper()
	accepted = cgo.CRAccept(request, e.EPHandle, nil).OK()
	if !accepted {
		success(t, "CRReject", cgo.CRReject(request, nil))
	}
	return accepted
}

// Calls do not wait while the kernel waits for the host of another connection.
func TestCallsBesideSilentHost(t *testing.T) {
	var e *endpoint
	var to uint64
	besideSilent(t, func(t *testing.T, a *adapter, qual uint64) int {
		e, to = a.newEndpoint(t), qual
		e.connectTo(t, a.address, qual, cgo.TimeoutInfinite)
		return 1
	}, func(t *testing.T, a *adapter) {
		e.abort(t)
		a.listen(t)
		other := a.newEndpoint(t)
		other.connectTo(t, a.address, to, cgo.TimeoutInfinite)
		other.abort(t)
		reset(t, e)
		t.Cleanup(func() { // when the host has answered
			a.connect(t, a.listen(t), e, a.newEndpoint(t))
			other.connect.empty(t)
		})
	})
}

// An endpoint whose attempt is ended is freed, or reset, before the attempt has its answer, which the program itself may
// have to give. Nothing that the adapter still has refers to it.
func TestEndUnanswered(t *testing.T) {
	preloaded(t, slowThreads, func(t *testing.T, a *adapter) {
		l, freed, again := a.listen(t), a.newRacer(t, 1), a.newEndpoint(t)
		ep := freed.newEndpoint(t)
		freed.connectTo(t, l, ep, "")
		first := l.request(t)
		freed.end(t, ep)
		again.postRecv(t, 1)
		second := a.ask(t, l, again)
		again.abort(t)
		again.postRecv(t, 2)
		reset(t, again)
		check(t, !a.iwarp || established(t, l.qual), "the calls waited until the kernel gave up")
		again.recv.expectFlushed(t, 1)
		again.recv.expectFlushed(t, 2)
		success(t, "CRReject", cgo.CRReject(first, nil))
		success(t, "CRReject", cgo.CRReject(second, nil))
		a.connect(t, l, again, a.newEndpoint(t))
		again.connect.empty(t)
		freed.drain(t)
	}, overwriteFreed)
}

// An endpoint whose connection found no room for its event is reset at once, and leaves nothing on the service point.
func TestResetAfterFullConnectionQueue(t *testing.T) {
	preloaded(t, slowThreads, func(t *testing.T, a *adapter) {
		full := a.newEVD(t, 1, 0, cgo.EVDConnection|cgo.EVDSoftware)
		for cgo.EVDPostSE(full, cgo.EventSoftware, 0).OK() {
		}
		l, active, done := a.listen(t), a.newEndpoint(t), a.newQueue(t, cgo.EVDDTO)
		ep := must(cgo.EPCreate(a.IAHandle, active.pz, done.EVDHandle, done.EVDHandle, full, endpointAttr()))(t)
		passive := &endpoint{EPHandle: ep}
		success(t, "CRAccept", cgo.CRAccept(a.ask(t, l, active), ep, nil))
		eventually(t, "the connection ends", func() bool { return passive.state(t) == cgo.EPStateDisconnected })
		success(t, "EPReset", cgo.EPReset(ep))
		active.connect.expect(t, cgo.EventConnectionEstablished)
		active.connect.expect(t, cgo.EventConnectionDisconnected)
		success(t, "EPFree", cgo.EPFree(ep))
		// A record that was left would keep the service point, and so the adapter.
	}, overwriteFreed)
}

// An attempt that is ended before its peer's address is known has no further event.
func TestAbortWhileResolving(t *testing.T) {
	// The patience of CMA, in milliseconds and in attempts.
	t.Setenv("DAPL_CM_ARP_TIMEOUT_MS", "200")
	t.Setenv("DAPL_CM_ARP_RETRY_COUNT", "2")
	forEachCMA(t, func(t *testing.T, a *adapter) {
		absent := a.noHost()
		first, second := a.newEndpoint(t), a.newEndpoint(t)
		first.connectTo(t, absent, 1, cgo.TimeoutInfinite)
		first.abort(t)
		second.connectTo(t, absent, 1, cgo.TimeoutInfinite)
		second.connect.next(t)
		// The first began earlier.
		first.connect.empty(t)
	})
}

// closedSocket makes the answers of socket CM fail while the file exists, as if the peer had just reset the connection.
const closedSocket = `
ssize_t writev(int fd, const struct iovec *iov, int count)
{
	if (told()) {
		errno = EPIPE;
		return -1;
	}
	return NEXT(writev)(fd, iov, count);
}
`

// The time-out of an attempt that was ended does not end the next one.
func TestTimeoutOfEarlierAttempt(t *testing.T) {
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		const timeout = uint32(2 * time.Second / time.Microsecond)
		l, e, other := a.listen(t), a.newEndpoint(t), a.newEndpoint(t)
		e.connectTo(t, a.address, l.qual, timeout)
		first := l.request(t)
		e.abort(t)
		success(t, "CRReject", cgo.CRReject(first, nil))
		reset(t, e)
		second := a.ask(t, l, e)
		other.connectTo(t, a.address, l.qual, timeout)
		third := l.request(t)
		// Its time-out began later than that of the first attempt.
		other.connect.expect(t, cgo.EventConnectionTimedOut)
		e.connect.empty(t)
		reject(t, second, e)
		success(t, "CRReject", cgo.CRReject(third, nil))
	})
}

// A service point that is freed while a request waits goes when that is rejected, or when its connection has ended.
func TestRejectAfterServicePoint(t *testing.T) {
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		active, passive := a.newEndpoint(t), a.newEndpoint(t)
		for _, answer := range []func(request cgo.CRHandle){
			func(request cgo.CRHandle) { reject(t, request, active) },
			func(request cgo.CRHandle) {
				accept(t, request, passive.EPHandle, active, passive)
				disconnect(t, active, passive)
			},
		} {
			l := a.createListener(t)
			request := a.ask(t, l, active)
			success(t, "PSPFree", cgo.PSPFree(l.PSPHandle))
			answer(request)
			reset(t, active)
		}
		// The adapter is closed gracefully.
	})
}

// What an attempt to connect, or an accept, that has failed leaves behind: an endpoint that can be used again.

// wantFlushed expects that an operation has been flushed already.
func (q queue) wantFlushed(t *testing.T, cookie uint64) {
	t.Helper()
	event := dequeue(t, q.EVDHandle)
	if dto := event.DTO(); dto.UserCookie != cookie || dto.Status != cgo.DTOErrFlushed {
		t.Fatalf("operation %d completed with %v, want %d and %v", dto.UserCookie, dto.Status, cookie, cgo.DTOErrFlushed)
	}
}

// wantFailed expects an endpoint as a failed attempt leaves it, and resets it.
func (e *endpoint) wantFailed(t *testing.T) {
	t.Helper()
	e.wantState(t, cgo.EPStateDisconnected)
	e.recv.wantFlushed(t, 1) // before the event
	e.recv.wantFlushed(t, 2)
	e.postRecv(t, 3)
	e.recv.wantFlushed(t, 3)
	segments, remote := []cgo.LMRTriplet{e.memory.local(0, 8)}, e.memory.remote(0, 8)
	success(t, "EPPostSend", cgo.EPPostSend(e.EPHandle, segments, 4, cgo.CompletionSuppress))
	success(t, "EPPostRDMARead", cgo.EPPostRDMARead(e.EPHandle, segments, 5, &remote, cgo.CompletionDefault))
	extended := cgo.IBPostRDMAWriteImmed(e.EPHandle, segments, 6, &remote, 0, cgo.CompletionDefault)
	if extended.Type() == cgo.NotImplemented { // by the device
		extended = cgo.EPPostRDMAWrite(e.EPHandle, segments, 6, &remote, cgo.CompletionDefault)
	}
	success(t, "posting a write", extended)
	for cookie := uint64(4); cookie <= 6; cookie++ {
		e.request.wantFlushed(t, cookie)
	}
	e.wantIdle(t, true, true)
	e.request.wantBoundedPosts(t, func(cookie uint64) cgo.Return {
		return cgo.EPPostSend(e.EPHandle, segments, cookie, cgo.CompletionDefault)
	})
	e.recv.wantBoundedPosts(t, func(cookie uint64) cgo.Return {
		return cgo.EPPostRecv(e.EPHandle, segments, cookie, cgo.CompletionDefault)
	})
	e.end(t, cgo.CloseAbrupt)
	reset(t, e)
	e.wantState(t, cgo.EPStateUnconnected)
	e.recv.empty(t)
	e.request.empty(t)
	e.connect.empty(t)
}

// wantBoundedPosts expects that what is posted is flushed, as far as the completions find room.
func (q queue) wantBoundedPosts(t *testing.T, post func(cookie uint64) cgo.Return) {
	t.Helper()
	length := uint64(q.length(t))
	for cookie := range length {
		success(t, "posting", post(cookie))
	}
	wantNoRoom(t, "posting beyond the room", post(length))
	q.wantFlushed(t, 0)
	success(t, "posting where there is room again", post(length))
	for cookie := range length {
		q.wantFlushed(t, cookie+1)
	}
	q.empty(t)
}

// However an attempt fails, its receives are flushed before the event, and its endpoint connects and accepts again.
func TestFailedAttempt(t *testing.T) {
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		l := a.listen(t)
		const soon, infinite = uint32(300 * time.Millisecond / time.Microsecond), cgo.TimeoutInfinite
		for _, attempt := range []struct {
			event   cgo.EventNumber
			qual    uint64
			timeout uint32
			end     func(t *testing.T, e *endpoint, request cgo.CRHandle)
		}{
			{cgo.EventConnectionPeerRejected, l.qual, infinite, func(t *testing.T, e *endpoint, request cgo.CRHandle) {
				reject(t, request, e)
			}},
			{cgo.EventConnectionNonPeerRejected, uint64(udattest.ConnQual()), infinite, nil},
			{cgo.EventConnectionTimedOut, l.qual, soon, func(t *testing.T, e *endpoint, request cgo.CRHandle) {
				e.connect.expect(t, cgo.EventConnectionTimedOut)
				success(t, "CRReject", cgo.CRReject(request, nil))
			}},
			{cgo.EventConnectionDisconnected, l.qual, infinite, func(t *testing.T, e *endpoint, request cgo.CRHandle) {
				e.abort(t)
				success(t, "CRReject", cgo.CRReject(request, nil))
			}},
		} {
			t.Run(attempt.event.String(), func(t *testing.T) {
				e, other := a.newEndpoint(t), a.newEndpoint(t)
				fail := func() {
					e.postRecv(t, 1)
					e.postRecv(t, 2)
					e.connectTo(t, a.address, attempt.qual, attempt.timeout)
					if attempt.end == nil {
						e.connect.expect(t, attempt.event)
					} else {
						attempt.end(t, e, l.request(t))
					}
				}
				for range 2 {
					fail()
					e.wantFailed(t)
				}
				for _, pair := range [][2]*endpoint{{e, other}, {other, e}} {
					a.connect(t, l, pair[0], pair[1])
					receive(t, other, e, 5, 1)
					e.recv.completion(t, cgo.EventDTOCompletion, 5)
					disconnect(t, other, e)
					reset(t, e, other)
				}
				if !a.iwarp {
					fail() // and one that is freed like this leaves nothing, either
				}
			})
		}
	})
}

// rejectAll rejects the requests that are there, whose peers have given up.
func (l *listener) rejectAll(t *testing.T) {
	t.Helper()
	for event, there := l.requests.poll(t); there; event, there = l.requests.poll(t) {
		success(t, "CRReject", cgo.CRReject(event.CRArrival().CRHandle, nil))
	}
}

// expectNone expects that an endpoint ends without a connection, or with one that has ended.
func (e *endpoint) expectNone(t *testing.T) {
	t.Helper()
	if event := e.connect.next(t); event.Number == cgo.EventConnectionEstablished {
		e.connect.expect(t, cgo.EventConnectionDisconnected)
	}
	e.wantState(t, cgo.EPStateDisconnected)
}

// The peer of an attempt that is ended learns of it at once, whichever side ends it.
func TestAbortTellsPeer(t *testing.T) {
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		l := a.listen(t)
		for range 5 {
			active, passive := a.newEndpoint(t), a.newEndpoint(t)
			request := a.ask(t, l, active)
			active.abort(t)
			if acceptLate(t, request, passive) {
				passive.expectNone(t)
			}
			reset(t, active, passive)

			success(t, "CRAccept", cgo.CRAccept(a.ask(t, l, active), passive.EPHandle, nil))
			passive.end(t, cgo.CloseAbrupt)
			active.expectNone(t)
		}
	})
}

// An accept fails if the peer has gone, and says so. Its endpoint and receives are as they were, to be reset or connected.
func TestEndpointOfFailedAccept(t *testing.T) {
	preloaded(t, closedSocket, func(t *testing.T, a *adapter) {
		for _, isReset := range []bool{false, true} {
			t.Run(fmt.Sprintf("reset=%v", isReset), func(t *testing.T) {
				l, active := a.listen(t), a.newRacer(t, 1)
				const tries = 20 // the kernel may learn late that the peer has gone
				for range tries {
					gone, passive := active.newEndpoint(t), a.newEndpoint(t)
					passive.postRecv(t, 1)
					active.connectTo(t, l, gone, "")
					request := l.request(t)
					active.end(t, gone)
					if a.iwarp {
						eventually(t, "the kernel learns that the peer has gone", func() bool { return !established(t, l.qual) })
					}
					if isSocketCM(a) {
						tell(t, "")
					}
					r := cgo.CRAccept(request, passive.EPHandle, nil)
					if isSocketCM(a) {
						untell(t)
					}
					if r.OK() {
						cgo.EPDisconnect(passive.EPHandle, cgo.CloseAbrupt)
						continue
					}
					outcome(t, "CRAccept", r, cgo.InvalidHandle, cgo.InvalidHandleCR)
					if !isSocketCM(a) { // the endpoint has the connection now
						outcome(t, "CRAccept", cgo.CRAccept(request, passive.EPHandle, nil), cgo.InvalidState, 0)
						outcome(t, "CRQuery", cgo.CRQuery(request, cgo.CRFieldAll, &cgo.CRParam{}), cgo.InvalidState, 0)
					}
					success(t, "CRReject", cgo.CRReject(request, nil))
					passive.wantState(t, cgo.EPStateUnconnected)
					other := a.newEndpoint(t)
					if isReset {
						reset(t, passive)
						passive.recv.expectFlushed(t, 1)
						passive.postRecv(t, 1)
						a.connect(t, l, passive, other)
						return
					}
					a.connect(t, l, other, passive)
					if a.iwarp { // the kernel has flushed it
						passive.recv.expectFlushed(t, 1)
						return
					}
					other.send(t, 2, cgo.CompletionDefault)
					passive.recv.completion(t, cgo.EventDTOCompletion, 1)
					return
				}
				t.Errorf("%d requests were accepted whose peers had gone", tries)
			})
		}
	})
}

// postRecv posts a receive, which a call that waits for it needs to see flushed.
func (e *endpoint) postRecv(t testing.TB, cookie uint64) {
	t.Helper()
	success(t, "EPPostRecv", cgo.EPPostRecv(e.EPHandle, []cgo.LMRTriplet{e.memory.local(0, 64)}, cookie, cgo.CompletionDefault))
}

// expectFlushed expects the completion of a receive that was flushed. Those are events of the extensions.
func (q queue) expectFlushed(t testing.TB, cookie uint64) {
	t.Helper()
	event := q.next(t)
	if dto := event.DTO(); dto.UserCookie != cookie || dto.Status == cgo.DTOSuccess {
		t.Fatalf("operation %d completed with %v, want operation %d to be flushed", dto.UserCookie, dto.Status, cookie)
	}
}

// A connect that fails at once leaves nothing behind: the next connection is the endpoint's only one.
func TestConnectAfterFailedConnect(t *testing.T) {
	forEachSocketCM(t, func(t *testing.T, a *adapter) {
		l, active, passive := a.listen(t), a.newEndpoint(t), a.newEndpoint(t)
		multicast := cgo.NewSockAddr(netip.AddrFrom4([4]byte{224, 0, 0, 1})) // TCP has no route to it
		for range 2 {
			r := cgo.EPConnect(active.EPHandle, &multicast, l.qual, cgo.TimeoutInfinite, nil, cgo.QOSBestEffort, cgo.ConnectDefault)
			outcome(t, "EPConnect to a multicast address", r, cgo.InvalidAddress, cgo.InvalidAddressUnreachable)
			active.wantState(t, cgo.EPStateUnconnected)
			active.connect.empty(t)
		}
		active.postRecv(t, 1)
		a.connect(t, l, active, passive)
		disconnect(t, active, passive)
		active.recv.expectFlushed(t, 1)
	})
}

// unreachable makes connect fail in a provider's threads, which block all signals.
const unreachable = `
int connect(int fd, const struct sockaddr *address, socklen_t size)
{
	if (is_provider()) {
		errno = ENETUNREACH;
		return -1;
	}
	return NEXT(connect)(fd, address, size);
}
`

// serveTCP listens until the test ends. It closes the connections that come when they were served.
func serveTCP(t *testing.T, at *net.TCPAddr, serve func(conn *net.TCPConn)) {
	t.Helper()
	listener, err := net.ListenTCP("tcp", at)
	do(t, err)
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			conn, err := listener.AcceptTCP()
			if err != nil {
				return
			}
			serve(conn)
			conn.Close()
		}
	}()
}

// An attempt that is refused, or reset, is started again. If that fails, it ends with an event.
func TestConnectAgainFails(t *testing.T) {
	preloadedSocketCM(t, unreachable, func(t *testing.T, a *adapter) {
		l := a.listen(t)
		serveTCP(t, a.tcpAddress(l.qual+1), func(conn *net.TCPConn) {
			conn.SetDeadline(time.Now().Add(udattest.Patience))
			conn.Read(make([]byte, 1)) // the request has come
			conn.SetLinger(0)
		})
		e, passive := a.newEndpoint(t), a.newEndpoint(t)
		for _, offset := range []uint64{1, 2} { // nobody listens at the second
			e.connectTo(t, a.address, l.qual+offset, cgo.TimeoutInfinite)
			e.connect.expect(t, cgo.EventConnectionUnreachable)
			e.wantState(t, cgo.EPStateDisconnected)
			reset(t, e)
		}
		a.connect(t, l, e, passive)
		disconnect(t, e, passive)
	})
}

// slowRefusal makes the first connect of a process last until a file exists, and fail then.
const slowRefusal = `
int connect(int fd, const struct sockaddr *address, socklen_t size)
{
	static int refused;

	if (address->sa_family == AF_UNIX || refused++)
		return NEXT(connect)(fd, address, size);
	await_told();
	errno = ENETUNREACH;
	return -1;
}
`

// A receive that is posted while an attempt fails at once has its segments when a change of the endpoint posts it again.
func TestReceiveBesideFailedConnect(t *testing.T) {
	preloadedSocketCM(t, slowRefusal, func(t *testing.T, a *adapter) {
		l, active, passive := a.listen(t), a.newEndpoint(t), a.newEndpoint(t)
		done := make(chan cgo.Return, 1)
		go func() {
			done <- cgo.EPConnect(active.EPHandle, a.address, l.qual, cgo.TimeoutInfinite, nil, cgo.QOSBestEffort, cgo.ConnectDefault)
		}()
		eventually(t, "the endpoint connects", func() bool { return active.state(t) == cgo.EPStateActiveConnectionPending })
		for cookie := range uint64(2) {
			active.postPieces(t, active.memory, cookie)
		}
		tell(t, "")
		outcome(t, "EPConnect", <-done, cgo.InvalidAddress, cgo.InvalidAddressUnreachable)
		active.modify(t, modifyLengths, func(p *cgo.EPParam) { p.EPAttr.MaxRecvDTOs++ })
		a.connect(t, l, active, passive)
		exchange(t, passive, active, passive.memory, active.memory, passive.request, active.recv, 2)
		disconnect(t, active, passive)
	})
}

// silentAccept makes accepts succeed without an answer to the peer while the file exists.
const silentAccept = `
int rdma_accept(struct rdma_cm_id *id, struct rdma_conn_param *param)
{
	return told() ? 0 : NEXT(rdma_accept)(id, param);
}

ssize_t writev(int fd, const struct iovec *iov, int count)
{
	ssize_t n = 0;

	if (!told())
		return NEXT(writev)(fd, iov, count);
	while (count-- > 0)
		n += iov++->iov_len;
	return n;
}
`

// An accepted connection that the peer does not complete ends in time. Its endpoint can be reset, and connects.
func TestAcceptTimeout(t *testing.T) {
	preloaded(t, silentAccept, func(t *testing.T, a *adapter) {
		l, active, passive := a.listen(t), a.newEndpoint(t), a.newEndpoint(t)
		passive.postRecv(t, 1)
		passive.postRecv(t, 2)
		request := a.ask(t, l, active)
		tell(t, "")
		begin := time.Now()
		success(t, "CRAccept", cgo.CRAccept(request, passive.EPHandle, nil))
		untell(t)
		passive.wantState(t, cgo.EPStateCompletionPending)
		passive.connect.expect(t, cgo.EventConnectionAcceptCompletionError)
		took := time.Since(begin)
		check(t, took >= 300*time.Millisecond, "the accept has timed out after %v", took)
		passive.wantFailed(t)
		if active.state(t) == cgo.EPStateActiveConnectionPending { // socket CM tries again
			cgo.EPDisconnect(active.EPHandle, cgo.CloseAbrupt)
		}
		active.connect.next(t)
		reset(t, active)
		a.connect(t, a.listen(t), active, passive) // as another request of the attempt can still be on its way to l
	}, "DAPL_ACCEPT_TIMEOUT_MS=300")
}

// An accept whose peer has given up fails, or ends with the event of such an accept. The attempt is not established later.
func TestAcceptOfGivenUp(t *testing.T) {
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		l, active, passive := a.listen(t), a.newEndpoint(t), a.newEndpoint(t)
		for _, timeout := range []uint32{cgo.TimeoutInfinite, uint32(time.Second / time.Microsecond)} {
			active.connectTo(t, a.address, l.qual, timeout)
			request := l.request(t)
			if timeout == cgo.TimeoutInfinite {
				active.abort(t)
			} else {
				active.connect.expect(t, cgo.EventConnectionTimedOut)
			}
			if r := cgo.CRAccept(request, passive.EPHandle, nil); !r.OK() {
				outcome(t, "CRAccept", r, cgo.InvalidHandle, cgo.InvalidHandleCR)
				cgo.CRReject(request, nil)
			} else if a.iwarp { // which does not wait for the peer
				passive.expectNone(t)
			} else {
				passive.connect.expect(t, cgo.EventConnectionAcceptCompletionError)
				passive.wantState(t, cgo.EPStateDisconnected)
			}
			reset(t, active, passive)
			a.connect(t, l, active, passive)
			active.connect.empty(t)
			disconnect(t, active, passive)
			reset(t, active, passive)
		}
	})
}

// An attempt ends in time, too, if the peer's host has no answer, or if a stranger takes the connection and says nothing.
func TestTimeoutOfSilentPeer(t *testing.T) {
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		const timeout = uint32(300 * time.Millisecond / time.Microsecond)
		e, qual, address := a.newEndpoint(t), uint64(udattest.ConnQual()), a.address
		switch {
		case isSocketCM(a):
			stranger, err := net.ListenTCP("tcp", a.tcpAddress(qual))
			do(t, err)
			defer stranger.Close()
		case a.iwarp:
			defer blackHole(t, a, qual)()
		default:
			address = a.noHost()
		}
		e.postRecv(t, 1)
		e.connectTo(t, address, qual, timeout)
		e.connect.expect(t, cgo.EventConnectionTimedOut)
		e.recv.wantFlushed(t, 1)
		if a.iwarp { // a reset would wait for the host
			return
		}
		reset(t, e)
		a.connect(t, a.listen(t), e, a.newEndpoint(t))
		e.connect.empty(t)
	})
}
