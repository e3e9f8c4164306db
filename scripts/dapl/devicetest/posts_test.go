package devicetest

import (
	"bytes"
	"os"
	"slices"
	"testing"

	"github.com/goudat/goudat/cgo"
)

// tooMany are more segments than any adapter takes.
func (m *memory) tooMany() []cgo.LMRTriplet {
	return slices.Repeat([]cgo.LMRTriplet{m.local(0, 1)}, 1000)
}

// write posts an RDMA write of 8 bytes to the beginning of a peer's memory.
func (e *endpoint) write(peer *endpoint, cookie uint64, flags cgo.CompletionFlags) cgo.Return {
	remote := peer.memory.remote(0, 8)
	return cgo.EPPostRDMAWrite(e.EPHandle, []cgo.LMRTriplet{e.memory.local(0, 8)}, cookie, &remote, flags)
}

// read posts an RDMA read of all of a peer's memory.
func (e *endpoint) read(t testing.TB, into, from *memory, cookie uint64, flags cgo.CompletionFlags) {
	t.Helper()
	remote := from.remote(0, len(from.bytes))
	success(t, "EPPostRDMARead", cgo.EPPostRDMARead(e.EPHandle, []cgo.LMRTriplet{into.local(0, len(from.bytes))}, cookie, &remote, flags))
}

func wantRefused(t *testing.T, call string, r cgo.Return) {
	t.Helper()
	if r.OK() {
		t.Fatalf("%s has succeeded", call)
	}
}

// Operations in flight keep their cookies when later posts are refused, and still count as outstanding.
func TestRefusedPostKeepsCookies(t *testing.T) {
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		active, passive := a.connectedPair(t)
		most := uint64(endpointAttr().MaxRecvDTOs)
		for cookie := range most {
			passive.postRecv(t, cookie)
			active.postRecv(t, cookie)
			wantRefused(t, "EPPostRecv", cgo.EPPostRecv(active.EPHandle, active.memory.tooMany(), 100, cgo.CompletionDefault))
		}
		active.wantIdle(t, false, true)
		r := cgo.EPPostRecv(active.EPHandle, []cgo.LMRTriplet{active.memory.local(0, 64)}, most, cgo.CompletionDefault)
		outcome(t, "EPPostRecv beyond the queue", r, cgo.InsufficientResources, cgo.ResourceMemory)

		for cookie := range most {
			active.send(t, cookie, cgo.CompletionDefault)
			wantRefused(t, "EPPostSend", cgo.EPPostSend(active.EPHandle, active.memory.tooMany(), 100, cgo.CompletionDefault))
		}
		for cookie := range most {
			active.request.completion(t, cgo.EventDTOCompletion, cookie)
		}
		disconnect(t, active, passive)
		for cookie := range most {
			active.recv.expectFlushed(t, cookie)
		}
		active.recv.empty(t)
	})
}

// failingCall lets the call into the kernel fail that follows a post, while a file exists, although the operation is
// in the queue already.
const failingCall = `
enum { post_send = 28 };

ssize_t write(int fd, const void *buf, size_t n)
{
	ssize_t ret = NEXT(write)(fd, buf, n);

	if (ret > (ssize_t)sizeof(uint32_t) && *(const uint32_t *)buf == post_send && told()) {
		errno = EIO;
		return -1;
	}
	return ret;
}
`

// A post that has failed does not complete, even if the adapter performs the operation, and the next one completes once.
func TestRefusedPostCompletesNot(t *testing.T) {
	preloaded(t, failingCall, func(t *testing.T, a *adapter) {
		for _, performed := range []uint64{2, 3} { // before the end of the connection, or another post
			active, passive := a.connectedPair(t)
			for cookie := range uint64(3) {
				passive.postRecv(t, cookie)
			}
			active.send(t, 0, cgo.CompletionDefault)
			tell(t, "")
			wantRefused(t, "EPPostSend", cgo.EPPostSend(active.EPHandle, nil, 1, cgo.CompletionDefault))
			untell(t)
			active.wantIdle(t, true, false) // the one before keeps its cookie
			active.request.completion(t, cgo.EventDTOCompletion, 0)
			if performed == 3 {
				active.deliver(t, 2)
			}
			for cookie := range performed {
				passive.recv.completion(t, cgo.EventDTOCompletion, cookie)
			}
			disconnect(t, active, passive) // which takes the last completions
			active.request.empty(t)
		}
	})
}

