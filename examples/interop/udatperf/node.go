package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"

	"github.com/goudat/goudat/udat"
)

const (
	mostRequests = 64      // outstanding
	mostReceives = 1024    // enough for a peer that is not scheduled for a while
	mostBytes    = 1 << 20 // of a message
	burst        = 32      // receives to post, and completions to take, in one call
	few          = 8       // operations of an endpoint that only connects
)

// node is an adapter with what is made on it, and a connection.
type node struct {
	ia *udat.IA
	pz *udat.PZ
	ep *udat.EP

	requestsDone, receivesDone, connections, arrivals *udat.EVD

	psp     *udat.PSP
	qual    udat.ConnQual
	address netip.Addr // the server's
	server  bool

	memory *udat.LMR // mostBytes to send from, and mostBytes to receive into
	mine   []byte    // what the peer needs to reach it
	peer   udat.RMRTriplet
	events []udat.Event

	crowd []*udat.EP // idle connections
	far   *udat.EP   // connected to the machine that is cut off
	tail  tail       // of the times that were measured last

	receives [burst]udat.Post // all with the same segment
	iov      [1]udat.Segment
	ctx      context.Context
}

func openNode(adapter string, qual udat.ConnQual) (n *node, err error) {
	n = &node{qual: qual, events: make([]udat.Event, burst), ctx: context.Background()}
	if n.ia, err = udat.Open(adapter); err != nil {
		return nil, err
	}
	if n.pz, err = udat.CreatePZ(n.ia); err != nil {
		return nil, err
	}
	if err := n.createEVDs(); err != nil {
		return nil, err
	}
	if n.memory, err = udat.AllocMemory(n.pz, 2*mostBytes, udat.MemPrivAll); err != nil {
		return nil, err
	}
	mine, err := n.memory.RMRTriplet(0, 2*mostBytes)
	if err != nil {
		return nil, err
	}
	if n.mine, err = mine.AppendBinary(nil); err != nil {
		return nil, err
	}
	n.ep, err = n.createEndpoint(mostRequests, mostReceives)
	return n, err
}

// createEVDs makes the event dispatchers of endpoints.
func (n *node) createEVDs() (err error) {
	if n.requestsDone, err = udat.CreateEVD(n.ia, mostRequests+few, nil, udat.EVDDTO); err != nil {
		return err
	}
	if n.receivesDone, err = udat.CreateEVD(n.ia, mostReceives+few, nil, udat.EVDDTO); err != nil {
		return err
	}
	n.connections, err = udat.CreateEVD(n.ia, 256, nil, udat.EVDConnection)
	return err
}

func (n *node) freeEVDs() error {
	return errors.Join(n.requestsDone.Free(), n.receivesDone.Free(), n.connections.Free())
}

func (n *node) createEndpoint(requests, receives int) (*udat.EP, error) {
	return udat.CreateEP(n.ia, n.pz, n.receivesDone, n.requestsDone, n.connections,
		&udat.EPAttr{MaxRequestDTOs: requests, MaxRecvDTOs: receives})
}

// serve listens, and accepts the one client.
func (n *node) serve(out io.Writer) error {
	if err := n.listen(out); err != nil {
		return err
	}
	return n.accept()
}

func (n *node) accept() error {
	request, err := n.arrival()
	if err != nil {
		return err
	}
	param, err := request.Query()
	if err != nil {
		return err
	}
	if err := request.AcceptAndWait(n.ctx, n.ep, n.mine); err != nil {
		return err
	}
	return n.readPeer(param.PrivateData)
}

func (n *node) listen(out io.Writer) (err error) {
	n.server = true
	if n.arrivals, err = udat.CreateEVD(n.ia, 256, nil, udat.EVDCR); err != nil {
		return err
	}
	if n.psp, err = udat.CreatePSP(n.ia, n.qual, n.arrivals); err != nil {
		return err
	}
	attr, _, err := n.ia.Query()
	if err != nil {
		return err
	}
	fmt.Fprintln(out, "listening", attr.Address)
	return nil
}

func (n *node) dial() error {
	answer, err := n.ep.ConnectAndWait(n.ctx, n.address, n.qual, n.mine)
	if err != nil {
		return err
	}
	return n.readPeer(answer)
}

// readPeer reads private data, which may be padded.
func (n *node) readPeer(place []byte) error {
	return n.peer.UnmarshalBinary(place[:min(len(place), udat.RMRTripletSize)])
}

func (n *node) arrival() (*udat.CR, error) {
	event, err := n.arrivals.Wait(n.ctx)
	if err != nil {
		return nil, err
	}
	return event.CR(), nil
}

// close ends the connections on the client, and waits for their ends on the server.
func (n *node) close() error {
	n.crowd = append(n.crowd, n.ep)
	errs := []error{n.gather(0), n.memory.Free()}
	if n.server {
		errs = append(errs, n.psp.Free(), n.arrivals.Free())
	}
	errs = append(errs, n.freeEVDs(), n.pz.Free(), n.ia.Close(udat.CloseGraceful))
	return errors.Join(errs...)
}
