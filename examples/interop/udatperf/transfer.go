package main

import (
	"slices"
	"time"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/mem"
)

// postReceives posts receives into the second half of the memory.
func (n *node) postReceives(bytes, count int) error {
	into, err := n.memory.Segment(mostBytes, bytes)
	if err != nil {
		return err
	}
	n.iov[0] = into
	for i := range n.receives {
		n.receives[i] = udat.Post{Operation: udat.DTOReceive, Segments: n.iov[:]}
	}
	for count > 0 {
		posted, err := n.ep.PostBatch(n.receives[:min(count, len(n.receives))])
		if err != nil {
			return err
		}
		count -= posted
	}
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

// spin takes at least one completion, and up to a number.
func (n *node) spin(evd *udat.EVD, most int) (int, error) {
	for {
		taken, err := evd.SpinPoll(n.events[:min(most, burst)], time.Millisecond)
		if err != nil {
			return 0, err
		}
		if taken > 0 {
			return taken, n.check(taken)
		}
	}
}

// spinAll takes the completions of all outstanding requests.
func (n *node) spinAll(outstanding int) error {
	for outstanding > 0 {
		taken, err := n.spin(n.requestsDone, outstanding)
		if err != nil {
			return err
		}
		outstanding -= taken
	}
	return nil
}

// some takes at least one completion, and up to a number and a burst. It spins or sleeps until one is there.
func (n *node) some(evd *udat.EVD, most int, polling bool) (int, error) {
	if polling {
		return n.spin(evd, most)
	}
	taken, err := evd.WaitBatch(n.ctx, n.events[:min(most, burst)], 1)
	if err != nil {
		return 0, err
	}
	return taken, n.check(taken)
}

// arrive takes one message.
func (n *node) arrive(polling bool) error {
	_, err := n.some(n.receivesDone, 1, polling)
	return err
}

func (n *node) expectMessages(bytes, count int) error {
	return n.postReceives(bytes, min(count, mostReceives))
}

// roundTrips returns how long each round trip took. The server answers each message. Whatever can wait until a message
// is on its way is done then: receives are posted, and completions of sends are taken, many at a time. how is "poll",
// "wait" or "sleep".
func (n *node) roundTrips(bytes, count int, how string) ([]time.Duration, error) {
	polling := how == "poll"
	from, err := n.memory.Segment(0, bytes)
	if err != nil {
		return nil, err
	}
	iov := [...]udat.Segment{from}
	times := make([]time.Duration, count)
	posted, outstanding, used := min(count, mostReceives), 0, 0
	if !n.server {
		if err := n.expectMessages(bytes, count); err != nil {
			return nil, err
		}
	}
	start := time.Now()
	before := time.Duration(0)
	for i := range count {
		if n.server {
			if err := n.arrive(polling); err != nil {
				return nil, err
			}
		}
		if err := n.ep.PostSend(iov[:], 0, 0); err != nil {
			return nil, err
		}
		if outstanding++; outstanding >= burst {
			taken, err := n.take(n.requestsDone, outstanding-1)
			if err != nil {
				return nil, err
			}
			outstanding -= taken
		}
		if used == burst {
			more := min(count-posted, used)
			if err := n.postReceives(bytes, more); err != nil {
				return nil, err
			}
			posted += more
			used = 0
		}
		if !n.server {
			if err := n.arrive(polling); err != nil {
				return nil, err
			}
		}
		used++
		after := time.Since(start)
		times[i] = after - before
		before = after
	}
	if err := n.spinAll(outstanding); err != nil {
		return nil, err
	}
	return times, nil
}

// tail has more of times than their median, in nanoseconds.
type tail struct {
	p90, p99, p999 float64
	over           float64 // p90 divided by that of nothing beside
}

// summarize returns the median in nanoseconds, and keeps the tail. All are 0 without samples.
func (n *node) summarize(times []time.Duration) float64 {
	n.tail = tail{}
	if len(times) == 0 {
		return 0
	}
	slices.Sort(times)
	at := func(thousandths int) float64 { return float64(times[len(times)*thousandths/1000]) }
	n.tail = tail{p90: at(900), p99: at(990), p999: at(999)}
	return at(500)
}

// mean is in nanoseconds, and 0 without samples.
func mean(times []time.Duration) float64 {
	if len(times) == 0 {
		return 0
	}
	sum := time.Duration(0)
	for _, t := range times {
		sum += t
	}
	return float64(sum) / float64(len(times))
}

// lastByte returns the byte that counts the peer's writes.
func (n *node) lastByte(bytes int) (mem.PeerByte, error) {
	return mem.PeerByteAt(n.memory, mostBytes+bytes-1)
}

func (n *node) expectWrites(bytes int) error {
	last, err := n.lastByte(bytes)
	last.Store(0)
	return err
}

// measureMemoryRoundTrip returns the median in nanoseconds. The sides write to each other's memory in turn, and poll
// the last byte of their own, which counts the writes. Completions are taken many at a time, while a write is on its
// way.
func (n *node) measureMemoryRoundTrip(bytes, count int) (float64, error) {
	from, err := n.memory.Segment(0, bytes)
	if err != nil {
		return 0, err
	}
	remote, err := n.peer.Slice(mostBytes, bytes)
	if err != nil {
		return 0, err
	}
	last, err := n.lastByte(bytes)
	if err != nil {
		return 0, err
	}
	if !n.server {
		last.Store(0)
	}
	iov := [...]udat.Segment{from}
	counter := &n.memory.Bytes()[bytes-1]
	times := make([]time.Duration, count)
	outstanding := 0
	start := time.Now()
	before := time.Duration(0)
	for i := range count {
		number := byte(i + 1)
		if n.server {
			if err := n.awaitWrite(last, number); err != nil {
				return 0, err
			}
		}
		*counter = number
		if err := n.ep.PostRDMAWrite(iov[:], 0, remote, 0); err != nil {
			return 0, err
		}
		if outstanding++; outstanding >= burst {
			taken, err := n.take(n.requestsDone, outstanding-1)
			if err != nil {
				return 0, err
			}
			outstanding -= taken
		}
		if !n.server {
			if err := n.awaitWrite(last, number); err != nil {
				return 0, err
			}
		}
		after := time.Since(start)
		times[i] = after - before
		before = after
	}
	if err := n.spinAll(outstanding); err != nil {
		return 0, err
	}
	return n.summarize(times), nil
}

// awaitWrite spins, until the peer has written the number or the connection has ended.
func (n *node) awaitWrite(last mem.PeerByte, number byte) error {
	for {
		if arrived, err := last.SpinUntil(number, time.Millisecond); arrived || err != nil {
			return err
		}
		if event, err := n.connections.Dequeue(); err == nil {
			return event.Number
		}
	}
}

// sink takes messages, and posts their receives again.
func (n *node) sink(bytes, count int, polling bool) error {
	posted, used := min(count, mostReceives), 0
	for left := count; left > 0; {
		taken, err := n.some(n.receivesDone, burst, polling)
		if err != nil {
			return err
		}
		left -= taken
		if used += taken; used >= burst {
			more := min(count-posted, used)
			if err := n.postReceives(bytes, more); err != nil {
				return err
			}
			posted += more
			used = 0
		}
	}
	return nil
}

// measureRate returns messages per second.
func (n *node) measureRate(bytes, count, window int, polling bool) (float64, error) {
	if n.server {
		return 0, n.sink(bytes, count, polling)
	}
	from, err := n.memory.Segment(0, bytes)
	if err != nil {
		return 0, err
	}
	return n.stream(count, window, udat.Post{Operation: udat.DTOSend, Segments: []udat.Segment{from}}, polling)
}

// measureRDMA returns bytes per second.
func (n *node) measureRDMA(write bool, bytes, count, window int) (float64, error) {
	local, err := n.memory.Segment(0, bytes)
	if err != nil {
		return 0, err
	}
	post := udat.Post{Operation: udat.DTORDMARead, Segments: []udat.Segment{local}, Remote: n.peer}
	post.Remote.SegmentLength = uint32(bytes)
	if write {
		post.Operation = udat.DTORDMAWrite
	}
	perSecond, err := n.stream(count, window, post, true)
	return perSecond * float64(bytes), err
}

// stream keeps window requests outstanding, and returns how many completed in a second.
func (n *node) stream(count, window int, post udat.Post, polling bool) (float64, error) {
	batch := make([]udat.Post, window)
	for i := range batch {
		batch[i] = post
	}
	begin := time.Now()
	for posted, completed := 0, 0; completed < count; {
		if room := min(count-posted, window-(posted-completed)); room > 0 {
			accepted, err := n.ep.PostBatch(batch[:room])
			if err != nil {
				return 0, err
			}
			posted += accepted
		}
		taken, err := n.some(n.requestsDone, burst, polling)
		if err != nil {
			return 0, err
		}
		completed += taken
	}
	return float64(count) / time.Since(begin).Seconds(), nil
}
