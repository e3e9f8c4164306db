//go:build linux

package udat_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/mem"
	"github.com/goudat/goudat/udat/udattest"
)

// What docs/porting.md shows is here, line by line, and runs.

const (
	slotSize    = 256
	trailerSize = 3 // length of the message, number of the message
)

// slotWriter writes messages to a slot of the peer's memory.
type slotWriter struct {
	ep   *udat.EP
	out  *udat.LMR // of slotSize bytes
	slot udat.RMRTriplet
}

func (w *slotWriter) write(message []byte, number byte) error {
	out := w.out.Bytes()
	n := copy(out[:slotSize-trailerSize], message)
	binary.LittleEndian.PutUint16(out[n:], uint16(n))
	out[n+2] = number
	rest := slotSize - trailerSize - n // so that it ends where the slot ends
	body, err := w.post(0, n+2, rest, number, udat.CompletionSuppress)
	if err != nil {
		return err
	}
	last, err := w.post(n+2, 1, rest, number, udat.CompletionDefault)
	if err != nil {
		return err
	}
	_, err = w.ep.PostBatch([]udat.Post{body, last})
	return err
}

// post is an RDMA write of a piece of the memory, to a place so far behind the same
// place of the slot.
func (w *slotWriter) post(offset, length, behind int, number byte, flags udat.CompletionFlags) (udat.Post, error) {
	segment, err := w.out.Segment(offset, length)
	if err != nil {
		return udat.Post{}, err
	}
	remote, err := w.slot.Slice(behind+offset, length)
	return udat.Post{
		Operation: udat.DTORDMAWrite, Segments: []udat.Segment{segment}, Cookie: uint64(number), Remote: remote, Flags: flags,
	}, err
}

// slotReader reads what the peer writes to a slot.
type slotReader struct {
	slot    []byte
	last    mem.PeerByte // of the slot
	connect *udat.EVD
}

func (r *slotReader) read(ctx context.Context, number byte) ([]byte, error) {
	for {
		arrived, err := r.last.SpinUntil(number, 100*time.Microsecond)
		if err != nil {
			return nil, err
		}
		if arrived {
			end := slotSize - trailerSize
			n := int(binary.LittleEndian.Uint16(r.slot[end:]))
			return r.slot[end-n : end], nil
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if event, err := r.connect.Dequeue(); err == nil {
			return nil, fmt.Errorf("the connection ended with %v", event.Number)
		}
	}
}

func TestPortingSlot(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		active, passive := udattest.Pair(t, ia, nil)
		slot := passive.Memory.Bytes()[slotSize : 2*slotSize]
		place := must(passive.Memory.RMRTriplet(slotSize, slotSize))
		last := must(mem.PeerByteAt(passive.Memory, 2*slotSize-1))
		r := &slotReader{slot, last, passive.Connect}
		w := &slotWriter{active.EP, active.Memory, place}
		ctx := udattest.Context(t)
		for i := range 300 {
			number := byte(i + 1)
			message := make([]byte, rand.IntN(slotSize-trailerSize+1))
			fillRandom(message, uint64(i))
			want(t, w.write(message, number))
			got, err := r.read(ctx, number)
			want(t, err)
			if !bytes.Equal(got, message) {
				t.Fatalf("message %d arrived changed", i)
			}
			wantCompletion(t, active.Request, uint64(number), udat.DTOSuccess)
		}
		want(t, active.EP.Disconnect(udat.CloseAbrupt))
		if _, err := r.read(ctx, 0xff); err == nil {
			t.Error("the end of the connection is not seen")
		}
	})
}

// layer is the part of a message layer that has to do with memory.
type layer struct {
	ep      *udat.EP
	buffers *mem.BufferPool
	cache   *mem.RegistrationCache
}

func newLayer(pz *udat.PZ, ep *udat.EP) (*layer, error) {
	buffers, err := mem.CreateBufferPool(pz, mem.BufferPoolConfig{BufferSize: 8192, MaxBuffers: 256})
	if err != nil {
		return nil, err
	}
	cache, err := mem.CreateRegistrationCache(pz, mem.RegistrationCacheLimits{IdleBytes: 64 << 20})
	return &layer{ep, buffers, cache}, err
}

// postReceive makes a buffer ready for a message.
func (l *layer) postReceive() error {
	b, err := l.buffers.Get()
	if err != nil {
		return err
	}
	segment, err := b.Segment(0, len(b.Bytes()))
	if err != nil {
		return err
	}
	return l.ep.PostRecv([]udat.Segment{segment}, b.Cookie(), 0)
}

// received handles the completion of a receive.
func (l *layer) received(event udat.Event, handle func(message []byte)) error {
	b, err := l.buffers.Find(event.Cookie)
	if err != nil {
		return err
	}
	if err := event.Err(); err != nil {
		return err
	}
	handle(b.Bytes()[:event.Length])
	return b.Release()
}

// offer lets the peer read a long message where it is. The registration is to be
// released when the peer has said that it is done.
func (l *layer) offer(message []byte) (*mem.Registration, udat.RMRTriplet, error) {
	registration, err := l.cache.Register(message, udat.MemPrivLocalRead|udat.MemPrivRemoteRead)
	if err != nil {
		return nil, udat.RMRTriplet{}, err
	}
	remote, err := registration.RMRTriplet(0, len(message))
	return registration, remote, err
}

func TestPortingLayer(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		active, passive := udattest.Pair(t, ia, nil)
		l, err := newLayer(passive.PZ, passive.EP)
		want(t, err)
		for range 5 {
			want(t, l.postReceive())
			fill(active.Memory.Bytes()[:100], 7)
			want(t, active.PostSend(one(active.Segment(t, 0, 100)), 1, 0))
			event := udattest.Expect(t, passive.Recv, udat.EventDTOCompletion)
			want(t, l.received(event, func(message []byte) {
				if !bytes.Equal(message, active.Memory.Bytes()[:100]) {
					t.Error("the message arrived changed")
				}
			}))
			wantCompletion(t, active.Request, 1, udat.DTOSuccess)
		}
		message := make([]byte, 5000)
		for i := range 5 {
			fillRandom(message, uint64(i))
			registration, remote, err := l.offer(message)
			want(t, err)
			want(t, active.PostRDMARead(one(active.Segment(t, 0, len(message))), 2, remote, 0))
			wantCompletion(t, active.Request, 2, udat.DTOSuccess)
			if !bytes.Equal(active.Memory.Bytes()[:len(message)], message) {
				t.Error("the peer read something else")
			}
			want(t, registration.Release())
		}
		if s := l.cache.Stats(); s.Misses != 1 || s.Hits != 4 {
			t.Errorf("the counters are %+v", s)
		}
		want(t, l.cache.Free())
		want(t, l.buffers.Free())
	})
}
