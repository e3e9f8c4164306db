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

// port is a machine's end of the wire. qemu writes each frame after its length.
type port struct {
	conn *os.File
	out  chan []byte // frames for the machine, with their lengths
	cut  atomic.Bool
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

// newEther makes the wire, and the other ends for qemu.
func newEther(machines int) (e *ether, ends []*os.File, err error) {
	e = &ether{learned: map[hardwareAddress]*port{}}
	for range machines {
		ours, theirs, err := socketPair("wire")
		if err != nil {
			return nil, nil, err
		}
		p := &port{conn: ours, out: make(chan []byte, queueLength)}
		e.ports, ends = append(e.ports, p), append(ends, theirs)
		go e.read(p)
		go p.write()
	}
	return e, ends, nil
}

// read takes what a machine sends, until it is gone.
func (e *ether) read(p *port) {
	for {
		var header [frameHeader]byte
		if _, err := io.ReadFull(p.conn, header[:]); err != nil {
			return
		}
		size := binary.BigEndian.Uint32(header[:])
		if size < leastEthernet || size > maxFrame {
			return
		}
		frame := make([]byte, frameHeader+size)
		copy(frame, header[:])
		if _, err := io.ReadFull(p.conn, frame[frameHeader:]); err != nil {
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
		select {
		case p.out <- frame:
		default:
		}
	}
}

// write hands a machine its frames, until it is gone.
func (p *port) write() {
	for frame := range p.out {
		if _, err := p.conn.Write(frame); err != nil {
			break
		}
	}
	for range p.out {
	}
}

func (e *ether) setCut(rank int, cut bool) { e.ports[rank].cut.Store(cut) }
