package main

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/goudat/goudat/udat"
)

// protocolVersion is the version of the C program's protocol that this program supports.
const protocolVersion = 6

// controlSize is the length of each control message: the client's hello, its command, and the server's answer.
const controlSize = 8192

// Numbers are little-endian on all hosts.
var order = binary.LittleEndian

// hostIsLittle reports whether this host is little-endian. The sides exchange their byte orders.
var hostIsLittle = flag(binary.NativeEndian.Uint16([]byte{1, 0}) == 1)

// flag is a truth value of 32 bits.
func flag(b bool) uint32 {
	if b {
		return 1
	}
	return 0
}

type name [256]byte

func nameOf(s string) (n name) {
	copy(n[:len(n)-1], s)
	return n
}

func (n name) String() string {
	s, _, _ := bytes.Cut(n[:], []byte{0})
	return string(s)
}

// hello is the client's first message.
type hello struct {
	Version      uint32
	LittleEndian uint32
	Test         test
	Endpoints    uint32 // in all
}

// answer is the server's message. The test's endpoints listen at consecutive ports from FirstPort on.
type answer struct {
	Version      uint32
	LittleEndian uint32
	FirstPort    uint32
}

type operationMessage struct {
	ByServer uint32
	Kind     kind
	Segments uint32
	Size     uint32
	Late     uint32
}

type transactionMessage struct {
	Version      uint32
	LittleEndian uint32
	Server       name
	Iterations   uint32
	Threads      uint32
	Endpoints    uint32
	_            uint32
	Reserved     uint32
	Debug        uint32
	Validate     uint32
	Poll         uint32
	Port         uint64
	Adapter      name
	QOS          uint32
	Count        uint32
	Operations   [maxOperations]operationMessage
}

type performanceMessage struct {
	Version      uint32
	LittleEndian uint32
	Server       name
	Adapter      name
	QOS          uint32
	Debug        uint32
	Polling      uint32
	Iterations   uint32
	Pipeline     uint32
	Kind         kind
	Size         uint32
	Segments     uint32
	Reserved     uint32
	Port         uint64
}

type quitMessage struct {
	Server  name
	Adapter name
	Debug   uint32
	QOS     uint32
	Port    uint64
}

// message is the client's second message: the command for the server.
func (c *command) message() any {
	server, adapter, debug, port := nameOf(c.host), nameOf(c.adapter), flag(c.trace > 0), uint64(c.port)
	switch c.test {
	case testTransaction:
		t := c.transaction
		m := &transactionMessage{
			Version: protocolVersion, LittleEndian: hostIsLittle, Server: server, Adapter: adapter, Debug: debug, Port: port,
			Iterations: uint32(t.iterations), Threads: uint32(t.threads), Endpoints: uint32(t.endpoints),
			Reserved: flag(t.reserved), Validate: flag(t.validate), Poll: flag(t.poll), Count: uint32(len(t.operations)),
		}
		for i, o := range t.operations {
			m.Operations[i] = operationMessage{flag(o.byServer), o.kind, uint32(o.segments), uint32(o.size), flag(o.late)}
		}
		return m
	case testPerformance:
		p := c.performance
		return &performanceMessage{
			Version: protocolVersion, LittleEndian: hostIsLittle, Server: server, Adapter: adapter, Debug: debug, Port: port,
			Polling: flag(p.poll), Iterations: uint32(p.iterations), Pipeline: uint32(p.pipeline),
			Kind: p.operation.kind, Size: uint32(p.operation.size), Segments: uint32(p.operation.segments),
		}
	}
	return &quitMessage{Server: server, Adapter: adapter, Debug: debug, Port: port}
}

func parseTransaction(b []byte) (transaction, error) {
	var m transactionMessage
	if _, err := binary.Decode(b, order, &m); err != nil {
		return transaction{}, err
	}
	t := transaction{
		iterations: int(m.Iterations), threads: int(m.Threads), endpoints: int(m.Endpoints), reserved: m.Reserved != 0,
		validate: m.Validate != 0, poll: m.Poll != 0,
	}
	if m.Count > maxOperations {
		return t, fmt.Errorf("%d operations are more than %d", m.Count, maxOperations)
	}
	for _, o := range m.Operations[:m.Count] {
		t.operations = append(t.operations, operation{o.ByServer != 0, o.Kind, int(o.Size), int(o.Segments), o.Late != 0})
	}
	return t, t.check()
}

func parsePerformance(b []byte) (performance, error) {
	var m performanceMessage
	if _, err := binary.Decode(b, order, &m); err != nil {
		return performance{}, err
	}
	p := performance{
		poll: m.Polling != 0, iterations: int(m.Iterations), pipeline: int(m.Pipeline),
		operation: operation{kind: m.Kind, size: int(m.Size), segments: int(m.Segments)},
	}
	return p, p.check()
}

// placeSize is the encoded length of a place.
const placeSize = 12

// place is the address of memory that the peer reads or writes. Both sides know its length from the operation.
type place struct {
	Context uint32
	Address uint64
}

func placeOf(t udat.RMRTriplet) place { return place{t.RMRContext, t.VirtualAddress} }

func (p place) triplet(length int) udat.RMRTriplet {
	return udat.RMRTriplet{VirtualAddress: p.Address, SegmentLength: uint32(length), RMRContext: p.Context}
}

func (p place) put(b []byte, order binary.ByteOrder) {
	order.PutUint32(b, p.Context)
	order.PutUint64(b[4:], p.Address)
}

func parsePlace(b []byte, order binary.ByteOrder) place {
	return place{order.Uint32(b), order.Uint64(b[4:])}
}

// orderOf returns a host's byte order.
func orderOf(little uint32) binary.ByteOrder {
	if little != 0 {
		return binary.LittleEndian
	}
	return binary.BigEndian
}
