package main

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/goudat/goudat/udat"
)

// transactionTest is the server's side of a transaction.
type transactionTest struct {
	transaction
	threads []*thread
}

// listenForTransaction makes the endpoints of all threads, which listen.
func listenForTransaction(ctx context.Context, s side, t transaction) (runner, error) {
	threads, err := newThreads(ctx, s, t)
	if err != nil {
		return nil, err
	}
	return &transactionTest{t, threads}, nil
}

func (t *transactionTest) run(ctx context.Context) error { return runThreads(ctx, t.threads) }

func (t *transactionTest) done() { fmt.Println("Server: Transaction Test Finished for this client") }

// runTransaction runs the client's side of a transaction.
func runTransaction(ctx context.Context, s side, t transaction) error {
	threads, err := newThreads(ctx, s, t)
	if err != nil {
		return err
	}
	if err := runThreads(ctx, threads); err != nil {
		return err
	}
	var total statistics
	for _, th := range threads {
		total.add(th.stats)
	}
	total.print(t)
	return nil
}

func newThreads(ctx context.Context, s side, t transaction) ([]*thread, error) {
	threads := make([]*thread, t.threads)
	err := together(ctx, t.threads, func(_ context.Context, i int) (err error) {
		s := s
		s.port += udat.ConnQual(i * t.endpoints)
		threads[i], err = newThread(s, t)
		return err
	})
	if err != nil {
		for _, th := range threads {
			if th != nil {
				err = errors.Join(err, th.close())
			}
		}
		return nil, err
	}
	return threads, nil
}

// runThreads runs the threads, and frees their objects.
func runThreads(ctx context.Context, threads []*thread) error {
	gate := newGate(len(threads))
	return together(ctx, len(threads), func(ctx context.Context, i int) error {
		return errors.Join(threads[i].run(ctx, gate), threads[i].close())
	})
}

// gate holds threads until all have arrived.
type gate struct {
	missing atomic.Int32
	opened  chan struct{}
}

func newGate(threads int) *gate {
	g := &gate{opened: make(chan struct{})}
	g.missing.Store(int32(threads))
	return g
}

