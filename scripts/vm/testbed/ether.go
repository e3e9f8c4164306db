package main

import (
	"os"
	"slices"
	"sync"
	"syscall"

	"github.com/goudat/goudat/scripts/vm/wire"
)

const (
	// queueLength is how many frames can wait for a busy machine. Further ones are lost, as in any switch: a paused
	// machine must not hold up the others.
	queueLength = 4096
	// maxFrame is the largest frame that a machine may send.
	maxFrame      = 68 << 10
	leastEthernet = 14 // a frame's destination, source and type
)

// ether is the network between machines: an Ethernet switch with a port for each. It works in this process since User-Mode
// Linux has no switch, qemu's cannot cut links, and the host's need root.
type ether struct {
	addresses [][6]byte // of the machines, by rank
	mu        sync.Mutex
	ports     []port
}

// port is the switch's end of a machine's cable, a pair of sockets of which each message is a frame.
type port struct {
	conn *os.File    // nil: no machine yet
	out  chan []byte // frames for the machine
	cut  bool
}

func newEther(machines int) *ether {
	e := &ether{ports: make([]port, machines)}
	for rank := range machines {
		e.addresses = append(e.addresses, wire.HardwareAddress(rank))
	}
	return e
}

// plug connects a machine with a new cable, which replaces an earlier one, and returns the machine's end.
func (e *ether) plug(rank int) (end *os.File, err error) {
	ours, theirs, err := socketPair("wire", syscall.SOCK_DGRAM)
	if err != nil {
		return nil, err
	}
	// A socket holds few frames of this size: as many as the host allows.
	for _, end := range []*os.File{ours, theirs} {
		conn, err := end.SyscallConn()
		if err != nil {
			return nil, err
		}
		conn.Control(func(fd uintptr) { syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_SNDBUF, 8<<20) })
	}
	out := make(chan []byte, queueLength)
	e.mu.Lock()
	defer e.mu.Unlock()
	p := &e.ports[rank]
	if p.conn != nil {
		close(p.out)
		p.conn.Close()
	}
	p.conn, p.out = ours, out
	go e.read(rank, ours)
	go func() {
		for frame := range out {
			if _, err := ours.Write(frame); err != nil {
				return // the machine is gone
			}
		}
	}()
	return theirs, nil
}

// read forwards what a machine sends, until it is gone.
func (e *ether) read(rank int, conn *os.File) {
	buffer := make([]byte, maxFrame)
	for {
		n, err := conn.Read(buffer)
		if err != nil {
			return
		}
		if n >= leastEthernet {
			e.forward(rank, slices.Clone(buffer[:n]))
		}
	}
}

// forward sends a frame to the machine that has its destination, or else to all others.
func (e *ether) forward(from int, frame []byte) {
	to := slices.Index(e.addresses, [6]byte(frame))
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.ports[from].cut {
		return
	}
	for rank, p := range e.ports {
		if rank == from || to >= 0 && rank != to || p.cut {
			continue
		}
		select {
		case p.out <- frame:
		default: // too many wait, or there is no machine yet
		}
	}
}

func (e *ether) setCut(rank int, cut bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.ports[rank].cut = cut
}
