package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/goudat/goudat/examples/interop/internal/testprogram"
	"github.com/goudat/goudat/udat"
)

// greeting is the private data of clients that connect for a transaction.
const greeting = "DAPL and RDMA rule! Test 4321."

const (
	// placesSize is the length of the note that says where a side's memory is.
	placesSize = maxOperations * placeSize
	// syncSize is the length of the notes with which the sides wait for each other.
	syncSize = 64
)

// The buffers of the notes of a link.
const (
	placesOut = iota
	placesIn
	beginOut
	beginIn
	endOut
	endIn
	noteBuffers
)

// thread is one side's part of a transaction, run by one goroutine.
type thread struct {
	side
	transaction
	pz    *udat.PZ
	links []*threadLink

	ctx   context.Context // ends with any of the connections
	end   context.CancelCauseFunc
	stats statistics
}

// threadLink is an endpoint of a thread, with its memory.
type threadLink struct {
	*link
	port      udat.ConnQual
	sp        object // of a server until it is connected
	notes     *buffers
	transfers []transfer
	unreaped  []int // the sends whose completions are postponed
}

// transfer is an operation on one endpoint.
type transfer struct {
	operation
	ours   bool
	memory *buffers
	iov    []udat.Segment
	remote udat.RMRTriplet
}

func (t *thread) mine(o operation) bool { return o.byServer == t.server }

// make makes the unconnected endpoints of a thread, with receives for the first notes. A server's endpoints listen.
func (t *thread) make() {
	t.pz = must(udat.CreatePZ(t.ia))
	attr := t.attributes()
	for i := range t.endpoints {
		if err := testprogram.Attempt(func() { t.addLink(t.port+udat.ConnQual(i), attr) }); err != nil {
			check(fmt.Errorf("endpoint %d: %w", i, err))
		}
	}
}

// attributes have room for the receives of all operations and notes.
func (t *thread) attributes() udat.EPAttr {
	attr := t.ia.DefaultEPAttr()
	room := len(t.operations) + 3
	attr.MaxRecvDTOs, attr.MaxRequestDTOs = max(attr.MaxRecvDTOs, room), max(attr.MaxRequestDTOs, room)
	for _, o := range t.operations {
		attr.MaxRecvIOV, attr.MaxRequestIOV = max(attr.MaxRecvIOV, o.segments), max(attr.MaxRequestIOV, o.segments)
	}
	return attr
}

func (t *thread) addLink(port udat.ConnQual, attr udat.EPAttr) {
	length := max(testQueue, t.endpoints*len(t.operations))
	l := &threadLink{port: port, link: must(newLink(t.ia, t.pz, sameLengths(length), attr, t.server))}
	t.links = append(t.links, l)
	l.notes = must(newBuffers(t.pz, placesSize, noteBuffers))
	for _, o := range t.operations {
		memory := must(newBuffers(t.pz, o.size, o.segments))
		l.transfers = append(l.transfers, transfer{operation: o, ours: t.mine(o), memory: memory, iov: must(memory.segments(o.segments))})
	}
	if t.server {
		l.postFirst()
		l.sp = must(l.listen(t.ia, port, t.reserved))
		t.trace.say(1, "listening on port %d", port)
	}
}

// postFirst posts the receives for the notes before the transfers.
func (l *threadLink) postFirst() {
	l.postNote(l.notes, placesIn, placesSize)
	l.postNote(l.notes, beginIn, syncSize)
}

// prepare connects all endpoints. When the sides have told each other where their memory is, all receives are posted
// and the memory is filled.
func (t *thread) prepare() {
	for i, l := range t.links {
		if err := testprogram.Attempt(func() { t.connect(l) }); err != nil {
			check(fmt.Errorf("endpoint %d: %w", i, err))
		}
		if err := testprogram.Attempt(func() { t.exchangePlaces(l) }); err != nil {
			check(fmt.Errorf("endpoint %d: where the memory is: %w", i, err))
		}
	}
	for i := range t.operations {
		if !t.mine(t.operations[i]) && t.operations[i].kind == sendReceive {
			t.postReceives(i)
		}
	}
	if t.validate {
		t.fill(0)
	}
}

func (t *thread) connect(l *threadLink) {
	if !t.server {
		l.connect(t.ctx, service{t.to, l.port, []byte(greeting)}, t.trace, l.postFirst, t.end)
		return
	}
	ctx, cancel := patient(t.ctx)
	defer cancel()
	cr, param := l.nextRequest(ctx)
	if !bytes.HasPrefix(param.PrivateData, []byte(greeting)) {
		check(errors.Join(fmt.Errorf("the request came with %q, not %q", param.PrivateData, greeting), cr.Reject(nil)))
	}
	l.accept(t.ctx, cr, t.reserved, t.end)
	sp := l.sp
	l.sp = nil
	check(sp.Free())
}

// exchangePlaces exchanges where each side's memory is that the other side reads or writes. The client begins.
func (t *thread) exchangePlaces(l *threadLink) {
	out, in := l.notes.bytes(placesOut), l.notes.bytes(placesIn)
	for i, tr := range l.transfers {
		if !tr.ours && tr.kind != sendReceive {
			placeOf(must(tr.memory.lmr.RMRTriplet(0, tr.bytes()))).put(out[i*placeSize:], orderOf(t.peerIsLittle))
		}
	}
	receive := func() { l.takeNote(t.ctx, l.recv, placesIn, placesSize) }
	if t.server {
		receive()
	}
	l.sendNote(l.notes, placesOut, placesSize)
	l.takeNote(t.ctx, l.request, placesOut, placesSize)
	if !t.server {
		receive()
	}
	for i := range l.transfers {
		if tr := &l.transfers[i]; tr.ours && tr.kind != sendReceive {
			tr.remote = parsePlace(in[i*placeSize:], orderOf(hostIsLittle)).triplet(tr.bytes())
		}
	}
}

func (t *thread) close() error {
	var errs []error
	for _, l := range t.links {
		errs = append(errs, free(l.sp, l.link, l.notes))
		for _, tr := range l.transfers {
			errs = append(errs, tr.memory.Free())
		}
	}
	if t.end != nil {
		t.end(nil)
	}
	return errors.Join(append(errs, free(t.pz))...)
}

// together calls a function for each of count threads in parallel. When one fails, the context of the others ends.
func together(ctx context.Context, count int, f func(ctx context.Context, i int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	errs := make([]error, count)
	var threads sync.WaitGroup
	for i := range count {
		threads.Add(1)
		go func() {
			defer threads.Done()
			if err := f(ctx, i); err != nil {
				errs[i] = fmt.Errorf("thread %d: %w", i, err)
				cancel(errors.New("another thread has failed"))
			}
		}()
	}
	threads.Wait()
	return errors.Join(errs...)
}
