package main

import (
	"slices"
	"time"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/mem"
)

// prepare makes ready for what the peer will send or write.
func (n *node) prepare(o order) (err error) {
	if n.from[0], err = n.memory.Segment(0, o.bytes); err != nil {
		return err
	}
	if n.into[0], err = n.memory.Segment(mostBytes, o.bytes); err != nil {
		return err
	}
	switch o.name {
	case "mailbox":
		if n.remote, err = n.peer.Slice(mostBytes, o.bytes); err != nil {
			return err
		}
		n.last, err = mem.PeerByteAt(n.memory, mostBytes+o.bytes-1)
		n.last.Store(0)
	case "roundtrip", "rate", "paced":
		for i := range n.receives {
			n.receives[i] = udat.Post{Operation: udat.DTOReceive, Segments: n.into[:]}
		}
		if o.name == "rate" && !n.server {
			return nil
		}
		n.left, n.used = o.count, min(o.count, mostReceives)
		err = n.postReceives()
	}
	return err
}

// postReceives posts those that are used, unless no more messages will come.
func (n *node) postReceives() error {
	for more := min(n.left, n.used); more > 0; {
		posted, err := n.ep.PostBatch(n.receives[:min(more, burst)])
		if err != nil {
			return err
		}
		more -= posted
		n.left -= posted
	}
	n.used = 0
	return nil
}

// take takes the completions that are there, up to a number and a burst.
func (n *node) take(evd *udat.EVD, most int) (int, error) {
	taken, err := evd.Poll(n.events[:min(most, burst)])
	if err != nil {
		return 0, err
	}
	return taken, n.check(taken)
}

func (n *node) check(taken int) error {
	for i := range taken {
		if err := n.events[i].Err(); err != nil {
			return err
		}
	}
	return nil
}

// some takes at least one completion, and up to a number and a burst. It spins or sleeps until one is there.
func (n *node) some(evd *udat.EVD, most int, polling bool) (taken int, err error) {
	for polling && taken == 0 && err == nil {
		taken, err = evd.SpinPoll(n.events[:min(most, burst)], time.Millisecond)
	}
	if !polling {
		taken, err = evd.WaitBatch(n.ctx, n.events[:min(most, burst)], 1)
	}
	if err != nil {
		return 0, err
	}
	return taken, n.check(taken)
}

// posted counts a send or write. Of many, completions are taken.
func (n *node) posted() error {
	if n.outstanding++; n.outstanding < burst {
		return nil
	}
	taken, err := n.take(n.requestsDone, n.outstanding-1)
	n.outstanding -= taken
	return err
}

// finish takes the completions of all outstanding sends and writes.
func (n *node) finish() error {
	for n.outstanding > 0 {
		taken, err := n.some(n.requestsDone, n.outstanding, true)
		if err != nil {
			return err
		}
		n.outstanding -= taken
	}
	return nil
}

// roundTrips returns how long each round trip took. The server answers each message, or each write to its memory. Whatever
// can wait until a message is on its way is done then: receives are posted, and completions are taken, many at a time.
func (n *node) roundTrips(o order) ([]time.Duration, error) {
	times := make([]time.Duration, o.count)
	start := time.Now()
	before := time.Duration(0)
	for i := range times {
		if n.server {
			if err := n.await(o, byte(i+1)); err != nil {
				return nil, err
			}
		}
		if err := n.answer(o, byte(i+1)); err != nil {
			return nil, err
		}
		if n.used >= burst {
			if err := n.postReceives(); err != nil {
				return nil, err
			}
		}
		if !n.server {
			if err := n.await(o, byte(i+1)); err != nil {
				return nil, err
			}
		}
		after := time.Since(start)
		times[i] = after - before
		before = after
	}
	return times, n.finish()
}

// answer sends a message, or writes one whose last byte is the number into the peer's memory.
func (n *node) answer(o order, number byte) (err error) {
	if o.name == "mailbox" {
		n.memory.Bytes()[o.bytes-1] = number
		err = n.ep.PostRDMAWrite(n.from[:], 0, n.remote, 0)
	} else {
		err = n.ep.PostSend(n.from[:], 0, 0)
	}
	if err != nil {
		return err
	}
	return n.posted()
}

// await takes one message, or spins until the peer has written the number or the connection has ended.
func (n *node) await(o order, number byte) error {
	if o.name != "mailbox" {
		n.used++
		_, err := n.some(n.receivesDone, 1, o.how == "poll")
		return err
	}
	for {
		if arrived, err := n.last.SpinUntil(number, time.Millisecond); arrived || err != nil {
			return err
		}
		if event, err := n.connections.Dequeue(); err == nil {
			return event.Number
		}
	}
}

// tail has more of times than their median, in nanoseconds.
type tail struct{ p90, p99 float64 }

// summarize returns the median in nanoseconds, and keeps the tail. All are 0 without samples.
func (n *node) summarize(times []time.Duration) float64 {
	if len(times) == 0 {
		return 0
	}
	slices.Sort(times)
	at := func(percent int) float64 { return float64(times[len(times)*percent/100]) }
	n.tail = tail{at(90), at(99)}
	return at(50)
}

// sink takes messages, and posts their receives again.
func (n *node) sink(o order) error {
	for left := o.count; left > 0; {
		taken, err := n.some(n.receivesDone, burst, o.how == "poll")
		if err != nil {
			return err
		}
		left -= taken
		if n.used += taken; n.used >= burst {
			if err := n.postReceives(); err != nil {
				return err
			}
		}
	}
	return nil
}

// stream keeps as many requests outstanding as the window has, and returns the time of one.
func (n *node) stream(o order) (float64, error) {
	operations := map[string]udat.DTO{"rate": udat.DTOSend, "write": udat.DTORDMAWrite, "read": udat.DTORDMARead}
	post := udat.Post{Operation: operations[o.name], Segments: n.from[:]}
	if o.name != "rate" {
		post.Remote = n.peer
		post.Remote.SegmentLength = uint32(o.bytes)
	}
	batch := slices.Repeat([]udat.Post{post}, o.window)
	begin := time.Now()
	for posted, completed := 0, 0; completed < o.count; {
		if room := min(o.count-posted, o.window-(posted-completed)); room > 0 {
			accepted, err := n.ep.PostBatch(batch[:room])
			if err != nil {
				return 0, err
			}
			posted += accepted
		}
		taken, err := n.some(n.requestsDone, burst, o.how == "poll")
		if err != nil {
			return 0, err
		}
		completed += taken
	}
	return float64(time.Since(begin)) / float64(o.count), nil
}
