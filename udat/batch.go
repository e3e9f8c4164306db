package udat

import (
	"runtime"

	"github.com/goudat/goudat/cgo"
	"github.com/goudat/goudat/udat/internal/notify"
)

// Post is one operation of a batch: what PostSend, PostRecv, PostRDMARead or
// PostRDMAWrite takes.
type Post struct {
	Operation DTO // DTOSend, DTOReceive, DTORDMARead or DTORDMAWrite; the zero value is none of them, and refused
	Segments  []Segment
	Cookie    uint64
	Remote    RMRTriplet // of RDMA reads and writes
	Flags     CompletionFlags
}

// PostBatch posts operations in order, and returns how many of them were
// accepted. If one is refused, the error says why, and neither it nor the
// operations behind it are posted. Each operation is checked, and completes, as
// if it were posted alone: see PostSend, PostRecv, PostRDMARead and
// PostRDMAWrite. A post without an Operation, such as the zero Post, fails with
// ErrInvalidParameter.
//
// A post alone costs a crossing into C. A batch costs one for up to 64
// operations that follow each other in the same direction, which are receives or
// requests. It does not allocate, but for the first time on an endpoint. Another
// batch or post in the same direction may come between two such parts.
//
// PostBatch does not keep the slice. The memory of the segments belongs to the
// adapter until the completion.
func (ep *EP) PostBatch(batch []Post) (accepted int, err error) {
	call := kinds[opSend].call
	if len(batch) == 0 || ep == nil {
		return 0, ep.object().refused(call, InvalidHandleEP, nil)
	}
	for accepted < len(batch) && err == nil {
		op, ok := batchedOperation(batch[accepted].Operation)
		if !ok {
			return accepted, ep.obj.refused(call, InvalidHandleEP, refuse(call, ErrInvalidParameter, NoSubtype,
				"Operation of post %d of the batch is %v, it must be %v, %v, %v or %v: set it, and post others with the method of their own", accepted, batch[accepted].Operation,
				DTOSend, DTOReceive, DTORDMARead, DTORDMAWrite))
		}
		q := ep.queue(op)
		var n int
		q.mu.Lock()
		n, call, err = q.postSome(batch[accepted:])
		q.mu.Unlock()
		if q == &ep.request && ep.ia != nil && ep.ia.software && notify.SliceOver() {
			runtime.Gosched()
		}
		accepted += n
	}
	return accepted, ep.explain(call, err)
}

// mostAtOnce is how many operations one crossing posts. The lock of the
// direction is held meanwhile. A crossing takes 29 ns, half a nanosecond for each.
const mostAtOnce = 64

// batchedOperation reports false for an operation that is not posted in a batch.
func batchedOperation(o DTO) (operation, bool) {
	switch o {
	case DTOSend:
		return opSend, true
	case DTOReceive:
		return opReceive, true
	case DTORDMARead:
		return opRDMARead, true
	case DTORDMAWrite:
		return opRDMAWrite, true
	}
	return 0, false
}

// postSome posts the operations at the start of the batch that belong to the
// direction, up to mostAtOnce of them. The error is that of the operation behind
// those that were accepted, and call its call. The caller holds mu.
func (q *workQueue) postSome(batch []Post) (accepted int, call string, err error) {
	call, err = q.prepareSome(batch)
	if len(q.posts) == 0 {
		return 0, call, err
	}
	accepted, r := cgo.EPPostBatch(q.handle, q.posts, q.iov)
	if accepted < len(q.posts) {
		op, _ := batchedOperation(batch[accepted].Operation)
		call = kinds[op].call
		err = q.refused(call, r)
	}
	if q.ep.shadow != nil {
		for i := range batch[:accepted] {
			op, _ := batchedOperation(batch[i].Operation)
			q.assertPosted(kinds[op].call)
		}
	}
	return accepted, call, err
}

// prepareSome fills q.posts from the batch. The error is that of the operation behind those
// in q.posts. The caller holds mu.
func (q *workQueue) prepareSome(batch []Post) (call string, err error) {
	q.posts, q.iov = q.posts[:0], q.iov[:0]
	if q.handle == 0 { // it may have no endpoint either
		op, _ := batchedOperation(batch[0].Operation)
		return kinds[op].call, errNotReady
	}
	for len(q.posts) < min(len(batch), mostAtOnce) {
		p := &batch[len(q.posts)]
		op, ok := batchedOperation(p.Operation)
		if !ok || q != q.ep.queue(op) {
			break
		}
		k := &kinds[op]
		call = k.call
		var remote *RMRTriplet
		if k.remote {
			remote = &p.Remote
		}
		before := len(q.iov)
		if err := q.examine(op, k, p.Segments, p.Flags, remote); err != nil {
			q.iov = q.iov[:before]
			return call, err
		}
		q.posts = append(q.posts, cgo.Post{})
		q.prepare(&q.posts[len(q.posts)-1], op, k, len(q.iov)-before, p.Cookie, p.Flags, remote)
	}
	return call, nil
}
