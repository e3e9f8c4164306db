// Package dtestparams exchanges connection parameters over TCP, for the ports of the native stack's programs dtest and
// dtestx. The layouts are those of the C programs.
package dtestparams

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Port is where a server waits for its client.
const Port = 15828

const (
	// patience is how long a client retries while a server is still starting, and between is the time between two attempts.
	patience = 20 * time.Second
	between  = 20 * time.Millisecond
	// size is the number of bytes of a message.
	size = 128
	// maxProvider is the longest name for which the C programs have room, without the final zero.
	maxProvider = 63
)

// Parameters are what a side must know about the other side.
type Parameters struct {
	Address  netip.Addr // of the adapter
	Provider string     // the adapter's name
}

func validProvider(name string) bool {
	return name != "" && len(name) <= maxProvider && !strings.ContainsAny(name, " \t\r\n\x00")
}

// marshal returns the text for TCP. The port's LID, a queue pair's number and the scope come first; they are zero if
// there is an IP address. An IPv4 address is printed as a number in the host's byte order: hosts with different byte
// orders do not understand each other. An IPv6 address follows the provider, without a zone, which is of one host.
func (p Parameters) marshal() ([]byte, error) {
	if !validProvider(p.Provider) {
		return nil, fmt.Errorf("the peer would not understand the provider's name %q", p.Provider)
	}
	var four uint32
	six := ""
	if p.Address.Is4() {
		four = binary.NativeEndian.Uint32(p.Address.AsSlice())
	} else {
		six = " " + p.Address.WithZone("").String()
	}
	text := fmt.Sprintf("%04x:%08x:%08x:%08x:%s%s", 0, 0, 0, four, p.Provider, six)
	if len(text) >= size {
		return nil, fmt.Errorf("the provider's name and the address take %d bytes, and there is room for %d: use a provider with a shorter name", len(text), size-1)
	}
	return append([]byte(text), make([]byte, size-len(text))...), nil
}

var errNotUnderstood = errors.New("its message is not understood: it is another program")

func parse(b []byte) (Parameters, error) {
	var p Parameters
	text, _, _ := bytes.Cut(b, []byte{0})
	fields := strings.SplitN(string(text), ":", 5)
	if len(fields) < 5 {
		return p, errNotUnderstood
	}
	provider, six, hasSix := strings.Cut(fields[4], " ")
	if !validProvider(provider) {
		return p, errNotUnderstood
	}
	p.Provider = provider
	var numbers [4]uint32
	for i := range numbers {
		if _, err := fmt.Sscanf(fields[i], "%x", &numbers[i]); err != nil {
			return p, errNotUnderstood
		}
	}
	if hasSix {
		address, err := netip.ParseAddr(six)
		if err != nil || !address.Is6() || numbers[3] != 0 {
			return p, errNotUnderstood
		}
		p.Address = address
		return p, nil
	}
	if numbers[3] == 0 {
		return p, fmt.Errorf("its provider %s has no IP address: only the UCM provider does without, which package udat does not serve", p.Provider)
	}
	var four [4]byte
	binary.NativeEndian.PutUint32(four[:], numbers[3])
	p.Address = netip.AddrFrom4(four)
	return p, nil
}

// Accept waits for one client, until ctx ends. It calls listening when clients can come.
func Accept(ctx context.Context, listening func()) (*Conn, error) {
	listener, err := net.Listen("tcp", fmt.Sprintf(":%d", Port))
	if err != nil {
		return nil, err
	}
	defer listener.Close()
	defer context.AfterFunc(ctx, func() { listener.Close() })()
	listening()
	conn, err := listener.Accept()
	if err != nil {
		return nil, errors.Join(ctx.Err(), err)
	}
	return newConn(ctx, conn), nil
}

// Dial connects to the server on host. It retries for a while if nobody listens there.
func Dial(ctx context.Context, host string) (*Conn, error) {
	var dialer net.Dialer
	for deadline := time.Now().Add(patience); ; {
		conn, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort(host, strconv.Itoa(Port)))
		switch {
		case err == nil:
			return newConn(ctx, conn), nil
		case !errors.Is(err, syscall.ECONNREFUSED):
			return nil, err
		case time.Now().After(deadline):
			return nil, fmt.Errorf("nobody listens there: start the server first (%w)", err)
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(between):
		}
	}
}

// Conn is a connection to the peer. It ends with the context.
type Conn struct {
	ctx  context.Context
	conn net.Conn
	stop func() bool
}

func newConn(ctx context.Context, conn net.Conn) *Conn {
	return &Conn{ctx, conn, context.AfterFunc(ctx, func() { conn.Close() })}
}

// Send tells the peer the parameters of this side.
func (c *Conn) Send(p Parameters) error {
	b, err := p.marshal()
	if err != nil {
		return err
	}
	if _, err := c.conn.Write(b); err != nil {
		return errors.Join(c.ctx.Err(), err)
	}
	return nil
}

// Receive waits for the parameters of the peer.
func (c *Conn) Receive() (Parameters, error) {
	b := make([]byte, size)
	if _, err := io.ReadFull(c.conn, b); err != nil {
		return Parameters{}, errors.Join(c.ctx.Err(), fmt.Errorf("%v does not say where it is: %w", c.conn.RemoteAddr(), err))
	}
	p, err := parse(b)
	if err != nil {
		return p, fmt.Errorf("%v: %w", c.conn.RemoteAddr(), err)
	}
	return p, nil
}

// Close ends the connection.
func (c *Conn) Close() error {
	c.stop()
	return c.conn.Close()
}
