package devicetest

import (
	"bytes"
	"slices"
	"testing"
	"time"

	"github.com/goudat/goudat/cgo"
	"github.com/goudat/goudat/udat/udattest"
)

// tooMany are more segments than any adapter takes.
func (m *memory) tooMany() []cgo.LMRTriplet {
	return slices.Repeat([]cgo.LMRTriplet{m.local(0, 1)}, 1000)
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
			r := cgo.EPPostSend(active.EPHandle, []cgo.LMRTriplet{active.memory.local(0, 64)}, cookie, cgo.CompletionDefault)
			success(t, "EPPostSend", r)
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
		refusePost(t, a, false)
		refusePost(t, a, true)
	})
}

// refusePost has a post fail, before another one or the end of the connection.
func refusePost(t *testing.T, a *adapter, another bool) {
	active, passive := a.connectedPair(t)
	for cookie := range uint64(3) {
		passive.postRecv(t, cookie)
	}
	segments := []cgo.LMRTriplet{active.memory.local(0, 64)}
	success(t, "EPPostSend", cgo.EPPostSend(active.EPHandle, segments, 0, cgo.CompletionDefault))
	tell(t, "")
	wantRefused(t, "EPPostSend", cgo.EPPostSend(active.EPHandle, segments, 1, cgo.CompletionDefault))
	untell(t)
	active.wantIdle(t, true, false) // the one before keeps its cookie
	active.request.completion(t, cgo.EventDTOCompletion, 0)
	performed := uint64(2)
	if another {
		success(t, "EPPostSend", cgo.EPPostSend(active.EPHandle, segments, 2, cgo.CompletionDefault))
		active.request.completion(t, cgo.EventDTOCompletion, 2)
		performed++
	}
	for cookie := range performed {
		passive.recv.completion(t, cgo.EventDTOCompletion, cookie)
	}
	disconnect(t, active, passive) // which takes the last completions
	active.request.empty(t)
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
			call, length := cgo.EPPostRDMAWrite, 8
			if posted%most == 0 {
				call, length = cgo.EPPostRDMARead, long
			}
			remote := to.remote(0, length)
			success(t, "posting a request", call(active.EPHandle, []cgo.LMRTriplet{from.local(0, length)}, posted, &remote, cgo.CompletionDefault))
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
		most := uint64(endpointAttr().MaxRequestDTOs)
		for range 3 {
			// The answer to the first read leaves time to post the others.
			remote := to.remote(0, long)
			success(t, "EPPostRDMARead", cgo.EPPostRDMARead(active.EPHandle, []cgo.LMRTriplet{from.local(0, long)}, 0, &remote, cgo.CompletionDefault))
			segments, word := []cgo.LMRTriplet{active.memory.local(0, 8)}, to.remote(0, 8)
			wrong := word
			wrong.RMRContext ^= 0xffff00
			success(t, "EPPostRDMARead", cgo.EPPostRDMARead(active.EPHandle, segments, 1, &wrong, cgo.CompletionDefault))
			for cookie := uint64(2); cookie < most; cookie++ {
				success(t, "EPPostRDMAWrite", cgo.EPPostRDMAWrite(active.EPHandle, segments, cookie, &word, cgo.CompletionDefault))
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

			// Nothing of that is left when the endpoints connect again.
			active.connect.next(t)
			passive.connect.next(t)
			reset(t, active, passive)
			a.connect(t, a.listen(t), active, passive)
		}
	})
}

// postSoon posts until the queue has a place, and takes no events meanwhile.
func postSoon(t *testing.T, post func() cgo.Return) {
	t.Helper()
	for deadline := time.Now().Add(udattest.Patience); ; {
		r := post()
		if r.OK() {
			return
		}
		outcome(t, "posting a request", r, cgo.InsufficientResources, cgo.ResourceMemory)
		if time.Now().After(deadline) {
			t.Fatal("the queue stays full")
		}
	}
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
		remote := passive.memory.remote(0, 8)
		segments := []cgo.LMRTriplet{active.memory.local(0, 8)}
		for cookie := range uint64(20 * endpointAttr().MaxRequestDTOs) {
			postSoon(t, func() cgo.Return {
				return cgo.EPPostRDMAWrite(active.EPHandle, segments, cookie, &remote, cgo.CompletionSuppress)
			})
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
			postSoon(t, func() cgo.Return {
				return cgo.EPPostRDMAWrite(active.EPHandle, segments, cookie, &remote, flags)
			})
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
			remote := to.remote(0, long)
			success(t, "EPPostRDMARead", cgo.EPPostRDMARead(active.EPHandle, []cgo.LMRTriplet{from.local(0, long)}, 0, &remote, cgo.CompletionSuppress))
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
		remote, wrong := passive.memory.remote(0, 8), passive.memory.remote(0, 8)
		wrong.RMRContext ^= 0xffff00
		segments := []cgo.LMRTriplet{active.memory.local(0, 8)}
		for before := range uint64(endpointAttr().MaxRequestDTOs) {
			post := func(cookie uint64, remote *cgo.RMRTriplet) cgo.Return {
				return cgo.EPPostRDMARead(active.EPHandle, segments, cookie, remote, cgo.CompletionSuppress)
			}
			for cookie := range before {
				success(t, "EPPostRDMARead", post(cookie, &remote))
			}
			success(t, "EPPostRDMARead", post(before, &wrong))
			dto := active.request.expect(t, cgo.EventDTOCompletion)
			if d := dto.DTO(); d.UserCookie != before || d.Status == cgo.DTOSuccess || d.Operation != cgo.DTORDMARead {
				t.Fatalf("request %d completes with %v, want request %d to fail", d.UserCookie, d.Status, before)
			}
			active.connect.next(t)
			passive.connect.next(t)
			active.idleSoon(t)
			active.request.empty(t)
			reset(t, active, passive)
			active.wantIdle(t, true, true)
			a.connect(t, a.listen(t), active, passive)
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
			remote := passive.memory.remote(0, 8)
			success(t, "EPPostRDMAWrite", cgo.EPPostRDMAWrite(active.EPHandle, []cgo.LMRTriplet{active.memory.local(0, 8)}, cookie, &remote, cgo.CompletionSuppress))
		}
		for cookie := range most {
			active.request.expectFlushed(t, cookie)
		}
		active.request.empty(t)
		active.idleSoon(t)
	})
}
