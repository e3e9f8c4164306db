package main

import (
	"errors"
	"runtime"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/goudat/goudat/udat"
)

const (
	// interval is the time from one request to the next, at a fixed rate.
	interval = time.Millisecond
	// churnPause is the time from one connection of the others to the next.
	churnPause = 20 * time.Millisecond
)

// paced returns the median in nanoseconds, and keeps the tail.
func (n *node) paced(o order) (float64, error) {
	// Three goroutines are in C or in the system at once. Each keeps a processor of Go's until the monitor thread sees that,
	// which can take 10 ms, in which another that comes back finds none.
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	var stop atomic.Bool
	done := make(chan error, 1)
	if o.beside == "nothing" {
		done <- nil
	} else {
		go func() { done <- n.churn(&stop) }()
	}
	trips := n.pacedRoundTrips
	if n.server {
		trips = n.roundTrips
	}
	times, err := trips(o)
	stop.Store(true)
	return n.summarize(times), errors.Join(err, <-done)
}

// pacedRoundTrips returns how long after it was due each request was answered.
func (n *node) pacedRoundTrips(o order) ([]time.Duration, error) {
	p := pacer{order: o, node: *n, begin: time.Now()}
	sent := make(chan error, 1)
	go func() { sent <- p.run() }()
	times := make([]time.Duration, 0, o.count)
	for len(times) < o.count {
		taken, err := n.some(n.receivesDone, burst, o.how == "poll")
		if err != nil {
			return nil, err
		}
		now := time.Since(p.begin)
		for range taken {
			times = append(times, now-time.Duration(len(times))*interval)
		}
		p.answered.Add(int32(taken))
		if n.used += taken; n.used >= burst {
			if err := n.postReceives(); err != nil {
				return nil, err
			}
		}
	}
	return times, <-sent
}

// pacer sends requests. One is due in each interval, whether or not the one before it is answered. No more than the
// window are outstanding.
type pacer struct {
	order
	node     node // with room for events of its own
	begin    time.Time
	answered atomic.Int32
}

// run sends all requests. It sleeps in the system: a timer of Go is late by up to a millisecond.
func (p *pacer) run() error {
	p.node.events = make([]udat.Event, burst)
	for sent := 0; sent < p.count; {
		left := time.Duration(sent)*interval - time.Since(p.begin)
		if left <= 0 && sent-int(p.answered.Load()) >= p.window {
			left = interval
		}
		if left > 0 {
			pause := syscall.NsecToTimespec(int64(left))
			_ = syscall.Nanosleep(&pause, nil)
			continue
		}
		if err := p.node.answer(p.order, 0); err != nil {
			return err
		}
		sent++
	}
	return p.node.finish()
}

// churn makes a connection and ends it, again and again, until stop is set on the client. It pauses between two.
func (n *node) churn(stop *atomic.Bool) error {
	for {
		last, err := n.connectOnce(!n.server && stop.Load())
		if last || err != nil {
			return err
		}
		if !n.server {
			time.Sleep(churnPause)
		}
	}
}