// Segments of no bytes stand for nothing, wherever they are, and operations without segments are done. Soft-iWARP takes an
// empty one for the end of the list, refuses a receive without any, and ends the connection at a read with a fence.
func TestEmptySegments(t *testing.T) {
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		active, passive := a.connectedPair(t)
		around := func(m *memory) []cgo.LMRTriplet {
			return []cgo.LMRTriplet{m.local(0, 0), m.local(0, 8)}
		}
		copy(active.memory.bytes, "8 bytes.")
		success(t, "EPPostRecv", cgo.EPPostRecv(passive.EPHandle, around(passive.memory), 1, cgo.CompletionDefault))
		success(t, "EPPostRecv", cgo.EPPostRecv(passive.EPHandle, nil, 2, cgo.CompletionDefault))
		success(t, "EPPostSend", cgo.EPPostSend(active.EPHandle, around(active.memory), 3, cgo.CompletionDefault))
		success(t, "EPPostSend", cgo.EPPostSend(active.EPHandle, nil, 4, cgo.CompletionDefault))
		received := passive.recv.completion(t, cgo.EventDTOCompletion, 1)
		if length := received.DTO().TransferredLength; length != 8 || string(passive.memory.bytes[:8]) != "8 bytes." {
			t.Errorf("received %d bytes: %q", length, passive.memory.bytes[:8])
		}
		passive.recv.completion(t, cgo.EventDTOCompletion, 2)

		remote := passive.memory.remote(0, 8)
		success(t, "EPPostRDMARead", cgo.EPPostRDMARead(active.EPHandle, []cgo.LMRTriplet{active.memory.local(64, 8)}, 5, &remote,
			cgo.CompletionBarrierFence))
		for cookie := range uint64(3) {
			active.request.completion(t, cgo.EventDTOCompletion, cookie+3)
		}
		if got := string(active.memory.bytes[64:72]); got != "8 bytes." {
			t.Errorf("read %q", got)
		}
	})
}

// unarmedQueues arms one completion queue more, and refuses to arm others, and posts, with a reason that is returned and not
// in errno, where there is that of an earlier call, or none.
const unarmedQueues = `
static struct ibv_context_ops device;

static int poll_cq(struct ibv_cq *cq, int n, struct ibv_wc *wc)
{
	int found = device.poll_cq(cq, n, wc);

	errno = EIO;
	return found;
}

static int req_notify_cq(struct ibv_cq *cq, int solicited)
{
	static int armed;

	armed = told() ? armed + 1 : 0;
	return armed > 1 ? EINVAL : device.req_notify_cq(cq, solicited);
}

static int post_send(struct ibv_qp *qp, struct ibv_send_wr *request, struct ibv_send_wr **bad)
{
	int refused = told();

	errno = 0;
	return refused ? ENOMEM : device.post_send(qp, request, bad);
}

static int post_recv(struct ibv_qp *qp, struct ibv_recv_wr *receive, struct ibv_recv_wr **bad)
{
	int refused = told();

	errno = 0;
	return refused ? ENOMEM : device.post_recv(qp, receive, bad);
}

struct ibv_context *ibv_open_device(struct ibv_device *of)
{
	struct ibv_context *context = NEXT(ibv_open_device)(of);

	if (context != NULL) {
		device = context->ops;
		context->ops.poll_cq = poll_cq;
		context->ops.req_notify_cq = req_notify_cq;
		context->ops.post_send = post_send;
		context->ops.post_recv = post_recv;
	}
	return context;
}
`

// A wait for completions arms the queue once, also after one that a completion has ended, and fails if nothing would tell of
// them.
func TestUnarmedQueue(t *testing.T) {
	preloaded(t, unarmedQueues, func(t *testing.T, a *adapter) {
		active, passive := a.connectedPair(t)
		evd := passive.recv.EVDHandle
		success(t, "EVDDisable", cgo.EVDDisable(evd)) // or the end of a wait arms it for the CNO
		passive.postRecv(t, 1)
		ended := startWait(t, evd, cgo.TimeoutInfinite, 1)
		active.deliver(t, 1)
		success(t, "EVDWait", waitEnd(t, ended).Return)
		tell(t, "")
		const soon = 100000 // microseconds
		for _, want := range []cgo.ReturnType{cgo.TimeoutExpired, cgo.InvalidParameter} {
			_, r := cgo.EVDWait(evd, soon, 1, new(cgo.Event))
			outcome(t, "EVDWait", r, want, cgo.NoSubtype)
		}
		untell(t)
	})
}

