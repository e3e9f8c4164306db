//go:build linux

package reliability

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"github.com/goudat/goudat/scripts/vm/control"
	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/udattest"
)

// transfer is a stream of one kind of operation from near, with its checks.
type transfer struct {
	name string
	run  transferRun
}

var transfers = []transfer{
	{"sends", (*scene).deliver},
	{"RDMA writes", (*scene).write},
	{"RDMA reads", (*scene).read},
}

// remoteSlot returns a piece of far's memory. A stream uses the slots in turn.
type remoteSlot func(number, length int) udat.RMRTriplet

// share lets near access the slots of far's memory for messages.
func (s *scene) share(e *udattest.Endpoint) remoteSlot {
	s.Helper()
	base, err := e.Memory.RMRTriplet(window*slotSize, posted*slotSize)
	s.do(err)
	var remote udat.RMRTriplet
	_, err = fmt.Sscan(s.meet(fmt.Sprint(base.VirtualAddress, base.RMRContext)), &remote.VirtualAddress, &remote.RMRContext)
	if err != nil {
		s.Fatalf("the other side has failed: %v", err)
	}
	return func(number, length int) udat.RMRTriplet {
		t := remote
		t.VirtualAddress += uint64(number % posted * slotSize)
		t.SegmentLength = uint32(length)
		return t
	}
}

// slot returns this side's own slot.
func slot(e *udattest.Endpoint, number int) []byte {
	return e.Memory.Bytes()[(window+number%posted)*slotSize:][:slotSize]
}

// write writes messages into far's memory, and checks that the acknowledged ones are there.
func (s *scene) write(e *udattest.Endpoint, n int, disturb map[int]func()) (result sent) {
	s.Helper()
	remote := s.share(e)
	if s.near() {
		all := n
		if s.iwarp {
			all++ // a read succeeds when everything before it has arrived
		}
		result = s.request(e, all, nil, disturb, func(number int) error {
			from := s.fill(e, number)
			if number == n {
				return e.PostRDMARead([]udat.Segment{from}, uint64(number), remote(number, from.Len()), 0)
			}
			return e.PostRDMAWrite([]udat.Segment{from}, uint64(number), remote(number, from.Len()), 0)
		}, nil)
		if result.acknowledged = min(result.acknowledged, n); !s.iwarp || result.failure == nil {
			result.arrived = result.acknowledged
		}
		s.tell(result.arrived)
		return result
	}
	result.acknowledged = s.tell(0)
	// Writes that were not acknowledged may have overwritten older ones.
	for number := max(0, result.acknowledged+window-posted); number < result.acknowledged; number++ {
		content := message(number)
		if !slices.Equal(slot(e, number)[:len(content)], content) {
			s.Errorf("write %d was acknowledged, but is not there", number)
		}
	}
	return result
}

// read reads messages from far's memory, and checks them.
func (s *scene) read(e *udattest.Endpoint, n int, disturb map[int]func()) (result sent) {
	s.Helper()
	if !s.near() {
		for number := range posted {
			copy(slot(e, number), message(number))
		}
		s.share(e)
		result.acknowledged = s.tell(0)
		return result
	}
	remote := s.share(e)
	place := func(number int) (offset, length int) {
		return number % window * slotSize, len(message(number % posted))
	}
	result = s.request(e, n, nil, disturb, func(number int) error {
		offset, length := place(number)
		return e.PostRDMARead([]udat.Segment{e.Segment(s.T, offset, length)}, uint64(number), remote(number, length), 0)
	}, func(number int) {
		offset, length := place(number)
		if !slices.Equal(e.Memory.Bytes()[offset:][:length], message(number%posted)) {
			s.Errorf("read %d returned other bytes", number)
		}
	})
	s.tell(result.acknowledged)
	return result
}

// Once a request has completed, the memory of the suppressed requests before it is the program's again. What the program
// writes there does not reach the peer, even if the link delays the first bytes.
func TestMemoryOfSuppressedRequests(t *testing.T) {
	play(t, "the link is cut, and the memory of a suppressed RDMA write is used again", func(s *scene) {
		e := s.connect()
		remote := s.share(e)
		before, after := bytes.Repeat([]byte{'b'}, slotSize), bytes.Repeat([]byte{'a'}, slotSize)
		if !s.near() {
			s.meet("")
			if got := slot(e, 0); !bytes.Equal(got, before) {
				s.Errorf("%d of %d bytes are what the sender wrote after the completion", bytes.Count(got, after[:1]), len(got))
			}
			s.meet("")
			return
		}
		memory := e.Memory.Bytes()[:slotSize]
		copy(memory, before)
		s.do(control.Cut(background, s.peer))
		s.do(e.PostRDMAWrite([]udat.Segment{e.Segment(s.T, 0, slotSize)}, 1, remote(0, slotSize), udat.CompletionSuppress))
		s.do(e.PostRDMAWrite([]udat.Segment{e.Segment(s.T, slotSize, 8)}, 2, remote(1, 8), 0))
		if !s.iwarp {
			s.do(control.Restore(background, s.peer)) // a request completes when the peer has it
		}
		s.succeeded(udattest.Wait(s.T, e.Request))
		copy(memory, after)
		if s.iwarp {
			s.do(control.Restore(background, s.peer))
		}
		// When a read completes, the writes before it have arrived.
		s.do(e.PostRDMARead([]udat.Segment{e.Segment(s.T, slotSize, 8)}, 3, remote(1, 8), 0))
		s.succeeded(udattest.Wait(s.T, e.Request))
		s.saw("the peer received the bytes that were there at the time of the post")
		s.meet("")
		s.meet("")
	})
}
