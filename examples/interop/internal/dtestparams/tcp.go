package dtestparams

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"syscall"
	"time"
)

// Port is where a server waits for its client.
const Port = 15828

const (
	// patience is how long a client retries while a server is still starting.
	patience = 20 * time.Second
	// between is the time between two attempts.
	between = 20 * time.Millisecond
)

// Listener waits for one client.
type Listener struct {
	ctx      context.Context
	listener net.Listener
	stop     func() bool
}

// Listen starts to listen. Accept fails when ctx ends.
func Listen(ctx context.Context) (*Listener, error) {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", fmt.Sprintf(":%d", Port))
	if err != nil {
		return nil, err
	}
	return &Listener{ctx, listener, context.AfterFunc(ctx, func() { listener.Close() })}, nil
}

// Accept waits for the client. It accepts only one.
func (l *Listener) Accept() (*Conn, error) {
	defer l.listener.Close()
	defer l.stop()
	conn, err := l.listener.Accept()
	if err != nil {
		return nil, errors.Join(l.ctx.Err(), err)
	}
	return newConn(l.ctx, conn), nil
}

// Dial connects to the server on host. It retries for a while if nobody listens there.
func Dial(ctx context.Context, host string) (*Conn, error) {
	var dialer net.Dialer
	deadline := time.Now().Add(patience)
	again := time.NewTicker(between)
	defer again.Stop()
	for {
		conn, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort(host, strconv.Itoa(Port)))
		if err == nil {
			return newConn(ctx, conn), nil
		}
		if !errors.Is(err, syscall.ECONNREFUSED) {
			return nil, err
		}
		if time.Now().After(deadline) {
			return nil, fmt.Errorf("nobody listens there: start the server first (%w)", err)
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-again.C:
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
