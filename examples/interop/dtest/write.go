package main

import (
	"context"
	"fmt"
	"time"

	"github.com/goudat/goudat/udat"
)

// writeBurst writes the peer's memory many times and exchanges notes. The client's note follows its writes; the
// server's answer follows its own writes.
func (n *node) writeBurst(ctx context.Context) error {
	say("RDMA writes, then a message")
	start := time.Now()
	n.putText(n.out, 0, writeText(n.role()))
	if !n.o.unidirectional || !n.o.server() {
		if err := n.writes(ctx, n.o.burst); err != nil {
			return err
		}
	}
	if err := n.crossNotes(ctx, n.o.server()); err != nil {
		return err
	}
	n.times.write = time.Since(start)
	if n.o.unidirectional && !n.o.server() {
		return nil // nobody wrote here
	}
	return n.checkText(n.in.Bytes()[:n.o.size], writeText(n.peer()))
}

// crossNotes sends a note and takes one, in the given order.
func (n *node) crossNotes(ctx context.Context, takeFirst bool) error {
	if takeFirst {
		if err := n.takeNote(ctx, &n.times.writePolls); err != nil {
			return err
		}
	}
	if err := n.sendNote(udat.CompletionSuppress); err != nil || takeFirst {
		return err
	}
	return n.takeNote(ctx, &n.times.writePolls)
}

// writes posts RDMA writes of the whole region. Their cookies count from 0.
func (n *node) writes(ctx context.Context, count int) error {
	segment, err := n.out.Segment(0, n.o.size)
	if err != nil {
		return err
	}
	iov := []udat.Segment{segment}
	for i := range count {
		flags := n.signal(i)
		if err := n.ep.PostRDMAWrite(iov, uint64(i), n.remote, flags); err != nil {
			return fmt.Errorf("RDMA write %d: %w", i, err)
		}
		if err := n.collectWrite(ctx, i, flags); err != nil {
			return err
		}
	}
	return nil
}

// signal returns the flags for operation i: only some operations have completions.
func (n *node) signal(i int) udat.CompletionFlags {
	if (i+1)%n.o.signalRate == 0 {
		return udat.CompletionDefault
	}
	return udat.CompletionSuppress
}

func (n *node) collectWrite(ctx context.Context, i int, flags udat.CompletionFlags) error {
	if flags&udat.CompletionSuppress != 0 {
		return nil
	}
	_, err := n.collect(ctx, n.request, &n.times.writePolls, uint64(i), n.o.size)
	if err == nil {
		n.sayMore("RDMA write %d completed", i+1)
	}
	return err
}

// writeImmediate is writeBurst with immediate data in the last write. The other side waits for it before it sends its
// note.
func (n *node) writeImmediate(ctx context.Context) error {
	say("RDMA writes, the last one with immediate data, then a message")
	start := time.Now()
	last := n.o.burst - 1
	n.putText(n.out, 0, fmt.Sprintf("%srdma writes completed == %d", writeText(n.role()), n.o.burst))
	n.out.Bytes()[n.o.size-1] = byte(last)
	writing, written := true, true
	if n.o.unidirectional {
		writing, written = !n.o.server(), n.o.server()
	}
	if writing {
		if err := n.writes(ctx, last); err != nil {
			return err
		}
		segment, err := n.out.Segment(0, n.o.size)
		if err != nil {
			return err
		}
		flags := n.signal(last)
		if err := n.ep.PostRDMAWriteImmed([]udat.Segment{segment}, uint64(last), n.remote, immediate, flags); err != nil {
			return err
		}
		if err := n.collectWrite(ctx, last, flags); err != nil {
			return err
		}
	}
	if written {
		if err := n.takeImmediate(ctx); err != nil {
			return err
		}
	}
	if err := n.crossNotes(ctx, n.o.server()); err != nil {
		return err
	}
	n.times.write = time.Since(start)
	if !written {
		return nil
	}
	b := n.in.Bytes()[:n.o.size]
	if b[n.o.size-1] != byte(last) {
		return fmt.Errorf("the last byte is %#x, and the last write has %#x", b[n.o.size-1], byte(last))
	}
	return n.checkText(b[:n.o.size-1], writeText(n.peer()))
}

// takeImmediate waits for the value that comes with the peer's last write. It uses a receive that was posted for a
// note.
func (n *node) takeImmediate(ctx context.Context) error {
	event, err := n.collect(ctx, n.recv, &n.times.writePolls, uint64(n.notesSeen), n.o.size)
	if err != nil {
		return fmt.Errorf("waiting for the %s's last write: %w", n.peer(), err)
	}
	if event.Operation != udat.DTOIBRecvImmed || event.Immediate != immediate {
		return fmt.Errorf("%v with immediate data %#x, want %v with %#x", event.Operation, event.Immediate, udat.DTOIBRecvImmed, immediate)
	}
	n.notesSeen++
	return nil
}
