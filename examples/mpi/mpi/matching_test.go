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

// A message goes to the earliest receive that accepts it, and a receive gets the earliest message.
func TestMatchingOrder(t *testing.T) {
	var m matcher
	any, tag5, any2 := &receive{envelope: envelope{0, AnySource, AnyTag}}, &receive{envelope: envelope{0, AnySource, 5}}, &receive{envelope: envelope{0, 1, AnyTag}}
	for _, r := range []*receive{any, tag5, any2} {
		if m.post(r) != nil {
			t.Fatal("there is a message that did not arrive")
		}
	}
	for _, step := range []struct {
		e    envelope
		want *receive
	}{{envelope{0, 1, 5}, any}, {envelope{0, 1, 4}, any2}, {envelope{0, 1, 4}, nil}, {envelope{1, 1, 5}, nil}, {envelope{0, 3, 5}, tag5}} {
		if got := m.arrive(step.e); got != step.want {
			t.Errorf("the receive for %+v is %+v", step.e, got)
		}
	}

	first, second, other := &message{envelope: envelope{0, 1, 4}}, &message{envelope: envelope{0, 2, 4}}, &message{envelope: envelope{2, 2, 4}}
	for _, u := range []*message{other, first, second} {
		m.keep(u)
	}
	if got := m.probe(envelope{0, 2, AnyTag}); got != second {
		t.Errorf("probed %+v", got)
	}
	for _, want := range []*message{first, second, nil} {
		if got := m.post(&receive{envelope: envelope{0, AnySource, 4}}); got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
	}
}

// With random receives and messages, each message is received once, and the messages from one source reach each
// receive in order.
func TestMatchingAtRandom(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		var m matcher
		var receives []*receive
		var messages []*message
		pairs := map[*receive]*message{}
		for range 100 {
			e := envelope{uint32(random.IntN(2)), random.IntN(3), random.IntN(3)}
			if random.IntN(2) == 0 {
				u := &message{envelope: e, length: len(messages)}
				messages = append(messages, u)
				if r := m.arrive(e); r != nil {
					pairs[r] = u
				} else {
					m.keep(u)
				}
				continue
			}
			r := &receive{envelope: e}
			if random.IntN(2) == 0 {
				r.source = AnySource
			}
			if random.IntN(2) == 0 {
				r.tag = AnyTag
			}
			receives = append(receives, r)
			if u := m.post(r); u != nil {
				pairs[r] = u
			}
		}
		taken := map[*message]int{} // by which receive
		for i, r := range receives {
			if u := pairs[r]; u != nil {
				if _, again := taken[u]; again || !r.takes(u.envelope) {
					t.Fatalf("%+v got %+v", r.envelope, u)
				}
				taken[u] = i
			}
		}
		for i, r := range receives {
			u := pairs[r]
			for _, earlier := range messages {
				if !r.takes(earlier.envelope) || u != nil && (earlier.source != u.source || earlier.length >= u.length) {
					continue
				}
				if by, ok := taken[earlier]; !ok || by > i {
					t.Fatalf("%+v got %+v though %+v came before", r.envelope, u, earlier)
				}
			}
		}
		if left := slices.IndexFunc(m.posted, func(r *receive) bool { return m.probe(r.envelope) != nil }); left >= 0 {
			t.Fatalf("%+v waits though its message is there", m.posted[left].envelope)
		}
	}
}
