//go:build linux && amd64

package main

import (
	"os"
	"sync"
	"sync/atomic"
)

// ether is the network between machines: an Ethernet switch with a port for each.
type ether struct {
	ports   []*port
	framing framing

	mu      sync.Mutex
	learned map[hardwareAddress]*port // the port from which an address last sent
}

type hardwareAddress [6]byte

// isGroup reports whether an address is a group address.
func (a hardwareAddress) isGroup() bool { return a[0]&1 != 0 }

// port is the switch's end of a machine's cable.
type port struct {
	cable atomic.Pointer[cable] // nil: no machine, or it is gone
	cut   atomic.Bool
}

func newEther(machines int, framing framing) *ether {
	e := &ether{framing: framing, learned: map[hardwareAddress]*port{}}
	for range machines {
		e.ports = append(e.ports, &port{})
	}
	return e
}

// plug connects a machine with a new cable, which replaces an earlier one, and returns the machine's end.
func (e *ether) plug(rank int) (end *os.File, err error) {
	ours, theirs, err := e.framing.connect()
	if err != nil {
		return nil, err
	}
	c := newCable(ours, e.framing)
	p := e.ports[rank]
	if old := p.cable.Swap(c); old != nil {
		old.conn.Close()
	}
	go func() {
		e.read(p, c)
		p.cable.CompareAndSwap(c, nil)
		close(c.pulled)
		ours.Close()
	}()
	go c.write()
	return theirs, nil
}

// read forwards what a machine sends, until it is gone.
func (e *ether) read(p *port, c *cable) {
	for {
		frame, err := c.read()
		if err != nil {
			return
		}
		if !p.cut.Load() {
			e.forward(p, frame)
		}
	}
}

// forward sends a frame to the port of its destination, or to all other ports.
func (e *ether) forward(from *port, frame []byte) {
	destination := hardwareAddress(frame[frameHeader:])
	source := hardwareAddress(frame[frameHeader+len(destination):])
	e.mu.Lock()
	if !source.isGroup() {
		e.learned[source] = from
	}
	to := e.learned[destination]
	e.mu.Unlock()
	for _, p := range e.ports {
		if p == from || to != nil && p != to || p.cut.Load() {
			continue
		}
		c := p.cable.Load()
		if c == nil {
			continue
		}
		select {
		case c.out <- frame:
		default:
		}
	}
}

func (e *ether) setCut(rank int, cut bool) { e.ports[rank].cut.Store(cut) }
