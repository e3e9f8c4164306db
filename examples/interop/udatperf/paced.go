package main

import (
	"errors"
	"io"
	"net/netip"
	"runtime"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/goudat/goudat/udat"
)

// interval is the time from one request to the next, at a fixed rate.
const interval = time.Millisecond

// measurePaced returns the median in nanoseconds, and keeps the tail.
func (n *node) measurePaced(o order) (float64, error) {
	// Three goroutines are in C or in the system at once. Each keeps a processor of Go's until the monitor thread sees that,
	// which can take 10 ms, in which another that comes back finds none.
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	if err := n.gather(o.idle); err != nil {
		return 0, err
	}
	var quiet float64
	if !n.server && o.beside != "nothing" {
		times, err := n.pacedRoundTrips(o)
		if err != nil {
			return 0, err
		}
		n.summarize(times)
		quiet = n.tail.p90
	}
	end := n.startBeside(o)
	var times []time.Duration
	var err error
	if n.server {
		_, err = n.roundTrips(o.bytes, o.messages(), o.how)
	} else {
		times, err = n.pacedRoundTrips(o)
	}
	if err := errors.Join(err, end()); err != nil {
		return 0, err
	}
	median := n.summarize(times)
	if quiet > 0 {
		n.tail.over = n.tail.p90 / quiet
	}
	return median, nil
}

// pacedRoundTrips returns how long after it was due each request was answered.
func (n *node) pacedRoundTrips(o order) ([]time.Duration, error) {
	from, err := n.memory.Segment(0, o.bytes)
	if err != nil {
		return nil, err
	}
	if err := n.expectMessages(o.bytes, o.count); err != nil {
		return nil, err
	}
	p := pacer{order: o, node: *n, iov: [...]udat.Segment{from}, begin: time.Now()}
	p.node.events = make([]udat.Event, burst)
	polling, sent := o.how == "poll", make(chan error, 1)
	if !polling {
		go func() { sent <- p.run() }()
	}
	times := make([]time.Duration, 0, o.count)
	posted, used := min(o.count, mostReceives), 0
	for len(times) < o.count {
		taken := 0
		if polling {
			for err == nil && p.ready() {
				err = p.post()
			}
			if err == nil {
				taken, err = n.take(n.receivesDone, burst)
			}
		} else {
			taken, err = n.some(n.receivesDone, burst, false)
		}
		if err != nil {
			return nil, err
		}
		now := time.Since(p.begin)
		for range taken {
			times = append(times, now-time.Duration(len(times))*interval)
		}
		p.answered.Add(int32(taken))
		if used += taken; used >= burst {
			more := min(o.count-posted, used)
			if err := n.postReceives(o.bytes, more); err != nil {
				return nil, err
			}
			posted += more
			used = 0
		}
	}
	if !polling {
		return times, <-sent
	}
	return times, n.spinAll(p.outstanding)
}

// pacer sends requests. One is due in each interval, whether or not the one before it is answered. No more than the
// window are outstanding.
type pacer struct {
	order
	node              node // with room for events of its own
	iov               [1]udat.Segment
	begin             time.Time
	sent, outstanding int
	answered          atomic.Int32
}

// ready reports whether a request is due, and may be sent.
func (p *pacer) ready() bool {
	return p.sent < p.count && p.sent-int(p.answered.Load()) < p.window && time.Since(p.begin) >= time.Duration(p.sent)*interval
}

func (p *pacer) post() error {
	if err := p.node.ep.PostSend(p.iov[:], 0, 0); err != nil {
		return err
	}
	p.sent++
	if p.outstanding++; p.outstanding < burst {
		return nil
	}
	taken, err := p.node.take(p.node.requestsDone, p.outstanding-1)
	p.outstanding -= taken
	return err
}

// run sends all requests. It sleeps in the system: a timer of Go is late by up to a millisecond.
func (p *pacer) run() error {
	for p.sent < p.count {
		left := time.Duration(p.sent)*interval - time.Since(p.begin)
		if left <= 0 && !p.ready() {
			left = interval
		}
		if left > 0 {
			pause := syscall.NsecToTimespec(int64(left))
			_ = syscall.Nanosleep(&pause, nil)
			continue
		}
		if err := p.post(); err != nil {
			return err
		}
	}
	return p.node.spinAll(p.outstanding)
}

// startBeside starts what happens beside round trips, and returns what ends it.
func (n *node) startBeside(o order) (end func() error) {
	var do func() error
	var stop atomic.Bool
	pause := time.Duration(o.pause) * time.Millisecond
	switch {
	case o.beside == "churn":
		do = func() error { return n.churn(pause, &stop) }
	case o.beside == "own":
		other := *n
		do = func() error {
			if err := other.createEVDs(); err != nil {
				return err
			}
			return errors.Join(other.churn(pause, &stop), other.freeEVDs())
		}
	case o.beside == "cut" && !n.server:
		do = n.far.Free
	default:
		return func() error { return nil }
	}
	done := make(chan error)
	go func() { done <- do() }()
	return func() error {
		stop.Store(true)
		return <-done
	}
}

// churn makes a connection on an endpoint of its own, and ends it, again and again, until stop is set on the client.
func (n *node) churn(pause time.Duration, stop *atomic.Bool) error {
	for {
		last, err := n.connectOnce(!n.server && stop.Load())
		if last || err != nil {
			return err
		}
		if !n.server {
			time.Sleep(pause)
		}
	}
}

// gather makes or ends connections, until there are count that are idle.
func (n *node) gather(count int) error {
	for len(n.crowd) < count {
		ep, _, err := n.join(false)
		if err != nil {
			return err
		}
		n.crowd = append(n.crowd, ep)
	}
	for last := len(n.crowd) - 1; last >= count; last-- {
		if err := n.part(n.crowd[last]); err != nil {
			return err
		}
		n.crowd = n.crowd[:last]
	}
	return nil
}

// farBeyond is the difference between the qualifiers of the machine that is cut off and of the server.
const farBeyond = 100

// joinFar connects an endpoint to the machine that will be cut off.
func (n *node) joinFar(address string) (err error) {
	other := *n
	other.qual += farBeyond
	if other.address, err = netip.ParseAddr(address); err != nil {
		return err
	}
	n.far, _, err = other.join(false)
	return err
}

// acceptAll accepts every connection, and does not look at what becomes of it.
func (n *node) acceptAll(out io.Writer) error {
	if err := n.listen(out); err != nil {
		return err
	}
	for {
		request, err := n.arrival()
		if err != nil {
			return err
		}
		ep, err := n.createEndpoint(few, few)
		if err != nil {
			return err
		}
		if err := request.Accept(ep, nil); err != nil {
			return err
		}
		if _, err := n.connections.Poll(n.events); err != nil {
			return err
		}
	}
}
