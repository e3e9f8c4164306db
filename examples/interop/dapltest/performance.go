package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/goudat/goudat/examples/interop/internal/testprogram"
	"github.com/goudat/goudat/udat"
)

// performance is a test in which the client times RDMA operations.
type performance struct {
	iterations int
	pipeline   int // most outstanding operations
	poll       bool
	operation  operation
}

func (p *performance) finish(operands []string) (err error) {
	if len(operands) == 0 {
		return errors.New("the operation is missing: RR or RW")
	}
	if p.operation.kind, err = parseKind(operands[0]); err != nil {
		return err
	}
	rest, err := p.operation.parseShape(operands[1:])
	if err == nil && len(rest) > 0 {
		err = fmt.Errorf("unexpected argument %q", rest[0])
	}
	if err != nil {
		return err
	}
	return p.check()
}

// check checks tests from the command line and from clients.
func (p *performance) check() error {
	if p.operation.kind == sendReceive {
		return errors.New("the operation must be RR or RW")
	}
	if p.iterations < 1 || p.pipeline < 1 {
		return fmt.Errorf("%d iterations of which %d are outstanding: out of range", p.iterations, p.pipeline)
	}
	return p.operation.check()
}

// The buffers of the notes of a performance test. The server's first note says where its memory is; the client's note
// says that it has finished.
const (
	noteOut = iota
	noteIn
	performanceBuffers
)

// performanceTest is one side of a performance test.
type performanceTest struct {
	side
	performance
	pz     *udat.PZ
	link   *link
	sp     object // of a server
	notes  *buffers
	memory *buffers
	over   func() // of a server
}

// newPerformance makes an unconnected endpoint, which listens on a server's side. There it calls over when the test is over.
func newPerformance(s side, p performance, over func()) (*performanceTest, error) {
	p.pipeline = min(p.iterations, p.pipeline, s.attr.MaxDTOPerEP, s.attr.MaxEVDQLen)
	if p.operation.kind == rdmaRead {
		p.pipeline = min(p.pipeline, s.attr.MaxRDMAReadPerEPOut)
	}
	t := &performanceTest{side: s, performance: p, over: over}
	err := testprogram.Attempt(func() {
		t.pz = must(udat.CreatePZ(s.ia))
		attr := s.ia.DefaultEPAttr()
		attr.MaxRequestDTOs = p.pipeline
		attr.MaxRequestIOV = max(attr.MaxRequestIOV, p.operation.segments)
		t.link = must(newLink(s.ia, t.pz, lengths{recv: testQueue, request: p.pipeline, connection: testQueue}, attr, s.server))
		t.notes = must(newBuffers(t.pz, placeSize, performanceBuffers))
		t.memory = must(newBuffers(t.pz, p.operation.size, p.operation.segments))
		if s.server {
			t.postNote()
			t.sp = must(t.link.listen(s.ia, s.port, false))
		}
	})
	if err != nil {
		return nil, errors.Join(err, t.close())
	}
	return t, nil
}

func (t *performanceTest) close() error {
	return free(t.sp, t.link, t.notes, t.memory, t.pz)
}

func (t *performanceTest) postNote() { t.link.postNote(t.notes, noteIn, placeSize) }

// sendNote sends a note and waits until it has arrived.
func (t *performanceTest) sendNote(ctx context.Context) {
	t.link.sendNote(t.notes, noteOut, placeSize)
	t.link.takeNote(ctx, t.link.request, noteOut, placeSize)
}

func (t *performanceTest) done() {
	t.over()
	fmt.Println("Server: Finished performance test.  Exiting.")
}

// run runs the server's side: it tells the client where the memory is, and waits until the client has finished.
func (t *performanceTest) run(ctx context.Context) error {
	err := testprogram.Attempt(func() { t.offer(ctx) })
	return errors.Join(err, t.close())
}

func (t *performanceTest) offer(ctx context.Context) {
	linked, end := context.WithCancelCause(ctx)
	defer end(nil)
	waiting, cancel := patient(ctx)
	defer cancel()
	cr, _ := t.link.nextRequest(waiting)
	t.link.accept(ctx, cr, false, end)
	placeOf(must(t.memory.lmr.RMRTriplet(0, t.operation.bytes()))).put(t.notes.bytes(noteOut), t.noteOrder())
	if err := within(linked, func() { t.sendNote(linked) }); err != nil {
		check(fmt.Errorf("telling the client where the memory is: %w", err))
	}
	if err := within(linked, func() {
		completion{t.link.ep, noteCookie(noteIn), placeSize}.check(must(take(linked, t.link.recv)))
	}); err != nil {
		check(fmt.Errorf("waiting for the client to finish: %w", err))
	}
	// The C client fails if its note is not confirmed.
	check(testprogram.UntilPeerHears(ctx))
}

// noteOrder returns big-endian if one of the hosts is big-endian.
func (t *performanceTest) noteOrder() binary.ByteOrder {
	return orderOf(min(hostIsLittle, t.peerIsLittle))
}

// runPerformance runs the client's side.
func runPerformance(ctx context.Context, s side, p performance) {
	t := must(newPerformance(s, p, nil))
	var m *measurement
	err := testprogram.Attempt(func() { m = t.measure(ctx) })
	check(errors.Join(err, t.close()))
	m.print(t.performance)
}

// measure connects and measures.
func (t *performanceTest) measure(ctx context.Context) *measurement {
	linked, end := context.WithCancelCause(ctx)
	defer end(nil)
	t.link.connect(ctx, service{address: t.to, port: t.port}, t.trace, t.postNote, end)
	t.link.takeNote(linked, t.link.recv, noteIn, placeSize)
	m := &measurement{
		t: t, iov: must(t.memory.segments(t.operation.segments)), events: make([]udat.Event, 1),
		remote: parsePlace(t.notes.bytes(noteIn), t.noteOrder()).triplet(t.operation.bytes()),
	}
	if err := within(linked, func() { m.throughput(linked) }); err != nil {
		check(fmt.Errorf("throughput: %w", err))
	}
	if err := within(linked, func() { m.latencies(linked) }); err != nil {
		check(fmt.Errorf("latency: %w", err))
	}
	lastNote(func() { t.sendNote(ctx) })
	return m
}
