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
func request(ctx context.Context, command command) {
	c := &client{command: command, node: must(openNode(command.adapter, command.trace))}
	err := testprogram.Attempt(func() { c.run(ctx) })
	check(errors.Join(err, free(c.control, c.notes, c.pz, c.node)))
}

func (c *client) run(ctx context.Context) {
	var err error
	if c.to, err = adapter.Resolve(ctx, c.ia, c.host); err != nil {
		check(fmt.Errorf("-s: %w", err))
	}
	fmt.Printf("Server Name: %s \nServer Net Address: %v\n", c.host, c.to)
	c.pz = must(udat.CreatePZ(c.ia))
	c.control = must(newLink(c.ia, c.pz, sameLengths(clientQueue), c.ia.DefaultEPAttr(), false))
	c.notes = must(newBuffers(c.pz, controlSize, controlBuffers))
	var a answer
	if err := testprogram.Attempt(func() { a = c.ask(ctx) }); err != nil {
		check(fmt.Errorf("the server: %w", err))
	}
	s := side{node: c.node, to: c.to, port: udat.ConnQual(a.FirstPort), peerIsLittle: a.LittleEndian, trace: c.trace}
	switch c.test {
	case testTransaction:
		runTransaction(ctx, s, c.transaction)
	case testPerformance:
		runPerformance(ctx, s, c.performance)
	case testQuit:
		fmt.Printf("Quit_Cmd.server_name: %s\nQuit_Cmd.device_name: %s\n", c.host, c.ia.Name())
		// The C server fails if its answer is not confirmed.
		check(testprogram.UntilPeerHears(ctx))
	}
	fmt.Println("DT_cs_Client: ========== End of Work -- Client Exiting")
}

// ask connects to the server and tells it what to do. The answer says where the test's endpoints listen.
func (c *client) ask(ctx context.Context) (a answer) {
	linked, end := context.WithCancelCause(ctx)
	defer end(nil)
	post := func() { c.control.postNote(c.notes, answerBuffer, controlSize) }
	c.control.connect(ctx, service{address: c.to, port: c.port}, c.trace, post, end)
	c.tell(linked, helloBuffer, hello{protocolVersion, hostIsLittle, c.test, uint32(c.endpoints())})
	lastNote(func() { c.tell(ctx, commandBuffer, c.message()) })
	// The server may have to wait for another measurement to end.
	completion{c.control.ep, noteCookie(answerBuffer), controlSize}.check(must(take(linked, c.control.recv)))
	must(binary.Decode(c.notes.bytes(answerBuffer), order, &a))
	if a.Version != protocolVersion {
		check(fmt.Errorf("it has version %d of the protocol, not %d", a.Version, protocolVersion))
	}
	return a
}

// tell sends a note and waits until it has arrived.
func (c *client) tell(ctx context.Context, buffer int, content any) {
	must(binary.Encode(c.notes.bytes(buffer), order, content))
	c.control.sendNote(c.notes, buffer, controlSize)
	c.control.takeNote(ctx, c.control.request, buffer, controlSize)
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
