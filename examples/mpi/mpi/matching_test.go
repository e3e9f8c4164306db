package mpi

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// takes reports whether a receive with envelope e accepts a message with envelope m.
func (e envelope) takes(m envelope) bool {
	return e.context == m.context && (e.source == AnySource || e.source == m.source) && (e.tag == AnyTag || e.tag == m.tag)
}

// The tables match as lists do, when receives are withdrawn, too.
func TestMatchingLikeLists(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for range 200 {
		var m matcher
		var posted []*receive
		var kept []*message
		for range 300 {
			e := envelope{uint32(random.IntN(2)), random.IntN(4), random.IntN(20)}
			switch random.IntN(5) {
			case 0, 1:
				i := slices.IndexFunc(posted, func(r *receive) bool { return r.takes(e) })
				var want *receive
				if i >= 0 {
					want = posted[i]
					posted = slices.Delete(posted, i, i+1)
				}
				if got := m.arrive(e); got != want {
					t.Fatalf("%+v goes to %+v, want %+v", e, got, want)
				}
				if want == nil {
					kept = append(kept, &message{envelope: e})
					m.keep(kept[len(kept)-1])
				}
			case 2, 3:
				r := &receive{envelope: e.pattern(random.IntN(patterns))}
				i := slices.IndexFunc(kept, func(u *message) bool { return r.takes(u.envelope) })
				var want *message
				if i >= 0 {
					want = kept[i]
					kept = slices.Delete(kept, i, i+1)
				} else {
					posted = append(posted, r)
				}
				if got := m.post(r); got != want {
					t.Fatalf("%+v gets %+v, want %+v", r.envelope, got, want)
				}
			case 4:
				if len(posted) > 0 {
					i := random.IntN(len(posted))
					m.withdraw(posted[i])
					posted = slices.Delete(posted, i, i+1)
				}
			}
		}
		if got := m.receives(); len(got) != len(posted) {
			t.Fatalf("%d receives are left, want %d", len(got), len(posted))
		}
		for context := range uint32(2) {
			var want []*message
			for _, u := range kept {
				if u.context == context {
					want = append(want, u)
				}
			}
			if got := m.messages(context); !slices.Equal(got, want) {
				t.Fatalf("%d messages of a context, want %d", len(got), len(want))
			}
		}
	}
}

// Many receives and messages that match in the reverse order of their tags are found without a search: it took 20 s.
func TestMatchingReversed(t *testing.T) {
	const count, bound = 100_000, 5 * time.Second
	for _, source := range []int{1, AnySource} {
		var m matcher
		began := time.Now()
		for tag := range count {
			m.keep(&message{envelope: envelope{0, 1, tag}})
		}
		for tag := count - 1; tag >= 0; tag-- {
			if got := m.post(&receive{envelope: envelope{0, source, tag}}); got == nil || got.tag != tag {
				t.Fatalf("the receive of tag %d gets %+v", tag, got)
			}
		}
		for tag := range count {
			m.post(&receive{envelope: envelope{0, source, tag}})
		}
		for tag := count - 1; tag >= 0; tag-- {
			if got := m.arrive(envelope{0, 1, tag}); got == nil || got.tag != tag {
				t.Fatalf("the message of tag %d goes to %+v", tag, got)
			}
		}
		if took := time.Since(began); took > bound || len(m.posted)+len(m.unexpected) > 0 {
			t.Errorf("source %d: it took %v; %d receives and %d messages stay", source, took, len(m.posted), len(m.unexpected))
		}
	}
}
