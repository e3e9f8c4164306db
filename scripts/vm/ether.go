//go:build linux && amd64

package main

import (
	"encoding/binary"
	"io"
	"os"
	"sync"
	"sync/atomic"
)

// ether is the wire between machines: an Ethernet switch with a port for each of them.
type ether struct {
	ports []*port

	mu      sync.Mutex
	learned map[hardwareAddress]*port // where an address was seen as a sender's
}

type hardwareAddress [6]byte

// isGroup tells an address that is not one machine's.
func (a hardwareAddress) isGroup() bool { return a[0]&1 != 0 }

// port is where a machine's cable goes.
type port struct {
	cable atomic.Pointer[cable] // nil: no machine, or one that is gone
	cut   atomic.Bool
}

// cable leads to one machine. qemu writes each frame after its length.
type cable struct {
	conn   *os.File
	out    chan []byte   // frames for the machine, with their lengths
	pulled chan struct{} // closed when the machine is gone
}

const (
	// queueLength is for as many frames as wait for a machine that is busy. Those that find no room are lost, as in any
	// switch: a machine that is paused must not hold up the others.
	queueLength = 4096
	// maxFrame is what qemu may send at once.
	maxFrame      = 68 << 10
	frameHeader   = 4  // the length
	leastEthernet = 14 // a frame's destination, source and type
)

func newEther(machines int) *ether {
	e := &ether{learned: map[hardwareAddress]*port{}}
	for range machines {
		e.ports = append(e.ports, &port{})
	}
	return e
}

// plug gives a machine a cable of its own, in place of the one that it may have had, and returns the end for qemu.
func (e *ether) plug(rank int) (end *os.File, err error) {
	ours, theirs, err := socketPair("wire")
	if err != nil {
		return nil, err
	}
	c := &cable{conn: ours, out: make(chan []byte, queueLength), pulled: make(chan struct{})}
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

// read takes what a machine sends, until it is gone.
func (e *ether) read(p *port, c *cable) {
	for {
		var header [frameHeader]byte
		if _, err := io.ReadFull(c.conn, header[:]); err != nil {
			return
		}
		size := binary.BigEndian.Uint32(header[:])
		if size < leastEthernet || size > maxFrame {
			return
		}
		frame := make([]byte, frameHeader+size)
		copy(frame, header[:])
		if _, err := io.ReadFull(c.conn, frame[frameHeader:]); err != nil {
			return
		}
		if !p.cut.Load() {
			e.forward(p, frame)
		}
	}
}

// forward gives a frame to the port of its destination, or to all others.
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

// write hands a machine its frames, until it is gone.
func (c *cable) write() {
	for {
		select {
		case frame := <-c.out:
			if _, err := c.conn.Write(frame); err != nil {
				return
			}
		case <-c.pulled:
			return
		}
	}
}

func (e *ether) setCut(rank int, cut bool) { e.ports[rank].cut.Store(cut) }
