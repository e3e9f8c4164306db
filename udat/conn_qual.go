package udat

import (
	"fmt"
	"net/netip"
	"sync"

	"github.com/goudat/goudat/cgo"
)

// ConnQual is a connection qualifier: the number on which a service listens. Any
// but 0 will do.
//
// A provider makes a port of it, as in C, so that several qualifiers mean the
// same service:
//
//   - The CMA provider takes a qualifier up to 65535 as it is, and makes
//     q % 32001 + 33534 of a larger one. It is a port of the RDMA connection
//     manager, not one of TCP.
//   - The socket CM provider takes the low 16 bits of q + 1000 as a TCP port.
//     Ports below 1024, to which 64537 for example leads, take a privilege to
//     listen on. Where the 16 bits are 0 nobody can listen.
type ConnQual uint64

func (q ConnQual) check(op string, argument ReturnSubtype) error {
	if q != anyConnQual {
		return nil
	}
	return refuse(op, ErrInvalidParameter, argument, "the connection qualifier is 0: any other number will do, and CreatePSPAny chooses one that is free")
}

// anyConnQual asks for a qualifier that is free.
const anyConnQual ConnQual = 0

const (
	// tcpOffset is what the socket CM provider adds to a connection qualifier for
	// the TCP port to listen on.
	tcpOffset = 1000
	// foldedPorts and firstFoldedPort are how the CMA provider makes a port of a
	// qualifier that is none.
	foldedPorts     = 32001
	firstFoldedPort = 65535 - foldedPorts
)

// port is a number that a provider listens on and calls.
type port uint16

func portOnTCP(q ConnQual) port { return port(q + tcpOffset) }

func portOnCMA(q ConnQual) port {
	if q > 65535 {
		return port(q%foldedPorts + firstFoldedPort)
	}
	return port(q)
}

// place is where a service point listens: what no two can have.
type place struct {
	overTCP bool
	address netip.Addr
	port    port
}

func (p place) String() string {
	if p.overTCP {
		return fmt.Sprintf("TCP port %d", p.port)
	}
	return fmt.Sprintf("port %d of the RDMA connection manager", p.port)
}

// listening has the native service points of this process, by their place. It
// tells a program of several adapters which of its own service points is in the
// way of another.
var listening sync.Map // place: the qualifier of its owner

// inUse makes the error for a qualifier whose place a service point of this
// program has.
func (p place) inUse(op string, wanted, owner ConnQual) error {
	if owner == wanted {
		return refuse(op, ErrConnQualInUse, NoSubtype, "a service point of this program listens on %d: free that, or choose another qualifier", wanted)
	}
	return refuse(op, ErrConnQualInUse, NoSubtype, "%d is %v, where a service point of this program listens for %d: free that, or choose another qualifier",
		wanted, p, owner)
}

// cannotListen makes the error for a native service point that was not made.
func (p place) cannotListen(op string, ia *IA, qual ConnQual, r cgo.Return) error {
	value, own := listening.Load(p)
	owner, _ := value.(ConnQual)
	switch t := r.Type(); {
	case t == cgo.ConnQualInUse && own:
		return p.inUse(op, qual, owner)
	}
	if err := ia.addressGone(op); err != nil { // the library says that the port is in use, or invalid
		return err
	}
	switch t := r.Type(); {
	case t == cgo.ConnQualInUse:
		return refuse(op, ErrConnQualInUse, NoSubtype, "something else has %v, to which the qualifier %d leads: choose another, "+
			"best outside of net.ipv4.ip_local_port_range, from which connections and open adapters take their ports", p, qual)
	case t == cgo.InvalidParameter && p.overTCP && p.port < firstFreePort:
		// The library says only that a bind has failed, and not why.
		return refuse(op, ErrInvalidParameter, InvalidArg2,
			"the qualifier %d leads to %v, and ports below %d take the capability CAP_NET_BIND_SERVICE: choose another qualifier", qual, p, firstFreePort)
	}
	return check(op, r)
}

// firstFreePort is the first TCP port that anybody may listen on.
const firstFreePort = 1024
