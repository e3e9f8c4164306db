package mpi

import (
	"math/rand/v2"
	"slices"
	"testing"
)

func TestEnvelope(t *testing.T) {
	m := envelope{context: 4, source: 2, tag: 7}
	for e, want := range map[envelope]bool{
		{4, 2, 7}: true, {4, AnySource, 7}: true, {4, 2, AnyTag}: true, {4, AnySource, AnyTag}: true,
		{5, 2, 7}: false, {4, 1, 7}: false, {4, 2, 6}: false, {5, AnySource, AnyTag}: false, {4, AnySource, 6}: false,
	} {
		if got := e.takes(m); got != want {
			t.Errorf("%+v takes %+v: %v", e, m, got)
		}
	}
}

// The hash tables match as lists do, when receives are withdrawn, too.
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
					if !m.withdraw(posted[i]) || m.withdraw(posted[i]) {
						t.Fatal("a receive that waits is not there, or is there twice")
					}
					posted = slices.Delete(posted, i, i+1)
				}
			}
		}
		if m.posted.count != len(posted) || m.unexpected.count != patterns*len(kept) {
			t.Fatalf("%d receives and %d places of messages are left, want %d and %d", m.posted.count, m.unexpected.count, len(posted), patterns*len(kept))
		}
		for context := range uint32(2) {
			var want []*message
			for _, u := range kept {
				if u.context == context {
					want = append(want, u)
				}
			}
			if got := slices.Collect(m.messages(context)); !slices.Equal(got, want) {
				t.Fatalf("%d messages of a context, want %d", len(got), len(want))
			}
		}
	}
}

// Receives and messages that match in the reverse order of their tags are found within some steps each, however many
// there are.
func TestMatchingReversed(t *testing.T) {
	const count, steps = 100_000, 20
	for _, source := range []int{1, AnySource} {
		var m matcher
		for tag := range count {
			m.keep(&message{envelope: envelope{0, 1, tag}})
		}
		walked := 0
		for tag := count - 1; tag >= 0; tag-- {
			e := envelope{0, source, tag}
			walked += m.unexpected.passed(e)
			if got := m.post(&receive{envelope: e}); got == nil || got.tag != tag {
				t.Fatalf("the receive of tag %d gets %+v", tag, got)
			}
		}
		for tag := range count {
			m.post(&receive{envelope: envelope{0, source, tag}})
		}
		for tag := count - 1; tag >= 0; tag-- {
			walked += m.posted.passed(envelope{0, source, tag})
			if got := m.arrive(envelope{0, 1, tag}); got == nil || got.tag != tag {
				t.Fatalf("the message of tag %d goes to %+v", tag, got)
			}
		}
		if walked > steps*2*count {
			t.Errorf("source %d: %d searches passed %d other items", source, 2*count, walked)
		}
	}
}

// passed returns how many items with other keys a search passes.
func (t *table[T]) passed(key envelope) (items int) {
	for l := t.list(key).first; l != nil && l.key != key; l = l.next {
		items++
	}
	return items
}
