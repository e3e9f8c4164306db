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
		call = kinds[op].call
		d := ep.direction(op)
		if d == nil {
			err = errNotReady
			break
		}
		var n int
		d.mu.Lock()
		n, call, err = d.postSome(batch[accepted:])
		d.mu.Unlock()
		if d.longPosts && turnOver() {
			runtime.Gosched()
		}
		accepted += n
		if err == errPaused && d.awaitPosts() {
			err = nil
		}
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
	if err == errFlushed {
		return 1, call, nil
	}
	if len(d.posts) == 0 {
		return 0, call, err
	}
	accepted, r := cgo.EPPostBatch(d.handle, d.posts, d.iov)
	if refused := d.posts[accepted:]; len(refused) > 0 {
		op, _ := batchedOperation(batch[accepted].Operation)
		call = kinds[op].call
		if d.refusedAtEnd(r) {
			accepted++
		} else {
			err = d.refusedByLibrary(call, r)
		}
		for range d.posts[accepted:] {
			d.withdraw()
		}
	}
	if d.shadow != nil || d.n.early.noting {
		for i := range batch[:accepted] {
			d.notePosted(&batch[i])
		}
	}
	return accepted, call, err
}

// notePosted tells those who want to know of an operation of a batch that was posted.
func (d *direction) notePosted(p *Post) {
	op, _ := batchedOperation(p.Operation)
	if op == opReceive && d.n.early.noting {
		d.n.early.note(p.Segments, p.Cookie, p.Flags)
	}
	d.shadow.posted(d, kinds[op].call)
}

// prepareSome fills d.posts from the batch. The error is that of the operation behind those
// in d.posts. It is errFlushed if the first operation of the batch needs no posting;
// d.posts is empty then. The caller holds mu.
func (d *direction) prepareSome(batch []Post) (call string, err error) {
	d.posts, d.iov = d.posts[:0], d.iov[:0]
	for len(d.posts) < min(len(batch), mostAtOnce) {
		p := &batch[len(d.posts)]
		op, ok := batchedOperation(p.Operation)
		if !ok || d != d.n.direction(op) {
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
		if len(d.posts) == 0 { // an operation behind another must not overtake it
			if err := d.flushIfEnding(op, p.Cookie); err != nil {
				return call, err
			}
		}
		d.posts = append(d.posts, cgo.Post{})
		d.prepare(&d.posts[len(d.posts)-1], op, k, len(d.iov)-before, p.Cookie, p.Flags, remote)
	}
	return call, nil
}