// A post fails for the reason that the adapter returns.
func TestPostRefusedWithoutErrno(t *testing.T) {
	preloaded(t, unarmedQueues, func(t *testing.T, a *adapter) {
		active, _ := a.connectedPair(t)
		segments := []cgo.LMRTriplet{active.memory.local(0, 64)}
		tell(t, "")
		r := cgo.EPPostSend(active.EPHandle, segments, 1, cgo.CompletionDefault)
		outcome(t, "EPPostSend", r, cgo.InsufficientResources, cgo.NoSubtype)
		r = cgo.EPPostRecv(active.EPHandle, segments, 1, cgo.CompletionDefault)
		outcome(t, "EPPostRecv", r, cgo.InsufficientResources, cgo.NoSubtype)
	})
}

// long is the length of a read whose answer takes longer than the requests behind it.
const long = 1 << 20

// Requests complete in the order of posting. Soft-iWARP completes an RDMA read after requests that were posted later:
// the published library then uses the record of the read for another request.
func TestLateReadKeepsOrder(t *testing.T) {
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		active, passive := a.connectedPair(t)
		most := uint64(endpointAttr().MaxRequestDTOs)
		from, to := a.newLongMemory(t, active.pz, long), a.newLongMemory(t, passive.pz, long)
		posted := uint64(0)
		post := func() {
			if posted%most == 0 {
				active.read(t, from, to, posted, cgo.CompletionDefault)
			} else {
				success(t, "EPPostRDMAWrite", active.write(passive, posted, cgo.CompletionDefault))
			}
			posted++
		}
		for posted < most {
			post()
		}
		for cookie := range 50 * most {
			event := active.request.completion(t, cgo.EventDTOCompletion, cookie)
			if read := cookie%most == 0; (event.DTO().Operation == cgo.DTORDMARead) != read {
				t.Fatalf("request %d completes as %v", cookie, event.DTO().Operation)
			}
			if posted < 50*most {
				post()
			}
		}
		active.wantIdle(t, true, true)
	})
}

// What was posted behind a request that fails is flushed, also if the adapter had handed it over before.
func TestSuccessBehindFailure(t *testing.T) {
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		active, passive := a.connectedPair(t)
		from, to := a.newLongMemory(t, active.pz, long), a.newLongMemory(t, passive.pz, long)
		most, wrong := uint64(endpointAttr().MaxRequestDTOs), *passive.memory
		wrong.rmrContext ^= 0xffff00
		for range 3 {
			// The answer to the first read leaves time to post the others.
			active.read(t, from, to, 0, cgo.CompletionDefault)
			active.read(t, active.memory, &wrong, 1, cgo.CompletionDefault)
			for cookie := uint64(2); cookie < most; cookie++ {
				success(t, "EPPostRDMAWrite", active.write(passive, cookie, cgo.CompletionDefault))
			}
			active.request.completion(t, cgo.EventDTOCompletion, 0)
			for cookie := uint64(1); cookie < most; cookie++ {
				event := active.request.expect(t, cgo.EventDTOCompletion)
				dto := event.DTO()
				if dto.UserCookie != cookie || dto.Status == cgo.DTOSuccess || (cookie > 1 && dto.Status != cgo.DTOErrFlushed) {
					t.Fatalf("request %d completes with %v, want request %d to fail", dto.UserCookie, dto.Status, cookie)
				}
			}
			active.request.empty(t)

			a.reconnect(t, active, passive) // nothing of that is left then
		}
	})
}

// reconnect connects endpoints again, whose connection has broken for one of them.
func (a *adapter) reconnect(t testing.TB, active, passive *endpoint) {
	t.Helper()
	for _, e := range []*endpoint{active, passive} {
		if event := e.connect.next(t); event.Number != cgo.EventConnectionBroken && event.Number != cgo.EventConnectionDisconnected {
			t.Fatalf("got the event %v, want the end of the connection", event.Number)
		}
		reset(t, e)
	}
	a.connect(t, a.listen(t), active, passive)
}

// writeSoon is write once the queue has a place. It takes no events meanwhile.
func (e *endpoint) writeSoon(t *testing.T, peer *endpoint, cookie uint64, flags cgo.CompletionFlags) {
	t.Helper()
	eventually(t, "the queue has a place", func() bool {
		r := e.write(peer, cookie, flags)
		if !r.OK() {
			outcome(t, "EPPostRDMAWrite", r, cgo.InsufficientResources, cgo.ResourceMemory)
		}
		return r.OK()
	})
}

func (e *endpoint) idleSoon(t *testing.T) {
	t.Helper()
	eventually(t, "the requests are done", func() bool {
		_, _, idle, r := cgo.EPGetStatus(e.EPHandle)
		success(t, "EPGetStatus", r)
		return idle != 0
	})
}

