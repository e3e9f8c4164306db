package stream

import (
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"syscall"

	"github.com/goudat/goudat/udat"
)

// network is the name of the network in addresses and errors.
const network = "rdma"

// Addr is the address of an adapter with the connection qualifier of a service as its port. The socket CM provider does
// not know the port of the side that connects: it is 0 then.
type Addr struct{ netip.AddrPort }

// Network returns "rdma".
func (Addr) Network() string { return network }

// failure is what a program looks for in an error, with what the adapter said.
type failure struct {
	error // a syscall.Errno or one of the standard errors
	cause error
}

func (f failure) Error() string   { return f.error.Error() + ": " + f.cause.Error() }
func (f failure) Unwrap() []error { return []error{f.error, f.cause} }

// Timeout makes a net.OpError with the failure say that it was a time-out.
func (f failure) Timeout() bool {
	t, ok := f.error.(interface{ Timeout() bool })
	return ok && t.Timeout()
}

// connectionError says what the end of a connection, or of an attempt to connect, means.
func connectionError(cause error) error {
	var event udat.ConnectionEvent
	meaning := syscall.ECONNRESET
	if errors.As(cause, &event) {
		switch event {
		case udat.ConnectionPeerRejected, udat.ConnectionNonPeerRejected:
			meaning = syscall.ECONNREFUSED
		case udat.ConnectionUnreachable:
			meaning = syscall.EHOSTUNREACH
		case udat.ConnectionTimedOut:
			meaning = syscall.ETIMEDOUT
		}
	}
	return failure{meaning, cause}
}

// opError is the error of a call on a connection. io.EOF stays as it is: programs compare it.
func (c *Conn) opError(op string, err error) error {
	if err == nil || err == io.EOF {
		return err
	}
	return &net.OpError{Op: op, Net: network, Source: c.local, Addr: c.remote, Err: err}
}

var errTimeout = os.ErrDeadlineExceeded
