package udat

import (
	"runtime"

	"github.com/goudat/goudat/cgo"
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
		d := ep.direction(op)
		var n int
		d.mu.Lock()
		n, call, err = d.postSome(batch[accepted:])
		d.mu.Unlock()
		if d == &ep.request && ep.ia != nil && ep.ia.software && turnOver() {
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
func (d *direction) postSome(batch []Post) (accepted int, call string, err error) {
	call, err = d.prepareSome(batch)
	if len(d.posts) == 0 {
		return 0, call, err
	}
	accepted, r := cgo.EPPostBatch(d.handle, d.posts, d.iov)
	d.ep.ia.counters.Load().posted(accepted)
	if accepted < len(d.posts) {
		op, _ := batchedOperation(batch[accepted].Operation)
		call = kinds[op].call
		err = d.refused(call, r)
	}
	if d.ep.shadow != nil {
		for i := range batch[:accepted] {
			op, _ := batchedOperation(batch[i].Operation)
			d.assertPosted(kinds[op].call)
		}
	}
	return accepted, call, err
}

// prepareSome fills d.posts from the batch. The error is that of the operation behind those
// in d.posts. The caller holds mu.
func (d *direction) prepareSome(batch []Post) (call string, err error) {
	d.posts, d.iov = d.posts[:0], d.iov[:0]
	if d.handle == 0 { // it may have no endpoint either
		op, _ := batchedOperation(batch[0].Operation)
		return kinds[op].call, errNotReady
	}
	for len(d.posts) < min(len(batch), mostAtOnce) {
		p := &batch[len(d.posts)]
		op, ok := batchedOperation(p.Operation)
		if !ok || d != d.ep.direction(op) {
			break
		}
		k := &kinds[op]
		call = k.call
		var remote *RMRTriplet
		if k.remote {
			remote = &p.Remote
		}
		before := len(d.iov)
		if err := d.examine(op, k, p.Segments, p.Flags, remote); err != nil {
			d.iov = d.iov[:before]
			return call, err
		}
		d.posts = append(d.posts, cgo.Post{})
		d.prepare(&d.posts[len(d.posts)-1], op, k, len(d.iov)-before, p.Cookie, p.Flags, remote)
	}
	return call, nil
}
