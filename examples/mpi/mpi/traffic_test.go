package mpi

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// Random messages, long and short, between all pairs of ranks in two communicators are received with and without
// wildcards. Each arrives once and whole, and none overtakes another that the same receive could have got. All messages
// can go through the rings, and all can go as events, whatever the machine would choose.
func TestTraffic(t *testing.T) {
	for _, task := range []string{"traffic", "traffic by rings", "traffic by events"} {
		t.Run(task, func(t *testing.T) { runRanks(t, 4, task) })
	}
}

// planned is a message of the plan. All ranks compute the same plan.
type planned struct {
	number       int // in the plan; messages of a pair are in this order
	comm         int // index of the communicator
	source, dest int
	tag, length  int
}

func makePlan(ranks int) []planned {
	random := rand.New(rand.NewPCG(1, 0))
	plan := make([]planned, 600)
	for i := range plan {
		plan[i] = planned{i, random.IntN(2), random.IntN(ranks), random.IntN(ranks), random.IntN(3), 1 + random.IntN(50)}
		switch random.IntN(10) {
		case 0:
			plan[i].length = eagerLimit/4 - 1 + random.IntN(3)
		case 1:
			plan[i].length = 1 + random.IntN(20000)
		}
	}
	return plan
}

// contents returns numbers that begin with the number of the message.
func (p planned) contents() []int32 {
	numbers := make([]int32, p.length)
	for i := range numbers {
		numbers[i] = int32(p.number * (i + 1))
	}
	return numbers
}

func traffic(w *World, by ways) error {
	w.mu.Lock()
	w.ways = by
	before := w.stats
	w.mu.Unlock()
	other := must(w.Dup())
	comms := []*Comm{w.Comm, other}
	// All messages of this rank are sent before any is waited for: a receiver may want the last message first.
	plan := makePlan(w.Size())
	var requests []*Request
	for _, p := range plan {
		if p.source == w.Rank() {
			requests = append(requests, Isend(comms[p.comm], p.contents(), p.dest, p.tag))
		}
	}
	check(receivePlan(comms, plan))
	must(Waitall(requests...))
	after := w.Stats()
	short, eager := after.Short-before.Short, after.Eager-before.Eager
	if by == byRings && short < eager || by == byEvents && eager < 20 || after.Offered == 0 {
		return fmt.Errorf("%d messages went through rings, %d as events, and %d were offered", short, eager, after.Offered)
	}
	return nil
}

// receivePlan receives the messages for this rank, a few at a time. The receives that are posted together have wildcards
// in the same places, so that no receive gets the only message that another could have got.
func receivePlan(comms []*Comm, plan []planned) error {
	random := rand.New(rand.NewPCG(3, uint64(comms[0].Rank())))
	missing := slices.DeleteFunc(plan, func(p planned) bool { return p.dest != comms[0].Rank() })
	for len(missing) > 0 {
		anySource, anyTag, probe := random.IntN(2) == 0, random.IntN(2) == 0, random.IntN(4) == 0
		var wanted []planned
		var buffers [][]int32
		var requests []*Request
		for _, i := range random.Perm(len(missing))[:min(len(missing), 1+random.IntN(8))] {
			p := missing[i]
			if anySource {
				p.source = AnySource
			}
			if anyTag {
				p.tag = AnyTag
			}
			wanted = append(wanted, p)
		}
		for _, p := range wanted {
			source, tag, length := p.source, p.tag, 20000
			if probe {
				status := must(Probe(comms[p.comm], source, tag))
				source, tag, length = status.Source, status.Tag, status.Count
			}
			buffer := make([]int32, length)
			buffers, requests = append(buffers, buffer), append(requests, Irecv(comms[p.comm], buffer, source, tag))
		}
		for i, p := range wanted {
			status := must(requests[i].Wait())
			// It must be the first message from its source that the receive could get.
			at := slices.IndexFunc(missing, func(m planned) bool {
				return m.source == status.Source && m.comm == p.comm && (anyTag || m.tag == p.tag)
			})
			if at < 0 || missing[at].tag != status.Tag || !slices.Equal(buffers[i][:status.Count], missing[at].contents()) {
				return fmt.Errorf("a receive for %+v got %+v, %d first, or other contents", p, status, buffers[i][0])
			}
			missing = slices.Delete(missing, at, at+1)
		}
	}
	return nil
}
