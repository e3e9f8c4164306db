package udat

import "github.com/goudat/goudat/cgo"

// Post is one operation of a batch: what PostSend, PostRecv, PostRDMARead or
// PostRDMAWrite takes.
type Post struct {
	Operation DTO // DTOSend, DTOReceive, DTORDMARead or DTORDMAWrite
	Segments  []Segment
	Cookie    uint64
	Remote    RMRTriplet // of RDMA reads and writes
	Flags     CompletionFlags
}

// PostBatch posts operations in order, and returns how many of them were
// accepted. If one is refused, the error says why, and neither it nor the
// operations behind it are posted. Each operation is checked, and completes, as
// if it were posted alone: see PostSend, PostRecv, PostRDMARead and
// PostRDMAWrite.
//
// A post alone costs a crossing into C. A batch costs one for up to 64
// operations that follow each other in the same direction, which are receives or
// requests. It does not allocate, but for the first time on an endpoint. Another
// batch or post in the same direction may come between two such parts.
//
// PostBatch does not keep the slice. The memory of the segments belongs to the
// adapter until the completion.
func (ep *EP) PostBatch(batch []Post) (accepted int, err error) {
	op := "dat_ep_post_send"
	if len(batch) == 0 || ep == nil {
		return 0, ep.object().refused(op, InvalidHandleEP, nil)
	}
	for accepted < len(batch) && err == nil {
		var n int
		kind := postKindOf(batch[accepted].Operation)
		if kind == nil {
			return accepted, ep.obj.refused(op, InvalidHandleEP, refuse(op, ErrInvalidParameter, NoSubtype,
				"operation %d of the batch is %v, it must be %v, %v, %v or %v: post others with the method of their own", accepted, batch[accepted].Operation,
				DTOSend, DTOReceive, DTORDMARead, DTORDMAWrite))
		}
		n, op, err = ep.postSome(ep.direction(kind.operation), batch[accepted:])
		accepted += n
	}
	return accepted, ep.explain(op, err)
}

// mostAtOnce is how many operations one crossing posts. The lock of the
// direction is held meanwhile. A crossing takes 29 ns, half a nanosecond for each.
const mostAtOnce = 64

// postKind is what operations of a kind have in common.
type postKind struct {
	call      string
	operation operation
	needs     MemPriv
	flags     CompletionFlags // that it may have
	flagsArg  ReturnSubtype
	remote    bool
}

var postKinds = [...]postKind{
	DTOSend:      {"dat_ep_post_send", opSend, MemPrivLocalRead, requestPostFlags, InvalidArg5, false},
	DTOReceive:   {"dat_ep_post_recv", opReceive, MemPrivLocalWrite, recvPostFlags, InvalidArg5, false},
	DTORDMARead:  {"dat_ep_post_rdma_read", opRDMARead, MemPrivLocalWrite, requestPostFlags, InvalidArg6, true},
	DTORDMAWrite: {"dat_ep_post_rdma_write", opRDMAWrite, MemPrivLocalRead, requestPostFlags, InvalidArg6, true},
}

// postKindOf gives nil for an operation that is not posted in a batch.
func postKindOf(operation DTO) *postKind {
	if int64(operation) >= int64(len(postKinds)) {
		return nil
	}
	return &postKinds[operation]
}

// batchScratch is the native form of operations that are about to be posted.
type batchScratch struct {
	posts []cgo.Post
	iov   []cgo.LMRTriplet
}

// postSome posts the operations at the start of the batch that belong to the
// direction, up to mostAtOnce of them. The error is that of the operation behind
// those that were accepted, and op its call.
func (ep *EP) postSome(d *direction, batch []Post) (accepted int, op string, err error) {
	d.mu.Lock() // without a defer, as of all posts: see shadow.posted
	op, err = ep.prepareSome(d, batch)
	if err == errFlushed {
		d.mu.Unlock()
		return 1, op, nil
	}
	prepared := d.batch.posts
	if len(prepared) > 0 {
		var r cgo.Return
		if accepted, r = cgo.EPPostBatch(d.handle, prepared, d.batch.iov); accepted < len(prepared) {
			op = postKindOf(DTO(prepared[accepted].Operation)).call
			if d.refusedAtEnd(r) {
				accepted++
			} else {
				err = d.refusedByLibrary(op, r)
			}
			for range prepared[accepted:] {
				d.withdraw()
			}
		}
		ep.notePosts(d, batch[:accepted])
	}
	d.mu.Unlock()
	return accepted, op, err
}

// prepareSome fills the scratch. The error is that of the operation behind those
// that are in it; errFlushed stands for one that needs no posting, before which
// there is none. The caller holds mu.
func (ep *EP) prepareSome(d *direction, batch []Post) (op string, err error) {
	s := &d.batch
	s.posts, s.iov = s.posts[:0], s.iov[:0]
	for len(s.posts) < min(len(batch), mostAtOnce) && err == nil {
		p := &batch[len(s.posts)]
		kind := postKindOf(p.Operation)
		if kind == nil || ep.direction(kind.operation) != d {
			break
		}
		op = kind.call
		if err = d.examinePost(kind, p); err != nil {
			break
		}
		if d.flushes(kind.operation) {
			if len(s.posts) > 0 {
				d.giveRoom()
				break // it must not overtake those before
			}
			return op, d.flushPost(op, kind.operation, p.Cookie)
		}
		if len(s.posts) == 0 && d.keeps(kind.operation, p.Cookie) {
			return op, errFlushed
		}
		err = d.preparePost(kind, p)
	}
	return op, err
}

func (d *direction) examinePost(kind *postKind, p *Post) error {
	if err := checkPostFlags(kind.call, p.Flags, kind.flags, kind.flagsArg); err != nil {
		return err
	}
	return d.examine(kind.call, kind.operation, p.Segments, kind.needs)
}

// preparePost records an operation that was examined, and adds its native form.
func (d *direction) preparePost(kind *postKind, p *Post) error {
	native, flags := d.record(kind.operation, p.Cookie), p.Flags
	if kind.remote {
		if err := d.checkRemote(kind.call, kind.operation, p.Remote); err != nil {
			return err
		}
	}
	if kind.operation != opReceive {
		if kind.operation == opRDMARead {
			flags = d.ep.readFlags(flags)
		}
		native, flags = d.suppress(native, flags)
	}
	s := &d.batch
	s.iov = append(s.iov, d.iov...)
	s.posts = append(s.posts, cgo.Post{Operation: cgo.DTO(p.Operation), Segments: uint32(len(d.iov)), Cookie: native, Remote: cgo.RMRTriplet(p.Remote), Flags: cgo.CompletionFlags(flags)})
	return nil
}

// notePosts takes note of operations that the library has accepted.
func (ep *EP) notePosts(d *direction, batch []Post) {
	for i := range batch {
		p := &batch[i]
		ep.shadow.posted(d, postKindOf(p.Operation).call)
		if p.Operation == DTOReceive {
			ep.early.note(p.Segments, p.Cookie, p.Flags)
		}
	}
}
