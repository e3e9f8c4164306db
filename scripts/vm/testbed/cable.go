//go:build linux && amd64

package main

import (
	"encoding/binary"
	"errors"
	"io"
	"os"
	"syscall"
)

// framing is how the frames of a machine are separated.
type framing int

const (
	stream  framing = iota // qemu: each frame after its length
	packets                // User-Mode Linux: one packet of the socket for each frame
)

// cable connects one machine.
type cable struct {
	conn    *os.File
	framing framing
	out     chan []byte   // frames for the machine, after room for their lengths
	pulled  chan struct{} // closed when the machine is gone
	packet  []byte        // buffer for the next frame
}

func newCable(conn *os.File, framing framing) *cable {
	c := &cable{conn: conn, framing: framing, out: make(chan []byte, queueLength), pulled: make(chan struct{})}
	if framing == packets {
		c.packet = make([]byte, maxFrame)
	}
	return c
}

const (
	// queueLength is how many frames can wait for a busy machine. Further ones are lost, as in any switch: a paused
	// machine must not hold up the others.
	queueLength = 4096
	// maxFrame is the largest frame that a machine may send.
	maxFrame      = 68 << 10
	frameHeader   = 4  // the length
	leastEthernet = 14 // a frame's destination, source and type
)

var errFrameSize = errors.New("the frame is too short or too long")

// connect makes the two ends of a cable.
func (f framing) connect() (ours, theirs *os.File, err error) {
	if f == stream {
		return socketPair("wire")
	}
	ours, theirs, err = connectedSockets("wire", syscall.SOCK_SEQPACKET)
	if err != nil {
		return nil, nil, err
	}
	// A socket holds few packets of this size: as many as the host allows.
	const room = 8 << 20
	for _, end := range []*os.File{ours, theirs} {
		conn, err := end.SyscallConn()
		if err != nil {
			return nil, nil, err
		}
		if err := conn.Control(func(fd uintptr) {
			syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_SNDBUF, room)
		}); err != nil {
			return nil, nil, err
		}
	}
	return ours, theirs, nil
}

// read returns the next frame, after room for its length. The machine may have filled in the length.
func (c *cable) read() ([]byte, error) {
	if c.framing == packets {
		n, err := c.conn.Read(c.packet)
		if err != nil {
			return nil, err
		}
		if n < leastEthernet {
			return nil, errFrameSize
		}
		return append(make([]byte, frameHeader, frameHeader+n), c.packet[:n]...), nil
	}
	var header [frameHeader]byte
	if _, err := io.ReadFull(c.conn, header[:]); err != nil {
		return nil, err
	}
	size := binary.BigEndian.Uint32(header[:])
	if size < leastEthernet || size > maxFrame {
		return nil, errFrameSize
	}
	frame := make([]byte, frameHeader+size)
	copy(frame, header[:])
	_, err := io.ReadFull(c.conn, frame[frameHeader:])
	return frame, err
}

// write sends a machine its frames, until it is gone.
func (c *cable) write() {
	for {
		select {
		case frame := <-c.out:
			if c.framing == packets {
				frame = frame[frameHeader:]
			}
			if _, err := c.conn.Write(frame); err != nil {
				return
			}
		case <-c.pulled:
			return
		}
	}
}
