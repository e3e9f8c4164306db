package main

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/goudat/goudat/examples/interop/internal/testprogram"
	"github.com/goudat/goudat/udat"
)

// transactionTest is the server's side of a transaction. The endpoints of all threads listen.
type transactionTest struct{ threads []*thread }

func (t *transactionTest) run(ctx context.Context) error { return runThreads(ctx, t.threads) }

func (t *transactionTest) done() { fmt.Println("Server: Transaction Test Finished for this client") }

// runTransaction runs the client's side of a transaction.
func runTransaction(ctx context.Context, s side, t transaction) {
	threads := must(newThreads(ctx, s, t))
	check(runThreads(ctx, threads))
	var total statistics
	for _, th := range threads {
		total.add(th.stats)
	}
	total.print(t)
}

func newThreads(ctx context.Context, s side, t transaction) ([]*thread, error) {
	threads := make([]*thread, t.threads)
	err := together(ctx, t.threads, func(_ context.Context, i int) error {
		threads[i] = &thread{side: s, transaction: t}
		threads[i].port += udat.ConnQual(i * t.endpoints)
		return testprogram.Attempt(threads[i].make)
	})
	if err != nil {
		for _, th := range threads {
			err = errors.Join(err, th.close())
		}
		return nil, err
	}
	return threads, nil
}

// runThreads runs the threads, and frees their objects.
func runThreads(ctx context.Context, threads []*thread) error {
	gate := newGate(len(threads))
	return together(ctx, len(threads), func(ctx context.Context, i int) error {
		t := threads[i]
		t.ctx, t.end = context.WithCancelCause(ctx)
		return errors.Join(within(t.ctx, func() { t.exchange(ctx, gate) }), t.close())
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

func (g *gate) pass(ctx context.Context) {
	if g.missing.Add(-1) == 0 {
		close(g.opened)
	}
	select {
	case <-g.opened:
	case <-ctx.Done():
		check(context.Cause(ctx))
	}
}

// exchange connects the endpoints and goes through the operations.
func (t *thread) exchange(ctx context.Context, gate *gate) {
	t.prepare()
	if err := testprogram.Attempt(func() { t.begin(gate) }); err != nil {
		check(fmt.Errorf("waiting for the peer to begin: %w", err))
	}
	t.trace.say(1, "port %d: begin", t.port)
	start := time.Now()
	for i := range t.iterations {
		if err := testprogram.Attempt(func() { t.iterate(i) }); err != nil {
			check(fmt.Errorf("iteration %d: %w", i, err))
		}
	}
	if err := testprogram.Attempt(func() { t.finish(ctx) }); err != nil {
		check(fmt.Errorf("waiting for the peer to finish: %w", err))
	}
	t.stats.elapsed = time.Since(start)
	t.trace.say(1, "port %d: end", t.port)
}

// begin waits until both sides are ready for transfers. The server's threads announce it first. The client's threads
// answer when all of them have received that.
func (t *thread) begin(gate *gate) {
	if t.server {
		t.sendSyncs(t.ctx, beginOut)
		t.takeSyncs(beginIn)
		return
	}
	t.takeSyncs(beginIn)
	gate.pass(t.ctx)
	t.sendSyncs(t.ctx, beginOut)
}

// finish waits until both sides have received everything.
func (t *thread) finish(ctx context.Context) {
	send := func() { lastNote(func() { t.sendSyncs(ctx, endOut) }) }
	if t.server {
		send()
		t.takeSyncs(endIn)
		return
	}
	t.takeSyncs(endIn)
	send()
}

// sendSyncs sends a note on each endpoint.
func (t *thread) sendSyncs(ctx context.Context, buffer int) {
	for _, l := range t.links {
		l.sendNote(l.notes, buffer, syncSize)
	}
	for _, l := range t.links {
		l.takeNote(ctx, l.request, buffer, syncSize)
	}
}

func (t *thread) takeSyncs(buffer int) {
	for _, l := range t.links {
		l.takeNote(t.ctx, l.recv, buffer, syncSize)
	}
}

// iterate runs all operations once.
func (t *thread) iterate(iteration int) {
	t.trace.say(2, "port %d: iteration %d", t.port, iteration)
	last := iteration == t.iterations-1
	if last {
		// The peer's last note comes after the transfers.
		for _, l := range t.links {
			l.postNote(l.notes, endIn, syncSize)
		}
	}
	for i, o := range t.operations {
		t.trace.say(3, "port %d: %v", t.port, o)
		if err := testprogram.Attempt(func() { t.transfer(i, last) }); err != nil {
			check(fmt.Errorf("operation %d, %v: %w", i, o, err))
		}
		t.stats.count(o, t.mine(o), len(t.links))
		if t.validate && i == t.quiet() {
			t.checkData(iteration)
			if !last {
				t.fill(iteration + 1)
			}
		}
	}
}

// transfer runs an operation on all endpoints at the same time. It posts a receive again unless it was the last one.
func (t *thread) transfer(i int, last bool) {
	o := t.operations[i]
	if t.mine(o) {
		t.post(i)
		if !o.late || t.server {
			t.reap(i)
		}
		return
	}
	if o.kind != sendReceive {
		return // the peer's work alone
	}
	for _, l := range t.links {
		t.takeTransfer(l, l.recv, i)
		if o.late && !t.server {
			t.reapLate(l)
		}
	}
	if !last {
		t.postReceives(i)
	}
}

func (t *thread) post(i int) {
	for _, l := range t.links {
		tr := &l.transfers[i]
		switch tr.kind {
		case rdmaRead:
			check(l.ep.PostRDMARead(tr.iov, uint64(i), tr.remote, udat.CompletionDefault))
		case rdmaWrite:
			check(l.ep.PostRDMAWrite(tr.iov, uint64(i), tr.remote, udat.CompletionDefault))
		case sendReceive:
			check(l.ep.PostSend(tr.iov, uint64(i), udat.CompletionDefault))
		}
		if tr.late && !t.server {
			l.unreaped = append(l.unreaped, i)
		}
	}
}

func (t *thread) postReceives(i int) {
	for _, l := range t.links {
		check(l.ep.PostRecv(l.transfers[i].iov, uint64(i), udat.CompletionDefault))
	}
}

// reap takes the completions of an operation, after the postponed ones that have come meanwhile.
func (t *thread) reap(i int) {
	for _, l := range t.links {
		for len(l.unreaped) > 0 {
			t.reapLate(l)
		}
		t.takeTransfer(l, l.request, i)
	}
}

// reapLate takes the completion of the first postponed send, if there is one.
func (t *thread) reapLate(l *threadLink) {
	if len(l.unreaped) > 0 {
		i := l.unreaped[0]
		l.unreaped = l.unreaped[1:]
		t.takeTransfer(l, l.request, i)
	}
}

// takeTransfer takes a completion, which must be that of the operation.
func (t *thread) takeTransfer(l *threadLink, evd *udat.EVD, i int) {
	next := take
	if t.poll {
		next = poll
	}
	completion{l.ep, uint64(i), l.transfers[i].bytes()}.check(must(next(t.ctx, evd)))
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
func (t *thread) checkData(iteration int) {
	want := patternOf(iteration)
	for i, l := range t.links {
		for _, tr := range l.transfers[:t.validated()] {
			if tr.fills() {
				continue
			}
			for at, got := range tr.memory.lmr.Bytes() {
				if got != want {
					check(fmt.Errorf("the data is wrong: %v: byte %d at endpoint %d is %#x, want %#x", tr.operation, at, i, got, want))
				}
			}
		}
	}
}
