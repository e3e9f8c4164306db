package udat

import "fmt"

// ConnQual is a connection qualifier: the number on which a service listens. Any number but 0 is
// valid. Providers turn it into a port, as in C, so several qualifiers may mean the same service:
//
//   - CMA uses a qualifier up to 65535 as it is, and q % 32001 + 33534 for a larger one. The port
//     is one of the RDMA connection manager, not of TCP.
//   - Socket CM uses the low 16 bits of q + 1000 as a TCP port. It refuses port 0, and ports below
//     1024 need a privilege to listen.
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
