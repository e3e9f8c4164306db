package sharedreceives

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// endpoint is an endpoint from the adapter's view.
type endpoint struct {
	holder *Holder
	has    uint64 // the receive that it has taken; 0: none
}

// model is a queue and its adapter.
type model struct {
	Tracker
	rand      *rand.Rand
	queue     []uint64 // posted, not taken
	endpoints []*endpoint
	forgotten []uint64 // by the adapter, not yet found
	known     bool     // completions name the endpoint
}

// step makes a random step.
func (m *model) step() {
	switch n := m.rand.IntN(20); {
	case n < 6:
		m.queue = append(m.queue, m.Post())
	case n == 6 && len(m.endpoints) < 5:
		m.endpoints = append(m.endpoints, &endpoint{holder: m.Join()})
	case n == 7 && len(m.endpoints) > 0:
		i := m.rand.IntN(len(m.endpoints))
		e := m.endpoints[i]
		if e.has != 0 && m.rand.IntN(2) == 0 {
			m.complete(e) // flushed
		}
		if e.has != 0 {
			m.forgotten = append(m.forgotten, e.has)
		}
		m.endpoints = slices.Delete(m.endpoints, i, i+1)
		m.Leave(e.holder)
	case len(m.endpoints) > 0:
		e := m.endpoints[m.rand.IntN(len(m.endpoints))]
		switch {
		case e.has != 0:
			m.complete(e)
		case len(m.queue) > 0:
			e.has, m.queue = m.queue[0], m.queue[1:]
		}
	}
}

func (m *model) complete(e *endpoint) {
	by := e.holder
	if !m.known && len(m.endpoints) > 1 {
		by = nil
	}
	m.Complete(e.has, by)
	e.has = 0
}

// find removes the receives that are found to be lost, and reports whether all of them are lost.
func (m *model) find() (found int, right bool) {
	first := m.FirstHeld()
	for _, e := range m.endpoints {
		if e.has != 0 && e.has < first {
			return 0, false
		}
	}
	if len(m.queue) > 0 && m.queue[0] < first {
		return 0, false
	}
	before := len(m.forgotten)
	m.forgotten = slices.DeleteFunc(m.forgotten, func(number uint64) bool { return number < first })
	return before - len(m.forgotten), true
}

// No receive is reported as lost that an endpoint or the queue has.
func TestLost(t *testing.T) {
	for _, known := range []bool{false, true} {
		found := 0
		for seed := range uint64(200) {
			m := &model{rand: rand.New(rand.NewPCG(1, seed)), known: known}
			for step := range 5000 {
				m.step()
				n, right := m.find()
				if !right {
					t.Fatalf("seed %d, step %d: a receive that is not lost is before %d", seed, step, m.FirstHeld())
				}
				found += n
			}
		}
		if found == 0 {
			t.Error("nothing was lost and found")
		}
	}
}

// A lost receive is found when all endpoints that could have it have ended or completed a later one.
func TestFound(t *testing.T) {
	var tracker Tracker
	a, b := tracker.Join(), tracker.Join()
	for range 4 {
		tracker.Post()
	}
	want := func(first uint64) {
		t.Helper()
		if got := tracker.FirstHeld(); got != first {
			t.Errorf("the first receive that may complete is %d, want %d", got, first)
		}
	}
	want(1)
	tracker.Leave(a) // with receive 1
	want(1)
	c := tracker.Join()
	tracker.Complete(2, nil) // by b or by c
	want(1)
	tracker.Complete(3, b)
	want(1) // c may have it
	tracker.Complete(4, c)
	want(4)
	tracker.Leave(b)
	want(5)
	tracker.Leave(c)
	want(5)
}
