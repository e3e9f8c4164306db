package main

import (
	"fmt"
	"iter"

	"github.com/goudat/goudat/examples/internal/adapter"
)

// message is one message of the conversation. Both sides know its content.
type message struct {
	number uint64
	size   int
	from   byte
}

// The origins of messages and of RDMA data.
const (
	fromClient byte = iota
	fromServer
	written
	readBack
)

func (m message) byteAt(i int) byte {
	return byte(m.number*31+uint64(i)*7+uint64(i>>8)*3) ^ m.from<<6
}

func (m message) write(b []byte) {
	for i := range b {
		b[i] = m.byteAt(i)
	}
}

func (m message) check(b []byte) error {
	if len(b) != m.size {
		return fmt.Errorf("message %d has %d bytes, expected %d", m.number, len(b), m.size)
	}
	for i := range b {
		if b[i] != m.byteAt(i) {
			return fmt.Errorf("message %d of %d bytes differs at byte %d: 0x%02x, expected 0x%02x", m.number, m.size, i, b[i], m.byteAt(i))
		}
	}
	return nil
}

// roundTrips returns the client's messages in order.
func (s settings) roundTrips() iter.Seq[message] {
	return func(yield func(message) bool) {
		for i := range len(s.sizes) * s.count {
			if !yield(message{number: uint64(i), size: s.sizes[i/s.count], from: fromClient}) {
				return
			}
		}
	}
}

// waiting is how many of the client's last messages come before their receives, so that they still wait when the
// disconnect begins.
const waiting = 4

// waits returns how many messages may come before their receives: none over iWARP, where such a message ends the
// connection.
func waits(device string) (int, error) {
	iwarp, err := adapter.IWARP(device)
	if iwarp || err != nil {
		return 0, err
	}
	return waiting, nil
}

// farewell is the number of messages that are in flight when the client disconnects.
func (n *node) farewell() int { return receives + n.waiting }

// farewells returns the client's last messages, all alike.
func (s settings) farewell() message {
	return message{number: uint64(len(s.sizes)*s.count) + 2, size: s.largest(), from: fromClient}
}
