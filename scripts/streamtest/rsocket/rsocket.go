// Package rsocket has the streams of librdmacm's rsocket, for the benchmark to compare with. A call blocks its thread.
package rsocket

// #cgo pkg-config: goudat
// #cgo LDFLAGS: -lrdmacm
// #include <arpa/inet.h>
// #include <stdlib.h>
// #include <string.h>
// #include <rdma/rsocket.h>
//
// static struct sockaddr_in address_of(const char *host, unsigned short port)
// {
// 	struct sockaddr_in a;
// 	memset(&a, 0, sizeof(a));
// 	a.sin_family = AF_INET;
// 	a.sin_port = htons(port);
// 	inet_pton(AF_INET, host, &a.sin_addr);
// 	return a;
// }
//
// static int listen_at(int fd, const char *host, unsigned short port)
// {
// 	struct sockaddr_in a = address_of(host, port);
// 	return rbind(fd, (struct sockaddr *)&a, sizeof(a)) ? -1 : rlisten(fd, 8);
// }
//
// static int connect_to(int fd, const char *host, unsigned short port)
// {
// 	struct sockaddr_in a = address_of(host, port);
// 	return rconnect(fd, (struct sockaddr *)&a, sizeof(a));
// }
//
// static int new_socket(void) { return rsocket(AF_INET, SOCK_STREAM, 0); }
// static int next(int fd) { return raccept(fd, NULL, NULL); }
import "C"

import (
	"fmt"
	"io"
	"net"
	"net/netip"
	"unsafe"
)

// Conn is a connection. Of a net.Conn, only what is defined here works.
type Conn struct {
	net.Conn
	fd C.int
}

func (c *Conn) Read(p []byte) (int, error) {
	n, err := C.rrecv(c.fd, unsafe.Pointer(unsafe.SliceData(p)), C.size_t(len(p)), 0)
	switch {
	case n < 0:
		return 0, fmt.Errorf("rrecv: %w", err)
	case n == 0:
		return 0, io.EOF
	}
	return int(n), nil
}

func (c *Conn) Write(p []byte) (int, error) {
	for done := 0; done < len(p); {
		n, err := C.rsend(c.fd, unsafe.Pointer(&p[done]), C.size_t(len(p)-done), 0)
		if n < 0 {
			return done, fmt.Errorf("rsend: %w", err)
		}
		done += int(n)
	}
	return len(p), nil
}

// CloseWrite ends the stream to the peer.
func (c *Conn) CloseWrite() error {
	if r, err := C.rshutdown(c.fd, C.SHUT_WR); r != 0 {
		return fmt.Errorf("rshutdown: %w", err)
	}
	return nil
}

// Close ends the connection.
func (c *Conn) Close() error {
	if r, err := C.rclose(c.fd); r != 0 {
		return fmt.Errorf("rclose: %w", err)
	}
	return nil
}

// Dial connects to an IPv4 address.
func Dial(to netip.AddrPort) (*Conn, error) {
	host := C.CString(to.Addr().String())
	defer C.free(unsafe.Pointer(host))
	c := &Conn{fd: C.new_socket()}
	if r, err := C.connect_to(c.fd, host, C.ushort(to.Port())); r != 0 {
		_ = c.Close()
		return nil, fmt.Errorf("rconnect to %v: %w", to, err)
	}
	return c, nil
}

// Listener listens until the process ends.
type Listener struct {
	net.Listener
	fd C.int
}

// Listen listens at an IPv4 address.
func Listen(at netip.AddrPort) (*Listener, error) {
	host := C.CString(at.Addr().String())
	defer C.free(unsafe.Pointer(host))
	l := &Listener{fd: C.new_socket()}
	if r, err := C.listen_at(l.fd, host, C.ushort(at.Port())); r != 0 {
		C.rclose(l.fd)
		return nil, fmt.Errorf("rlisten at %v: %w", at, err)
	}
	return l, nil
}

// Accept returns the next connection.
func (l *Listener) Accept() (net.Conn, error) {
	fd, err := C.next(l.fd)
	if fd < 0 {
		return nil, fmt.Errorf("raccept: %w", err)
	}
	return &Conn{fd: fd}, nil
}
