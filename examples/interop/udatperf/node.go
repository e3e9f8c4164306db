package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"time"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/mem"
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

	// Of the order:
	from, into  [1]udat.Segment
	receives    [burst]udat.Post // all with the same segment
	remote      udat.RMRTriplet  // what the peer's last byte is in
	last        mem.PeerByte     // counts the peer's writes
	left, used  int              // receives to post still, and to post again
	outstanding int              // sends and writes
	tail        tail

	ctx context.Context
}

func openNode(adapter string, qual udat.ConnQual) (n *node, err error) {
	n = &node{qual: qual, events: make([]udat.Event, burst), ctx: context.Background()}
	if n.ia, err = udat.Open(adapter); err != nil {
		return nil, err
	}
	if n.pz, err = udat.CreatePZ(n.ia); err != nil {
		return nil, err
	}
	if n.requestsDone, err = udat.CreateEVD(n.ia, mostRequests+few, nil, udat.EVDDTO); err != nil {
		return nil, err
	}
	if n.receivesDone, err = udat.CreateEVD(n.ia, mostReceives+few, nil, udat.EVDDTO); err != nil {
		return nil, err
	}
	if n.connections, err = udat.CreateEVD(n.ia, 256, nil, udat.EVDConnection); err != nil {
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

func (n *node) createEndpoint(requests, receives int) (*udat.EP, error) {
	return udat.CreateEP(n.ia, n.pz, n.receivesDone, n.requestsDone, n.connections,
		&udat.EPAttr{MaxRequestDTOs: requests, MaxRecvDTOs: receives})
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

// connect connects an endpoint, and returns what the peer says.
func (n *node) connect(ep *udat.EP, note []byte) ([]byte, error) {
	if !n.server {
		return ep.ConnectAndWait(n.ctx, n.address, n.qual, note)
	}
	event, err := n.arrivals.Wait(n.ctx)
	if err != nil {
		return nil, err
	}
	param, err := event.CR().Query()
	if err != nil {
		return nil, err
	}
	return param.PrivateData, event.CR().AcceptAndWait(n.ctx, ep, note)
}

// meet makes the connection. Private data may be padded.
func (n *node) meet() error {
	place, err := n.connect(n.ep, n.mine)
	if err != nil {
		return err
	}
	return n.peer.UnmarshalBinary(place[:min(len(place), udat.RMRTripletSize)])
}

// connectOnce makes a connection on an endpoint of its own, and ends it. The client tells the server whether it is the
// last one.
func (n *node) connectOnce(last bool) (bool, error) {
	ep, err := n.createEndpoint(few, few)
	if err != nil {
		return last, err
	}
	note, err := n.connect(ep, []byte{map[bool]byte{true: 1}[last]})
	if err != nil {
		return last, err
	}
	if n.server {
		last = note[0] != 0
	}
	return last, n.part(ep)
}

// part ends a connection on the client. The server sees connections end in any order.
func (n *node) part(ep *udat.EP) error {
	if !n.server {
		if err := ep.Disconnect(udat.CloseGraceful); err != nil {
			return err
		}
	}
	event, err := n.connections.Expect(n.ctx, udat.EventConnectionDisconnected)
	if err != nil {
		return err
	}
	return event.EP().Free()
}

func (n *node) connects(count int) (float64, error) {
	begin := time.Now()
	for range count {
		if _, err := n.connectOnce(false); err != nil {
			return 0, err
		}
	}
	return float64(time.Since(begin)) / float64(count), nil
}

func (n *node) statuses(count int) (float64, error) {
	begin := time.Now()
	for range count {
		status, err := n.ep.GetStatus()
		if err != nil {
			return 0, err
		}
		if status.State != udat.EPStateConnected {
			return 0, fmt.Errorf("the endpoint's state is %v", status.State)
		}
	}
	return float64(time.Since(begin)) / float64(count), nil
}

// close ends the connection on the client, and waits for its end on the server.
func (n *node) close() error {
	errs := []error{n.part(n.ep), n.memory.Free()}
	if n.server {
		errs = append(errs, n.psp.Free(), n.arrivals.Free())
	}
	errs = append(errs, n.requestsDone.Free(), n.receivesDone.Free(), n.connections.Free(), n.pz.Free(), n.ia.Close(udat.CloseGraceful))
	return errors.Join(errs...)
}
