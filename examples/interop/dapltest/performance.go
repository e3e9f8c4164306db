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

// newPerformance makes an unconnected endpoint.
func newPerformance(s side, p performance) (_ *performanceTest, err error) {
	p.pipeline = min(p.iterations, p.pipeline, s.attr.MaxDTOPerEP, s.attr.MaxEVDQLen)
	if p.operation.kind == rdmaRead {
		p.pipeline = min(p.pipeline, s.attr.MaxRDMAReadPerEPOut)
	}
	t := &performanceTest{side: s, performance: p}
	defer func() {
		if err != nil {
			err = errors.Join(err, t.close())
		}
	}()
	if t.pz, err = udat.CreatePZ(s.ia); err != nil {
		return nil, err
	}
	attr := s.ia.DefaultEPAttr()
	attr.MaxRequestDTOs = p.pipeline
	attr.MaxRequestIOV = max(attr.MaxRequestIOV, p.operation.segments)
	length := lengths{recv: testQueue, request: p.pipeline, connection: testQueue}
	if t.link, err = newLink(s.ia, t.pz, length, attr, s.server); err != nil {
		return nil, err
	}
	if t.notes, err = newBuffers(t.pz, placeSize, performanceBuffers); err != nil {
		return nil, err
	}
	t.memory, err = newBuffers(t.pz, p.operation.size, p.operation.segments)
	return t, err
}

func (t *performanceTest) close() error {
	return free(t.sp, t.link, t.notes, t.memory, t.pz)
}

func (t *performanceTest) postNote() error { return t.link.postNote(t.notes, noteIn, placeSize) }

// sendNote sends a note and waits until it has arrived.
func (t *performanceTest) sendNote(ctx context.Context) error {
	if err := t.link.sendNote(t.notes, noteOut, placeSize); err != nil {
		return err
	}
	return t.link.takeNote(ctx, t.link.request, noteOut, placeSize)
}

// listenForPerformance makes a server's listening endpoint. It calls over when the test is over.
func listenForPerformance(s side, p performance, over func()) (runner, error) {
	t, err := newPerformance(s, p)
	if err != nil {
		return nil, err
	}
	t.over = over
	if err = t.postNote(); err == nil {
		t.sp, err = t.link.listen(s.ia, s.port, false)
	}
	if err != nil {
		return nil, errors.Join(err, t.close())
	}
	return t, nil
}

func (t *performanceTest) done() {
	t.over()
	fmt.Println("Server: Finished performance test.  Exiting.")
}

// run runs the server's side: it tells the client where the memory is, and waits until the client has finished.
func (t *performanceTest) run(ctx context.Context) error {
	return errors.Join(t.offer(ctx), t.close())
}

func (t *performanceTest) offer(ctx context.Context) error {
	linked, end := context.WithCancelCause(ctx)
	defer end(nil)
	waiting, cancel := patient(ctx)
	defer cancel()
	cr, _, err := t.link.nextRequest(waiting)
	if err != nil {
		return err
	}
	if err := t.link.accept(ctx, cr, false, end); err != nil {
		return err
	}
	triplet, err := t.memory.lmr.RMRTriplet(0, t.operation.bytes())
	if err != nil {
		return err
	}
	placeOf(triplet).put(t.notes.bytes(noteOut), t.noteOrder())
	if err := t.sendNote(linked); err != nil {
		return fmt.Errorf("telling the client where the memory is: %w", explain(linked, err))
	}
	event, err := take(linked, t.link.recv)
	if err != nil {
		return fmt.Errorf("waiting for the client to finish: %w", explain(linked, err))
	}
	if err := (completion{t.link.ep, noteCookie(noteIn), placeSize}).check(event); err != nil {
		return err
	}
	// The C client fails if its note is not confirmed.
	return testprogram.UntilPeerHears(ctx)
}

// noteOrder returns big-endian if one of the hosts is big-endian.
func (t *performanceTest) noteOrder() binary.ByteOrder {
	return orderOf(min(hostIsLittle, t.peerIsLittle))
}

// runPerformance runs the client's side.
func runPerformance(ctx context.Context, s side, p performance) error {
	t, err := newPerformance(s, p)
	if err != nil {
		return err
	}
	m, err := t.measure(ctx)
	if err := errors.Join(err, t.close()); err != nil {
		return err
	}
	m.print(t.performance)
	return nil
}

// measure connects and measures.
func (t *performanceTest) measure(ctx context.Context) (*measurement, error) {
	linked, end := context.WithCancelCause(ctx)
	defer end(nil)
	if err := t.link.connect(ctx, service{address: t.to, port: t.port}, t.trace, t.postNote, end); err != nil {
		return nil, err
	}
	if err := t.link.takeNote(linked, t.link.recv, noteIn, placeSize); err != nil {
		return nil, err
	}
	there := parsePlace(t.notes.bytes(noteIn), t.noteOrder()).triplet(t.operation.bytes())
	m, err := newMeasurement(t, there)
	if err != nil {
		return nil, err
	}
	if err := m.throughput(linked); err != nil {
		return nil, fmt.Errorf("throughput: %w", explain(linked, err))
	}
	if err := m.latencies(linked); err != nil {
		return nil, fmt.Errorf("latency: %w", explain(linked, err))
	}
	if err := lastNote(t.sendNote(ctx)); err != nil {
		return nil, fmt.Errorf("telling the server that the test is over: %w", err)
	}
	return m, nil
}
