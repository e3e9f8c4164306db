package stream

import (
	"cmp"
	"fmt"
	"math/bits"
	"os"
	"strconv"
	"strings"
	"time"
)

// Config has the settings of an adapter's connections and listeners. A zero field stands for the
// default.
type Config struct {
	// ConnectTimeout is how long a connection may take to be made, on either side, beside the
	// context of Dial. The default is 30 s.
	ConnectTimeout time.Duration
	// SilenceTimeout is how long a peer that has connected may take to send the first byte of the
	// protocol, which the package does at once. The default is 5 s.
	SilenceTimeout time.Duration
	// KeepAlive is how often a connection asks whether the peer's adapter is there. If that has not
	// answered until the next time, the connection ends with ETIMEDOUT. The default is 15 s; never
	// if it is negative.
	KeepAlive time.Duration
	// Linger is how long Close waits at most until what was written is in the peer's memory. The
	// default is 5 s; Close discards what is not there yet if it is negative.
	Linger time.Duration
	// Backlog is how many requests to connect wait at most for a listener that has 64 connections
	// that are being made or wait for Accept. Further ones are refused. The default is that of the
	// kernel's listeners, net.core.somaxconn.
	Backlog int
	// Window is how many bytes a side may have sent that the peer's program has not read. The
	// connection has the smaller one of both sides. From 16 KiB to 1 GiB; the default is 512 KiB.
	// A connection's side registers that, half as much to write from, and 2 KiB for each receive.
	Window int
	// Messages is how many messages a side may have sent that the peer's program has not read, a
	// power of two from 8 to 1024. The connection has the smaller one of both sides. The default is
	// 32. A connection's side has three receives more.
	Messages int
}

// complete returns the settings with the defaults.
func (c Config) complete() (Config, error) {
	c.ConnectTimeout = cmp.Or(c.ConnectTimeout, 30*time.Second)
	c.SilenceTimeout = cmp.Or(c.SilenceTimeout, 5*time.Second)
	c.KeepAlive = cmp.Or(c.KeepAlive, 15*time.Second)
	c.Linger = cmp.Or(c.Linger, 5*time.Second)
	c.Backlog = cmp.Or(c.Backlog, someConnections())
	c.Window = cmp.Or(c.Window, 512<<10)
	c.Messages = cmp.Or(c.Messages, 32)
	switch {
	case c.ConnectTimeout < 0 || c.SilenceTimeout < 0:
		return c, fmt.Errorf("stream: ConnectTimeout is %v and SilenceTimeout %v, they must be positive", c.ConnectTimeout, c.SilenceTimeout)
	case c.Backlog < 0:
		return c, fmt.Errorf("stream: Backlog is %d, it must be positive", c.Backlog)
	case c.Messages < leastSlots || c.Messages > mostSlots || bits.OnesCount(uint(c.Messages)) != 1:
		return c, fmt.Errorf("stream: Messages is %d, it must be a power of two from %d to %d", c.Messages, leastSlots, mostSlots)
	case c.Window < 16<<10 || c.Window > 1<<30:
		return c, fmt.Errorf("stream: Window is %d bytes, it must be from 16 KiB to 1 GiB", c.Window)
	}
	return c, nil
}

// someConnections is the backlog of listeners in package net.
func someConnections() int {
	text, _ := os.ReadFile("/proc/sys/net/core/somaxconn")
	if n, err := strconv.Atoi(strings.TrimSpace(string(text))); err == nil && n > 0 {
		return n
	}
	return 128
}
