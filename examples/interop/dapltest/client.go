package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"

	"github.com/goudat/goudat/examples/internal/adapter"
	"github.com/goudat/goudat/examples/interop/internal/testprogram"
	"github.com/goudat/goudat/udat"
)

// client is connected to a server, to tell it what to do.
type client struct {
	command
	*node
	to      netip.Addr
	pz      *udat.PZ
	control *link
	notes   *buffers
}

// side is one side of a test.
type side struct {
	*node
	server       bool
	to           netip.Addr    // the server, for a client
	port         udat.ConnQual // of the first endpoint
	peerIsLittle uint32
	trace        trace
}

// request runs the client: it tells a server what to do, and does its part.
func request(ctx context.Context, c command) (err error) {
	n, err := openNode(c.adapter, c.trace)
	if err != nil {
		return err
	}
	cl := &client{command: c, node: n}
	defer func() { err = errors.Join(err, cl.close()) }()
	if cl.to, err = adapter.Resolve(ctx, n.ia, c.host); err != nil {
		return fmt.Errorf("-s: %w", err)
	}
	fmt.Printf("Server Name: %s \nServer Net Address: %v\n", c.host, cl.to)
	if err := cl.open(); err != nil {
		return err
	}
	a, err := cl.ask(ctx)
	if err != nil {
		return fmt.Errorf("the server: %w", err)
	}
	s := side{node: n, to: cl.to, port: udat.ConnQual(a.FirstPort), peerIsLittle: a.LittleEndian, trace: c.trace}
	switch c.test {
	case testTransaction:
		err = runTransaction(ctx, s, c.transaction)
	case testPerformance:
		err = runPerformance(ctx, s, c.performance)
	case testQuit:
		fmt.Printf("Quit_Cmd.server_name: %s\nQuit_Cmd.device_name: %s\n", c.host, n.ia.Name())
		// The C server fails if its answer is not confirmed.
		err = testprogram.UntilPeerHears(ctx)
	}
	fmt.Println("DT_cs_Client: ========== End of Work -- Client Exiting")
	return err
}

func (c *client) open() (err error) {
	if c.pz, err = udat.CreatePZ(c.ia); err != nil {
		return err
	}
	if c.control, err = newLink(c.ia, c.pz, sameLengths(clientQueue), c.ia.DefaultEPAttr(), false); err != nil {
		return err
	}
	c.notes, err = newBuffers(c.pz, controlSize, controlBuffers)
	return err
}

func (c *client) close() error {
	return free(c.control, c.notes, c.pz, c.node)
}

// ask connects to the server and tells it what to do. The answer says where the test's endpoints listen.
func (c *client) ask(ctx context.Context) (a answer, err error) {
	linked, end := context.WithCancelCause(ctx)
	defer end(nil)
	post := func() error { return c.control.postNote(c.notes, answerBuffer, controlSize) }
	if err := c.control.connect(ctx, service{address: c.to, port: c.port}, c.trace, post, end); err != nil {
		return a, err
	}
	h := hello{protocolVersion, hostIsLittle, c.test, uint32(c.endpoints())}
	if err := c.tell(linked, helloBuffer, h); err != nil {
		return a, err
	}
	if err := lastNote(c.tell(ctx, commandBuffer, c.message())); err != nil {
		return a, err
	}
	// The server may have to wait for another measurement to end.
	event, err := take(linked, c.control.recv)
	if err != nil {
		return a, err
	}
	if err := (completion{c.control.ep, noteCookie(answerBuffer), controlSize}).check(event); err != nil {
		return a, err
	}
	if _, err := binary.Decode(c.notes.bytes(answerBuffer), order, &a); err != nil {
		return a, err
	}
	if a.Version != protocolVersion {
		return a, fmt.Errorf("it has version %d of the protocol, not %d", a.Version, protocolVersion)
	}
	return a, nil
}

// tell sends a note and waits until it has arrived.
func (c *client) tell(ctx context.Context, buffer int, content any) error {
	if _, err := binary.Encode(c.notes.bytes(buffer), order, content); err != nil {
		return err
	}
	if err := c.control.sendNote(c.notes, buffer, controlSize); err != nil {
		return err
	}
	return c.control.takeNote(ctx, c.control.request, buffer, controlSize)
}

// endpoints returns how many endpoints the test needs on each side.
func (c *command) endpoints() int {
	switch c.test {
	case testTransaction:
		return c.transaction.threads * c.transaction.endpoints
	case testPerformance:
		return 1
	}
	return 0
}
