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
func serve(ctx context.Context, c command) (err error) {
	s := &server{command: c, nextPort: c.port + 1, measuring: make(chan struct{}, 1)}
	defer func() {
		s.tests.Wait()
		err = errors.Join(err, s.close())
	}()
	if err := s.open(); err != nil {
		return err
	}
	for {
		// Scripts look for this line.
		fmt.Printf("Dapltest: Service Point Ready - %s\n", s.ia.Name())
		quit, err := s.serveClient(ctx)
		if ctx.Err() != nil {
			return err
		}
		s.report("client", err)
		// Let the client see that its command has arrived before the connection ends.
		if err := testprogram.UntilPeerHears(ctx); err != nil {
			return err
		}
		if quit {
			break
		}
		if err := s.again(); err != nil {
			return err
		}
	}
	s.trace.say(1, "waiting for the tests that run")
	s.tests.Wait()
	fmt.Printf("DT_cs_Server (%s):  Exiting.\n", s.ia.Name())
	if failed := s.failed.Load(); failed > 0 {
		return fmt.Errorf("%d tests or clients failed", failed)
	}
	return nil
}

// report prints the error of one client. The server continues.
func (s *server) report(what string, err error) {
	if err != nil {
		s.failed.Add(1)
		fmt.Fprintf(os.Stderr, "dapltest: %s: %v\n", what, err)
	}
}

func (s *server) open() (err error) {
	if s.node, err = openNode(s.adapter, s.trace); err != nil {
		return err
	}
	if s.pz, err = udat.CreatePZ(s.ia); err != nil {
		return err
	}
	if s.control, err = newLink(s.ia, s.pz, sameLengths(serverQueue), s.ia.DefaultEPAttr(), true); err != nil {
		return err
	}
	if s.notes, err = newBuffers(s.pz, controlSize, controlBuffers); err != nil {
		return err
	}
	if err := s.postReceives(); err != nil {
		return err
	}
	s.psp, err = s.control.listen(s.ia, s.port, false)
	return err
}

func (s *server) postReceives() error {
	if err := s.control.postNote(s.notes, helloBuffer, controlSize); err != nil {
		return err
	}
	return s.control.postNote(s.notes, commandBuffer, controlSize)
}

// again prepares the connection for the next client.
func (s *server) again() error {
	if err := s.control.disconnect(udat.CloseGraceful); err != nil {
		return err
	}
	if err := s.control.reset(); err != nil {
		return err
	}
	return s.postReceives()
}

func (s *server) close() error {
	return free(s.psp, s.control, s.notes, s.pz, s.node)
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
func (s *server) serveClient(ctx context.Context) (quit bool, err error) {
	cr, _, err := s.control.nextRequest(ctx)
	if err != nil {
		return false, err
	}
	linked, end := context.WithCancelCause(ctx)
	defer end(nil)
	if err := s.control.accept(ctx, cr, false, end); err != nil {
		return false, err
	}
	h, err := s.takeHello(linked)
	if err != nil {
		return false, err
	}
	s.trace.say(1, "a client connects for test %d with %d endpoints", h.Test, h.Endpoints)
	first := s.takePorts(int(h.Endpoints))
	test, err := s.prepare(linked, h, first)
	if err != nil {
		return false, err
	}
	if err := s.sendAnswer(ctx, first); err != nil {
		if test != nil {
			canceled, cancel := context.WithCancelCause(ctx)
			cancel(err)
			err = errors.Join(err, test.run(canceled))
			test.done()
		}
		return false, err
	}
	if test == nil {
		return true, nil
	}
	s.tests.Add(1)
	go func() {
		defer s.tests.Done()
		s.report("test", test.run(ctx))
		test.done()
	}()
	return false, nil
}

func (s *server) takeHello(ctx context.Context) (hello, error) {
	var h hello
	for _, i := range []int{helloBuffer, commandBuffer} {
		if err := s.control.takeNote(ctx, s.control.recv, i, controlSize); err != nil {
			return h, fmt.Errorf("the client's command: %w", err)
		}
	}
	if _, err := binary.Decode(s.notes.bytes(helloBuffer), order, &h); err != nil {
		return h, err
	}
	if h.Version != protocolVersion {
		return h, fmt.Errorf("the client has version %d of the protocol, not %d", h.Version, protocolVersion)
	}
	return h, nil
}

// prepare makes the test that the client requests. It returns nil if the client wants the server to quit.
func (s *server) prepare(ctx context.Context, h hello, first udat.ConnQual) (runner, error) {
	text := s.notes.bytes(commandBuffer)
	side := side{node: s.node, port: first, server: true, peerIsLittle: h.LittleEndian, trace: s.trace}
	switch h.Test {
	case testTransaction:
		t, err := parseTransaction(text)
		if err != nil {
			return nil, err
		}
		return listenForTransaction(ctx, side, t)
	case testPerformance:
		p, err := parsePerformance(text)
		if err != nil {
			return nil, err
		}
		select {
		case s.measuring <- struct{}{}:
		case <-ctx.Done():
			return nil, fmt.Errorf("waiting for the end of another measurement: %w", context.Cause(ctx))
		}
		over := func() { <-s.measuring }
		test, err := listenForPerformance(side, p, over)
		if err != nil {
			over()
			return nil, err
		}
		return test, nil
	case testQuit:
		return nil, nil
	}
	return nil, fmt.Errorf("there is no test %d for a server", h.Test)
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

func (s *server) sendAnswer(ctx context.Context, first udat.ConnQual) error {
	a := answer{protocolVersion, hostIsLittle, uint32(first)}
	if _, err := binary.Encode(s.notes.bytes(answerBuffer), order, a); err != nil {
		return err
	}
	if err := s.control.sendNote(s.notes, answerBuffer, controlSize); err != nil {
		return err
	}
	return lastNote(s.control.takeNote(ctx, s.control.request, answerBuffer, controlSize))
}