// Suppressed requests give their places back without an event, and the status says when the last ones are done.
func TestSuppressedRequests(t *testing.T) {
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		active, passive := a.connectedPair(t)
		for cookie := range uint64(20 * endpointAttr().MaxRequestDTOs) {
			active.writeSoon(t, passive, cookie, cgo.CompletionSuppress)
		}
		active.idleSoon(t)
		active.request.empty(t)

		// Posts that take completions to get a place lose no event, and keep the order.
		const all, reported = 200, 5
		for cookie := range uint64(all) {
			flags := cgo.CompletionSuppress
			if cookie%reported == 0 {
				flags = cgo.CompletionDefault
			}
			active.writeSoon(t, passive, cookie, flags)
		}
		for cookie := uint64(0); cookie < all; cookie += reported {
			active.request.completion(t, cgo.EventDTOCompletion, cookie)
		}
		active.idleSoon(t)
		active.request.empty(t)
	})
}

// When an endpoint is idle, its suppressed reads have brought their bytes, also where later requests overtake them.
func TestSuppressedReadIsDone(t *testing.T) {
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		active, passive := a.connectedPair(t)
		from, to := a.newLongMemory(t, active.pz, long), a.newLongMemory(t, passive.pz, long)
		for round := range byte(5) {
			for i := range to.bytes {
				to.bytes[i] = round + 1
			}
			active.read(t, from, to, 0, cgo.CompletionSuppress)
			active.idleSoon(t)
			if !bytes.Equal(from.bytes, to.bytes) {
				t.Fatal("the endpoint is idle, and the read has not brought all bytes")
			}
		}
		active.request.empty(t)
	})
}

// Suppressed requests that fail are reported, wherever in the queue they are, and those that succeed are not.
func TestSuppressedRequestFails(t *testing.T) {
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		active, passive := a.connectedPair(t)
		wrong := *passive.memory
		wrong.rmrContext ^= 0xffff00
		for before := range uint64(endpointAttr().MaxRequestDTOs) {
			for cookie := range before {
				active.read(t, active.memory, passive.memory, cookie, cgo.CompletionSuppress)
			}
			active.read(t, active.memory, &wrong, before, cgo.CompletionSuppress)
			dto := active.request.expect(t, cgo.EventDTOCompletion)
			if d := dto.DTO(); d.UserCookie != before || d.Status == cgo.DTOSuccess || d.Operation != cgo.DTORDMARead {
				t.Fatalf("request %d completes with %v, want request %d to fail", d.UserCookie, d.Status, before)
			}
			active.idleSoon(t)
			active.request.empty(t)
			a.reconnect(t, active, passive)
			active.wantIdle(t, true, true)
		}
	})
}

// What the end of a connection flushes is reported, even if it is suppressed.
func TestSuppressedRequestsFlushed(t *testing.T) {
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		active, passive := a.connectedPair(t)
		disconnect(t, active, passive)
		most := uint64(endpointAttr().MaxRequestDTOs)
		for cookie := range most {
			success(t, "EPPostRDMAWrite", active.write(passive, cookie, cgo.CompletionSuppress))
		}
		for cookie := range most {
			active.request.expectFlushed(t, cookie)
		}
		active.request.empty(t)
		active.idleSoon(t)
	})
}

// postWaits has a post wait before its second lock, when the library's threads see its cookie: it removes the file, and goes
// on when that is there again.
const postWaits = `
int pthread_mutex_lock(pthread_mutex_t *mutex)
{
	static __thread int taken;

	if (!is_provider() && told() && ++taken == 2) {
		unlink(told_file());
		await_told();
	}
	return LIBC(pthread_mutex_lock)(mutex);
}
`

// A suppressed request is flushed after the end of a connection, though another call ends what is outstanding meanwhile.
func TestSuppressedRequestBesideEnd(t *testing.T) {
	preloaded(t, postWaits, func(t *testing.T, a *adapter) {
		active, passive := a.connectedPair(t)
		disconnect(t, active, passive)
		local, remote := active.memory.local(0, 8), passive.memory.remote(0, 8)
		posted := make(chan cgo.Return)
		tell(t, "")
		go func() {
			posted <- cgo.EPPostRDMAWrite(active.EPHandle, []cgo.LMRTriplet{local}, 1, &remote, cgo.CompletionSuppress)
		}()
		eventually(t, "the post waits", func() bool {
			_, err := os.Stat(os.Getenv(fileVariable))
			return err != nil
		})
		active.postRecv(t, 2)
		tell(t, "")
		success(t, "EPPostRDMAWrite", <-posted)
		untell(t) // no other call is to wait
		active.request.expectFlushed(t, 1)
	})
}
