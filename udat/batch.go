package udat

import (
	"runtime"

	"github.com/goudat/goudat/cgo"
	"github.com/goudat/goudat/udat/internal/shadow"
)

// PostBatch posts operations in order, and returns how many of them were accepted. If
// one is refused, the error says why, and neither it nor the operations behind it are
// posted. Each is checked, and completes, as if it were posted alone: see PostSend,
// PostRecv, PostRDMARead and PostRDMAWrite.
//
// A batch crosses into C once for up to 64 operations that follow each other in the
// same direction, receives or requests. Another batch or post in the same direction may
// come between two such parts. PostBatch does not keep the slice, and allocates only
// the first time on an endpoint.
func (ep *EP) PostBatch(batch []Post) (accepted int, err error) {
	op := &opSend
	if len(batch) == 0 || ep == nil {
		return 0, ep.object().unusableOr(op.call, InvalidHandleEP, nil)
	}
	for accepted < len(batch) && err == nil {
		first := batchedOperation(batch[accepted].Operation)
		if first == nil {
			return accepted, ep.obj.unusableOr(op.call, InvalidHandleEP, refuse(op.call, ErrInvalidParameter, NoSubtype,
				"Operation of post %d of the batch is %v, it must be DTOSend, DTOReceive, DTORDMARead or DTORDMAWrite: set it, and post others with the method of their own", accepted, batch[accepted].Operation))
		}
		q := ep.queue(first)
		var n int
		q.mu.Lock()
		n, op, err = q.postSome(first == &opReceive, batch[accepted:min(len(batch), accepted+mostAtOnce)])
		q.mu.Unlock()
		if q == &ep.request && ep.yieldDue() {
			runtime.Gosched()
		}
		accepted += n
	}
	return accepted, ep.addState(op.call, err)
}

// mostAtOnce bounds the operations of one crossing, which holds the queue's lock. A crossing
// takes 29 ns, half a nanosecond for each operation.
const mostAtOnce = 64

// postSome posts the leading operations of batch that are receives, or requests. If one is refused, op
// describes it. The caller holds mu.
func (q *workQueue) postSome(receives bool, batch []Post) (accepted int, op *operation, err error) {
	q.makeRoom(len(batch))
	for i := range batch {
		p := &batch[i]
		next := batchedOperation(p.Operation)
		if next == nil || (next == &opReceive) != receives {
			break
		}
		op = next
		if err = q.add(op, p); err != nil {
			q.posts = q.posts[:i] // the check of its remote memory comes last
			break
		}
	}
	if len(q.posts) == 0 {
		return 0, op, err
	}
	accepted, r := cgo.EPPostBatch(cgo.EPHandle(q.handle), q.posts, q.iov)
	q.ep.ia.counters.Load().posted(accepted)
	if accepted < len(q.posts) {
		op = batchedOperation(batch[accepted].Operation)
		err = checkPost(op.call, r)
	}
	if q.ep.shadow != nil {
		for i := range batch[:accepted] {
			shadow.Assert(&q.mu, func() { q.ep.shadow.Posted(batchedOperation(batch[i].Operation).call) })
		}
	}
	return accepted, op, err
}
