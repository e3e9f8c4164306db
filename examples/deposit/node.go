package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"time"

	"github.com/goudat/goudat/udat"
)

// step: agree
const (
	magic          = 0x64657073 // begins a request
	maxBytes       = 64 << 20
	piece          = 64 << 10 // bytes of one RDMA write
	window         = 8        // writes outstanding at a time
	messageSize    = 4        // bytes of a message
	connectTimeout = 15 * time.Second
	waitTimeout    = time.Minute

	requestSize = 8  // private data of the connect, big-endian: magic, bytes
	placeSize   = 16 // private data of the accept: an RMRTriplet

	// Other cookies are those of RDMA writes.
	cookieSent     = 1 << 32
	cookieReceived = cookieSent + 1
)

// step: node
type node struct {
	ia                      *udat.IA
	pz                      *udat.PZ
	connection, completions *udat.EVD
	ep                      *udat.EP

	lmr   *udat.LMR // the deposit, a message to send, one to receive
	bytes int

	written        int // RDMA writes that have completed
	sent, received bool
}

// step: open
func openNode(adapter string) (*node, error) {
	ia, err := udat.Open(adapter)
	if err != nil {
		return nil, err
	}
	n := &node{ia: ia}
	if n.pz, err = udat.CreatePZ(ia); err != nil {
		return n, err
	}
	if n.connection, err = udat.CreateEVD(ia, 8, nil, udat.EVDConnection); err != nil {
		return n, err
	}
	if n.completions, err = udat.CreateEVD(ia, 64, nil, udat.EVDDTO); err != nil {
		return n, err
	}
	n.ep, err = udat.CreateEP(ia, n.pz, n.completions, n.completions, n.connection, nil)
	return n, err
}

// step: memory
func (n *node) allocate(bytes int, remote udat.MemPriv) (err error) {
	n.bytes = bytes
	n.lmr, err = udat.RegisterMemory(n.pz, make([]byte, bytes+2*messageSize), udat.MemPrivLocalRead|udat.MemPrivLocalWrite|remote)
	return err
}

func sum(memory []byte) uint32 {
	hash := fnv.New32a()
	hash.Write(memory)
	return hash.Sum32()
}

// step: connection events
func (n *node) waitConnection(ctx context.Context, want udat.EventNumber) (udat.Event, error) {
	ctx, cancel := context.WithTimeout(ctx, waitTimeout)
	defer cancel()
	return n.connection.Expect(ctx, want)
}

// step: completions
func (n *node) progress(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, waitTimeout)
	defer cancel()
	event, err := n.completions.Wait(ctx)
	if err != nil {
		return err
	}
	if err := event.Err(); err != nil {
		return fmt.Errorf("%v: %w", event.Operation, err)
	}
	switch event.Cookie {
	case cookieSent:
		n.sent = true
	case cookieReceived:
		n.received = true
	default:
		n.written++
	}
	return nil
}

// step: messages
func (n *node) postReceive() error {
	segment, err := n.lmr.Segment(n.bytes+messageSize, messageSize)
	if err != nil {
		return err
	}
	return n.ep.PostRecv([]udat.Segment{segment}, cookieReceived, udat.CompletionDefault)
}

func (n *node) send(value uint32) error {
	segment, err := n.lmr.Segment(n.bytes, messageSize)
	if err != nil {
		return err
	}
	binary.BigEndian.PutUint32(n.lmr.Bytes()[n.bytes:], value)
	return n.ep.PostSend([]udat.Segment{segment}, cookieSent, udat.CompletionDefault)
}

func (n *node) message() uint32 {
	return binary.BigEndian.Uint32(n.lmr.Bytes()[n.bytes+messageSize:])
}

// step: asynchronous errors
func (n *node) asyncErrors() (errs []error) {
	for {
		event, err := n.ia.AsyncEVD().Dequeue()
		if err != nil {
			return errs
		}
		errs = append(errs, fmt.Errorf("asynchronous error: %w", event.Err()))
	}
}

// step: free
func withNode(adapter string, use func(*node) error) error {
	n, err := openNode(adapter)
	if n == nil {
		return err
	}
	if err == nil {
		err = use(n)
	}
	if err != nil {
		err = errors.Join(append([]error{err}, n.asyncErrors()...)...)
	}
	return errors.Join(err, n.ia.Close(udat.CloseAbrupt))
}
