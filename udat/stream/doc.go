// Package stream carries streams of bytes over RDMA: a net.Conn and a net.Listener over
// package udat. Programs that take connections as Go has them, net/http, crypto/tls and
// gRPC for example, run over RDMA unchanged.
//
//	a, err := stream.Open("eth0", nil)           // any adapter that udat.Open knows
//	l, err := a.Listen(ctx, "rdma", ":0")        // the server's side
//	go http.Serve(l, handler)
//	client := http.Client{Transport: &http.Transport{DialContext: a.Dial}} // the client's
//
// # What it costs
//
// TCP of the kernel is faster where RDMA is software, and the stream is slower than
// messages: a byte is copied once on each side, as with TCP, and a goroutine of the
// connection takes the completions and wakes the program. Programs that need the
// latency or the processor time of RDMA use endpoints, see package udat.
// docs/reference/performance.md has figures.
//
// A connection's side has, with the default sizes, 32 messages of up to 64 KiB in a
// window of 512 KiB, and registers 840 KiB: the window that the peer writes, half as much
// to write from, and 35 receives of 2 KiB. Config changes that, and the smaller of
// both sides' sizes count. The adapter keeps the memory of up to 8 connections that are
// over for the next ones. A connection has an endpoint, an event dispatcher, a protection
// zone, two memory regions and one goroutine, until it is over; what has arrived can be
// read after that.
//
// # How it works
//
// The private data of both sides have the version of the protocol, the sizes, and the
// place of a window of slots that the peer may write by RDMA. After that each side sends
// messages. Short data follow the header. Longer data are written to slots, and the header
// is sent behind them. A header says how much data there is, and how many slots the
// sender's program has read: a slot is free again when that comes back. The side that
// connects sends a byte ahead of the stream, as iWARP demands; Accept returns the
// connection when that has come. Write copies, and waits while the window is full. While
// four messages are on their way, it gathers small ones, until one of them has arrived.
//
// # When the peer dies
//
// A connection whose peer's process ends, or whose network is cut, ends with ECONNRESET or
// ETIMEDOUT: each Config.KeepAlive a side reads a word of the peer's window, which the
// peer's adapter answers without its program. A peer whose program hangs is not noticed.
// Deadlines are for that, as with TCP. Read returns everything that had arrived before.
//
// Close waits until what was written is in the peer's memory, so that it is not lost when
// the process ends: for a round trip or, if the peer is gone, for Config.Linger. See
// Conn.SetLinger. It does not wait for the peer's program.
//
// # Limits
//
// Nothing is encrypted, and strangers can connect: use crypto/tls over the connection, or
// a network of friends. A peer can write only to the window of its own connection.
//
// With the CMA provider, both sides have addresses of one family, and 127.0.0.1 is none of them.
// A listener's port is a connection qualifier: not a port of TCP, but one of the RDMA connection
// manager, or, with the socket CM provider, the TCP port that is 1000 higher.
package stream
