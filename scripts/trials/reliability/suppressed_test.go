//go:build linux

package reliability

import (
	"bytes"
	"testing"

	"github.com/goudat/goudat/scripts/vm/control"
	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/udattest"
)

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
