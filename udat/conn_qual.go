package udat

import "fmt"

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

const (
	// anyConnQual asks for a qualifier that is free.
	anyConnQual ConnQual = 0
	// tcpOffset is what the socket CM provider adds to a connection qualifier for
	// the TCP port to listen on.
	tcpOffset = 1000
	// foldedPorts and firstFoldedPort are how the CMA provider makes a port of a
	// qualifier that is none.
	foldedPorts     = 32001
	firstFoldedPort = 65535 - foldedPorts

	// firstFreePort is the first TCP port that anybody may listen on.
	firstFreePort = 1024
)

// place says where a service point for the qualifier listens.
func (ia *IA) place(q ConnQual) string {
	if ia.overTCP {
		return fmt.Sprintf("TCP port %d", uint16(q+tcpOffset))
	}
	if q > 65535 {
		q = q%foldedPorts + firstFoldedPort
	}
	return fmt.Sprintf("port %d of the RDMA connection manager", q)
}
