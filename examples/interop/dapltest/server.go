package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"

	"github.com/goudat/goudat/examples/interop/internal/testprogram"
	"github.com/goudat/goudat/udat"
)

// ports is how many qualifiers after its own a server uses for tests, in turn.
const ports = 1000

// The buffers of the connection between client and server.
const (
	helloBuffer = iota
	commandBuffer
	answerBuffer
	controlBuffers
)

// server answers clients one after the other, and runs their tests at the same time.
type server struct {
	command
	*node
	pz      *udat.PZ
	control *link
	psp     object
	notes   *buffers

	nextPort udat.ConnQual
	tests    sync.WaitGroup
	failed   atomic.Int32
	// measuring has an element while a performance test runs. Only one can run at a time.
	measuring chan struct{}
}

// serve runs the server until a client tells it to quit.
func serve(ctx context.Context, c command) {
	s := &server{command: c, nextPort: c.port + 1, measuring: make(chan struct{}, 1)}
	err := testprogram.Attempt(func() { s.run(ctx) })
	s.tests.Wait()
	check(errors.Join(err, free(s.psp, s.control, s.notes, s.pz, s.node)))
}

func (s *server) run(ctx context.Context) {
	s.node = must(openNode(s.adapter, s.trace))
	s.pz = must(udat.CreatePZ(s.ia))
	s.control = must(newLink(s.ia, s.pz, sameLengths(serverQueue), s.ia.DefaultEPAttr(), true))
	s.notes = must(newBuffers(s.pz, controlSize, controlBuffers))
	s.postReceives()
	s.psp = must(s.control.listen(s.ia, s.port, false))
	for quit := false; !quit; {
		// Scripts look for this line.
		fmt.Printf("Dapltest: Service Point Ready - %s\n", s.ia.Name())
		err := testprogram.Attempt(func() { quit = s.serveClient(ctx) })
		check(ctx.Err())
		s.report("client", err)
		// Let the client see that its command has arrived before the connection ends.
		check(testprogram.UntilPeerHears(ctx))
		if !quit { // prepare the connection for the next client
			check(s.control.disconnect(udat.CloseGraceful))
			s.control.reset()
			s.postReceives()
		}
	}
	s.trace.say(1, "waiting for the tests that run")
	s.tests.Wait()
	fmt.Printf("DT_cs_Server (%s):  Exiting.\n", s.ia.Name())
	if failed := s.failed.Load(); failed > 0 {
		check(fmt.Errorf("%d tests or clients failed", failed))
	}
}

// report prints the error of one client. The server continues.
func (s *server) report(what string, err error) {
	if err != nil {
		s.failed.Add(1)
		fmt.Fprintf(os.Stderr, "dapltest: %s: %v\n", what, err)
	}
}

func (s *server) postReceives() {
	s.control.postNote(s.notes, helloBuffer, controlSize)
	s.control.postNote(s.notes, commandBuffer, controlSize)
}

// runner is the server's side of a test. Its endpoints already listen.
type runner interface {
	// run runs the test, and frees everything.
	run(ctx context.Context) error
	// done reports that the test is over.
	done()
}

// serveClient receives the command of one client, and starts its test. The test's endpoints listen before the client
// has the answer.
func (s *server) serveClient(ctx context.Context) (quit bool) {
	cr, _ := s.control.nextRequest(ctx)
	linked, end := context.WithCancelCause(ctx)
	defer end(nil)
	s.control.accept(ctx, cr, false, end)
	h := s.takeHello(linked)
	s.trace.say(1, "a client connects for test %d with %d endpoints", h.Test, h.Endpoints)
	first := s.takePorts(int(h.Endpoints))
	test := s.prepare(linked, h, first)
	err := testprogram.Attempt(func() { s.sendAnswer(ctx, first) })
	if test == nil {
		check(err)
		return true
	}
	s.tests.Add(1)
	go func() {
		defer s.tests.Done()
		running, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		if err != nil {
			cancel(err) // the client does not know of the test
		}
		s.report("test", test.run(running))
		test.done()
	}()
	return false
}

func (s *server) takeHello(ctx context.Context) (h hello) {
	for _, i := range []int{helloBuffer, commandBuffer} {
		if err := testprogram.Attempt(func() { s.control.takeNote(ctx, s.control.recv, i, controlSize) }); err != nil {
			check(fmt.Errorf("the client's command: %w", err))
		}
	}
	must(binary.Decode(s.notes.bytes(helloBuffer), order, &h))
	if h.Version != protocolVersion {
		check(fmt.Errorf("the client has version %d of the protocol, not %d", h.Version, protocolVersion))
	}
	return h
}

// prepare makes the test that the client requests. It returns nil if the client wants the server to quit.
func (s *server) prepare(ctx context.Context, h hello, first udat.ConnQual) runner {
	text := s.notes.bytes(commandBuffer)
	side := side{node: s.node, port: first, server: true, peerIsLittle: h.LittleEndian, trace: s.trace}
	switch h.Test {
	case testTransaction:
		t := must(parseTransaction(text))
		return &transactionTest{must(newThreads(ctx, side, t))}
	case testPerformance:
		p := must(parsePerformance(text))
		select {
		case s.measuring <- struct{}{}:
		case <-ctx.Done():
			check(fmt.Errorf("waiting for the end of another measurement: %w", context.Cause(ctx)))
		}
		over := func() { <-s.measuring }
		test, err := newPerformance(side, p, over)
		if err != nil {
			over()
		}
		return must(test, err)
	case testQuit:
		return nil
	}
	check(fmt.Errorf("there is no test %d for a server", h.Test))
	return nil
}

// takePorts returns the first of count unused qualifiers.
func (s *server) takePorts(count int) udat.ConnQual {
	if s.nextPort >= s.port+ports {
		s.nextPort = s.port + 1
	}
	first := s.nextPort
	s.nextPort += udat.ConnQual(count)
	return first
}

func (s *server) sendAnswer(ctx context.Context, first udat.ConnQual) {
	must(binary.Encode(s.notes.bytes(answerBuffer), order, answer{protocolVersion, hostIsLittle, uint32(first)}))
	s.control.sendNote(s.notes, answerBuffer, controlSize)
	lastNote(func() { s.control.takeNote(ctx, s.control.request, answerBuffer, controlSize) })
}