func (g *gate) pass(ctx context.Context) error {
	if g.missing.Add(-1) == 0 {
		close(g.opened)
	}
	select {
	case <-g.opened:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// run connects the endpoints and goes through the operations.
func (t *thread) run(ctx context.Context, gate *gate) error {
	t.ctx, t.end = context.WithCancelCause(ctx)
	return explain(t.ctx, t.exchange(ctx, gate))
}

func (t *thread) exchange(ctx context.Context, gate *gate) error {
	if err := t.prepare(); err != nil {
		return err
	}
	if err := t.begin(gate); err != nil {
		return fmt.Errorf("waiting for the peer to begin: %w", err)
	}
	t.trace.say(1, "port %d: begin", t.port)
	start := time.Now()
	for i := range t.iterations {
		if err := t.iterate(i); err != nil {
			return fmt.Errorf("iteration %d: %w", i, err)
		}
	}
	if err := t.finish(ctx); err != nil {
		return fmt.Errorf("waiting for the peer to finish: %w", err)
	}
	t.stats.elapsed = time.Since(start)
	t.trace.say(1, "port %d: end", t.port)
	return nil
}

// begin waits until both sides are ready for transfers. The server's threads announce it first. The client's threads
// answer when all of them have received that.
func (t *thread) begin(gate *gate) error {
	if t.server {
		if err := t.sendSyncs(t.ctx, beginOut); err != nil {
			return err
		}
		return t.takeSyncs(beginIn)
	}
	if err := t.takeSyncs(beginIn); err != nil {
		return err
	}
	if err := gate.pass(t.ctx); err != nil {
		return err
	}
	return t.sendSyncs(t.ctx, beginOut)
}

// finish waits until both sides have received everything.
func (t *thread) finish(ctx context.Context) error {
	send := func() error { return lastNote(t.sendSyncs(ctx, endOut)) }
	if t.server {
		if err := send(); err != nil {
			return err
		}
		return t.takeSyncs(endIn)
	}
	if err := t.takeSyncs(endIn); err != nil {
		return err
	}
	return send()
}

// sendSyncs sends a note on each endpoint.
func (t *thread) sendSyncs(ctx context.Context, buffer int) error {
	for _, l := range t.links {
		if err := l.sendNote(l.notes, buffer, syncSize); err != nil {
			return err
		}
	}
	for _, l := range t.links {
		if err := l.takeNote(ctx, l.request, buffer, syncSize); err != nil {
			return err
		}
	}
	return nil
}

func (t *thread) takeSyncs(buffer int) error {
	for _, l := range t.links {
		if err := l.takeNote(t.ctx, l.recv, buffer, syncSize); err != nil {
			return err
		}
	}
	return nil
}

// iterate runs all operations once.
func (t *thread) iterate(iteration int) error {
	t.trace.say(2, "port %d: iteration %d", t.port, iteration)
	last := iteration == t.iterations-1
	if last {
		// The peer's last note comes after the transfers.
		for _, l := range t.links {
			if err := l.postNote(l.notes, endIn, syncSize); err != nil {
				return err
			}
		}
	}
	for i, o := range t.operations {
		t.trace.say(3, "port %d: %v", t.port, o)
		if err := t.transfer(i, last); err != nil {
			return fmt.Errorf("operation %d, %v: %w", i, o, err)
		}
		t.stats.count(o, t.mine(o), len(t.links))
		if t.validate && i == t.quiet() {
			if err := t.checkData(iteration); err != nil {
				return err
			}
			if !last {
				t.fill(iteration + 1)
			}
		}
	}
	return nil
}

// transfer runs an operation on all endpoints at the same time. It posts a receive again unless it was the last one.
func (t *thread) transfer(i int, last bool) error {
	o := t.operations[i]
	if t.mine(o) {
		if err := t.post(i); err != nil || o.late && !t.server {
			return err
		}
		return t.reap(i)
	}
	if o.kind != sendReceive {
		return nil // the peer's work alone
	}
	for _, l := range t.links {
		if err := t.takeTransfer(l, l.recv, i); err != nil {
			return err
		}
		if o.late && !t.server {
			if err := t.reapLate(l); err != nil {
				return err
			}
		}
	}
	if last {
		return nil
	}
	return t.postReceives(i)
}

func (t *thread) post(i int) error {
	for _, l := range t.links {
		tr := &l.transfers[i]
		var err error
		switch tr.kind {
		case rdmaRead:
			err = l.ep.PostRDMARead(tr.iov, uint64(i), tr.remote, udat.CompletionDefault)
		case rdmaWrite:
			err = l.ep.PostRDMAWrite(tr.iov, uint64(i), tr.remote, udat.CompletionDefault)
		case sendReceive:
			err = l.ep.PostSend(tr.iov, uint64(i), udat.CompletionDefault)
		}
		if err != nil {
			return err
		}
		if tr.late && !t.server {
			l.unreaped = append(l.unreaped, i)
		}
	}
	return nil
}

func (t *thread) postReceives(i int) error {
	for _, l := range t.links {
		if err := l.ep.PostRecv(l.transfers[i].iov, uint64(i), udat.CompletionDefault); err != nil {
			return err
		}
	}
	return nil
}

// reap takes the completions of an operation, after the postponed ones that have come meanwhile.
func (t *thread) reap(i int) error {
	for _, l := range t.links {
		for len(l.unreaped) > 0 {
			if err := t.reapLate(l); err != nil {
				return err
			}
		}
		if err := t.takeTransfer(l, l.request, i); err != nil {
			return err
		}
	}
	return nil
}

// reapLate takes the completion of the first postponed send, if there is one.
func (t *thread) reapLate(l *threadLink) error {
	if len(l.unreaped) == 0 {
		return nil
	}
	i := l.unreaped[0]
	l.unreaped = l.unreaped[1:]
	return t.takeTransfer(l, l.request, i)
}

// takeTransfer takes a completion, which must be that of the operation.
func (t *thread) takeTransfer(l *threadLink, evd *udat.EVD, i int) error {
	next := take
	if t.poll {
		next = poll
	}
	event, err := next(t.ctx, evd)
	if err != nil {
		return err
	}
	return completion{l.ep, uint64(i), l.transfers[i].bytes()}.check(event)
}

// quiet is the operation after which a side may check and change its memory: see syncs.
func (t *thread) quiet() int {
	if t.server {
		return t.validated() + 1
	}
	return t.validated()
}

// patternOf returns the value of all bytes in an iteration. Memory starts with zeros.
func patternOf(iteration int) byte { return byte(iteration + 1) }

// fills reports whether the bytes of a transfer come from this side.
func (tr *transfer) fills() bool { return tr.ours != (tr.kind == rdmaRead) }

// fill writes the bytes of the next iteration into the memory for the peer.
func (t *thread) fill(iteration int) {
	for _, l := range t.links {
		for _, tr := range l.transfers[:t.validated()] {
			if !tr.fills() {
				continue
			}
			memory := tr.memory.lmr.Bytes()
			for i := range memory {
				memory[i] = patternOf(iteration)
			}
		}
	}
}

// checkData checks the data from the peer.
func (t *thread) checkData(iteration int) error {
	want := patternOf(iteration)
	for i, l := range t.links {
		for _, tr := range l.transfers[:t.validated()] {
			if tr.fills() {
				continue
			}
			for at, got := range tr.memory.lmr.Bytes() {
				if got != want {
					return fmt.Errorf("the data is wrong: %v: byte %d at endpoint %d is %#x, want %#x", tr.operation, at, i, got, want)
				}
			}
		}
	}
	return nil
}
