package udat

import (
	"github.com/goudat/goudat/cgo"
	"github.com/goudat/goudat/udat/internal/shadow"
)

// PostBatch posts operations in order, and returns how many were accepted. It stops at the first
// that is refused; the error says why. Each is checked, and completes, as if posted alone: see
// PostSend.
//
// Up to 64 consecutive receives, or requests, cross into C at once; other posts may come between
// two such parts. PostBatch does not keep the slice, and allocates only the first time on an
// endpoint. With soft-RoCE a post takes 20 µs and longer: a program that posts for milliseconds
// should call runtime.Gosched now and then, or Go's runtime takes its processor away.
func (ep *EP) PostBatch(batch []Post) (accepted int, err error) {
	call := opSend.call
	if len(batch) == 0 || ep == nil {
		return 0, ep.object().unusableOr(call, InvalidHandleEP, nil)
	}
	for accepted < len(batch) && err == nil {
		first := batchedOperation(batch[accepted].Operation)
		if first == nil {
			return accepted, ep.obj.unusableOr(call, InvalidHandleEP, refuse(call, ErrInvalidParameter, NoSubtype,
				"Operation of post %d of the batch is %v, it must be DTOSend, DTOReceive, DTORDMARead or DTORDMAWrite: set it, and post others with the method of their own", accepted, batch[accepted].Operation))
		}
		q := ep.queue(first)
		var n int
		q.mu.Lock()
		n, err = q.postSome(ep, first == &opReceive, batch[accepted:min(len(batch), accepted+mostAtOnce)])
		q.mu.Unlock()
		accepted += n
	}
	ep.ia.refusedPost(err)
	return accepted, err
}

// mostAtOnce bounds the operations of one crossing, which holds the queue's lock. A crossing
// takes 29 ns, half a nanosecond for each operation.
const mostAtOnce = 64

// postSome posts the leading operations of batch that are receives, or requests. The caller holds
// mu.
func (q *workQueue) postSome(ep *EP, receives bool, batch []Post) (accepted int, err error) {
	q.posts, q.iov = q.posts[:0], q.iov[:0]
	for i := range batch {
		op := batchedOperation(batch[i].Operation)
		if op == nil || (op == &opReceive) != receives {
			break
		}
		if err = q.add(op, &batch[i], argument{&ep.obj, InvalidHandleEP}); err != nil {
			break
		}
	}
	if len(q.posts) == 0 {
		return 0, err
	}
	accepted, r := cgo.EPPostBatch(cgo.EPHandle(q.handle), q.posts, q.iov)
	ep.ia.counters.Load().posted(accepted)
	if accepted < len(q.posts) {
		err = q.refused(batchedOperation(batch[accepted].Operation), int(q.posts[accepted].Segments), r)
	}
	if ep.shadow != nil {
		for i := range batch[:accepted] {
			shadow.Assert(&q.mu, func() { ep.shadow.Posted(batchedOperation(batch[i].Operation).call) })
		}
	}
	return accepted, err
}
