package main

import (
	"context"
	"errors"
	"fmt"
	"sync"

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

// newThread makes the unconnected endpoints of a thread, with receives for the first notes. A server's endpoints
// listen.
func newThread(s side, t transaction) (_ *thread, err error) {
	th := &thread{side: s, transaction: t}
	defer func() {
		if err != nil {
			err = errors.Join(err, th.close())
		}
	}()
	if th.pz, err = udat.CreatePZ(s.ia); err != nil {
		return nil, err
	}
	attr := th.attributes()
	for i := range t.endpoints {
		if err := th.addLink(s.port+udat.ConnQual(i), attr); err != nil {
			return nil, fmt.Errorf("endpoint %d: %w", i, err)
		}
	}
	return th, nil
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

func (t *thread) addLink(port udat.ConnQual, attr udat.EPAttr) (err error) {
	length := max(testQueue, t.endpoints*len(t.operations))
	l := &threadLink{port: port}
	if l.link, err = newLink(t.ia, t.pz, sameLengths(length), attr, t.server); err != nil {
		return err
	}
	t.links = append(t.links, l)
	if l.notes, err = newBuffers(t.pz, placesSize, noteBuffers); err != nil {
		return err
	}
	for _, o := range t.operations {
		tr := transfer{operation: o, ours: t.mine(o)}
		if tr.memory, err = newBuffers(t.pz, o.size, o.segments); err != nil {
			return err
		}
		l.transfers = append(l.transfers, tr)
		if l.transfers[len(l.transfers)-1].iov, err = tr.memory.segments(o.segments); err != nil {
			return err
		}
	}
	if !t.server {
		return nil
	}
	if err := l.postFirst(); err != nil {
		return err
	}
	l.sp, err = l.listen(t.ia, port, t.reserved)
	t.trace.say(1, "listening on port %d", port)
	return err
}

// postFirst posts the receives for the notes before the transfers.
func (l *threadLink) postFirst() error {
	if err := l.postNote(l.notes, placesIn, placesSize); err != nil {
		return err
	}
	return l.postNote(l.notes, beginIn, syncSize)
}

// prepare connects all endpoints. When the sides have told each other where their memory is, all receives are posted
// and the memory is filled.
func (t *thread) prepare() error {
	for i, l := range t.links {
		if err := t.connect(l); err != nil {
			return fmt.Errorf("endpoint %d: %w", i, err)
		}
		if err := t.exchangePlaces(l); err != nil {
			return fmt.Errorf("endpoint %d: where the memory is: %w", i, err)
		}
	}
	for i := range t.operations {
		if !t.mine(t.operations[i]) && t.operations[i].kind == sendReceive {
			if err := t.postReceives(i); err != nil {
				return err
			}
		}
	}
	if t.validate {
		t.fill(0)
	}
	return nil
}

func (t *thread) connect(l *threadLink) error {
	if !t.server {
		return l.connect(t.ctx, service{t.to, l.port, []byte(greeting)}, t.trace, l.postFirst, t.end)
	}
	ctx, cancel := patient(t.ctx)
	defer cancel()
	cr, param, err := l.nextRequest(ctx)
	if err != nil {
		return err
	}
	if data := param.PrivateData; len(data) < len(greeting) || string(data[:len(greeting)]) != greeting {
		return errors.Join(fmt.Errorf("the request came with %q, not %q", data, greeting), cr.Reject(nil))
	}
	if err := l.accept(t.ctx, cr, t.reserved, t.end); err != nil {
		return err
	}
	sp := l.sp
	l.sp = nil
	return sp.Free()
}

// exchangePlaces exchanges where each side's memory is that the other side reads or writes. The client begins.
func (t *thread) exchangePlaces(l *threadLink) error {
	out := l.notes.bytes(placesOut)
	for i, tr := range l.transfers {
		if tr.ours || tr.kind == sendReceive {
			continue
		}
		triplet, err := tr.memory.lmr.RMRTriplet(0, tr.bytes())
		if err != nil {
			return err
		}
		placeOf(triplet).put(out[i*placeSize:], orderOf(t.peerIsLittle))
	}
	send := func() error {
		if err := l.sendNote(l.notes, placesOut, placesSize); err != nil {
			return err
		}
		return l.takeNote(t.ctx, l.request, placesOut, placesSize)
	}
	receive := func() error { return l.takeNote(t.ctx, l.recv, placesIn, placesSize) }
	steps := []func() error{send, receive}
	if t.server {
		steps = []func() error{receive, send}
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	in := l.notes.bytes(placesIn)
	for i := range l.transfers {
		if tr := &l.transfers[i]; tr.ours && tr.kind != sendReceive {
			tr.remote = parsePlace(in[i*placeSize:], orderOf(hostIsLittle)).triplet(tr.bytes())
		}
	}
	return nil
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
