package mpi

import (
	"fmt"
	"iter"
	"slices"
	"strings"
)

// When the time of a rank ends, its error lists whom it awaits. In a collective operation that is often a rank that
// waits itself. So a rank that falls asleep says in its lines whom it awaits, and the rank whose time ends follows that
// to the one that awaits nobody. The other ranks hear of that one.

// expected is what this rank waits for.
type expected struct {
	rank int // in the world, or AnySource
	what string
}

// awaited lists what this rank waits for, collective operations first. The caller holds mu.
func (w *World) awaited() iter.Seq[expected] {
	return func(yield func(expected) bool) {
		for _, c := range w.comms {
			for _, s := range c.running {
				for _, r := range s.receives {
					if !r.request.done && !yield(expected{r.source, s.name}) {
						return
					}
				}
			}
		}
		if !w.driven {
			return // no goroutine waits for other messages
		}
		for r := range w.matcher.receives() {
			if r.part == nil && !yield(expected{r.source, "send"}) {
				return
			}
		}
		for _, p := range w.linked {
			if len(p.queue)+len(p.offers) > 0 && !yield(expected{p.rank, "receive"}) {
				return
			}
		}
	}
}

// firstAwaited returns one of the ranks that this rank waits for, or -1.
func (w *World) firstAwaited() int {
	for e := range w.awaited() {
		if e.rank != AnySource && e.rank != w.rank {
			return e.rank
		}
	}
	return -1
}

// culprit follows what the ranks have said from one to the one that awaits nobody, as far as this rank knows.
func (w *World) culprit(rank int) int {
	for range w.peers {
		p := w.peers[rank]
		if p.link != connected || !p.asleep() || p.lastLine.notice != 0 || p.lastLine.rank == 0 {
			break
		}
		next := int(p.lastLine.rank) - 1
		if next == w.rank || next >= len(w.peers) {
			break
		}
		rank = next
	}
	return rank
}

// late returns the rank that is to blame when the time of this one has ended, or -1, and the error.
func (w *World) late(cause error) (blamed int, err error) {
	var texts []string
	blamed = -1
	for e := range w.awaited() {
		text := fmt.Sprintf("any rank (%s)", e.what)
		if e.rank != AnySource {
			text = fmt.Sprintf("rank %d (%s)", e.rank, e.what)
		}
		if e.rank != AnySource && e.rank != w.rank {
			culprit := w.culprit(e.rank)
			if culprit != e.rank {
				text += fmt.Sprintf(", which awaits rank %d", culprit)
			}
			if blamed < 0 {
				blamed = culprit
			}
		}
		if !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
	}
	if len(texts) == 0 {
		return -1, cause
	}
	if len(texts) > mostListed {
		texts = append(texts[:mostListed], "and others")
	}
	return blamed, fmt.Errorf("%w: this rank awaits %s", cause, strings.Join(texts, "; "))
}

// expire ends the world at the end of the context.
func (w *World) expire(cause error) {
	blamed, err := w.late(cause)
	if blamed < 0 {
		w.fail(err)
		return
	}
	w.failTelling(err, noticeLate, blamed)
}

// mostListed is how many of those who are awaited an error lists.
const mostListed = 10
