package mpi

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// Random messages, long and short, between all pairs of ranks in two communicators are received with and without
// wildcards. Each arrives once and whole, and none overtakes another that the same receive could have got.
func TestTraffic(t *testing.T) { runRanks(t, 4, "traffic") }

// planned is a message of the plan. All ranks compute the same plan.
type planned struct {
	number       int // in the plan; messages of a pair are in this order
	comm         int // index of the communicator
	source, dest int
	tag, length  int
}

const (
	trafficMessages = 600
	trafficTags     = 3
	// eagerNumbers is how many numbers fit into an eager message.
	eagerNumbers = eagerLimit / 4
)

func makePlan(seed uint64, ranks int) []planned {
	random := rand.New(rand.NewPCG(seed, 0))
	plan := make([]planned, trafficMessages)
	for i := range plan {
		plan[i] = planned{
			number: i, comm: random.IntN(2), source: random.IntN(ranks), dest: random.IntN(ranks), tag: random.IntN(trafficTags),
			length: 1 + random.IntN(50),
		}
		switch random.IntN(10) {
		case 0:
			plan[i].length = eagerNumbers - 1 + random.IntN(3)
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

func traffic(w *World) error {
	other, err := w.Dup()
	if err != nil {
		return err
	}
	comms := []*Comm{w.Comm, other}
	plan := makePlan(1, w.Size())
	sent := make(chan error, 1)
	go func() { sent <- sendPlan(comms, plan) }()
	if err := receivePlan(comms, plan); err != nil {
		return err
	}
	return <-sent
}

// sendPlan sends all messages of this rank before it waits for any: a receiver may want the last message first.
func sendPlan(comms []*Comm, plan []planned) error {
	var requests []*Request
	for _, p := range plan {
		if c := comms[p.comm]; p.source == c.Rank() {
			requests = append(requests, Isend(c, p.contents(), p.dest, p.tag))
		}
	}
	_, err := Waitall(requests...)
	return err
}

// pattern is what a receive accepts.
type pattern struct{ comm, source, tag int }

func (q pattern) takes(p planned) bool {
	return q.comm == p.comm && (q.source == AnySource || q.source == p.source) && (q.tag == AnyTag || q.tag == p.tag)
}

// wildcards makes some parts of a pattern wildcards.
func (q pattern) wildcards(source, tag bool) pattern {
	if source {
		q.source = AnySource
	}
	if tag {
		q.tag = AnyTag
	}
	return q
}

// receivePlan receives the messages for this rank, a few at a time. The patterns of receives that are posted together
// have wildcards in the same places, so that no receive gets the only message that another could have got.
func receivePlan(comms []*Comm, plan []planned) error {
	random := rand.New(rand.NewPCG(3, uint64(comms[0].Rank())))
	var missing []planned
	for _, p := range plan {
		if p.dest == comms[p.comm].Rank() {
			missing = append(missing, p)
		}
	}
	for len(missing) > 0 {
		anySource, anyTag, probe := random.IntN(2) == 0, random.IntN(2) == 0, random.IntN(4) == 0
		var patterns []pattern
		for _, i := range random.Perm(len(missing))[:min(len(missing), 1+random.IntN(8))] {
			p := missing[i]
			patterns = append(patterns, pattern{p.comm, p.source, p.tag}.wildcards(anySource, anyTag))
		}
		buffers := make([][]int32, len(patterns))
		requests := make([]*Request, len(patterns))
		for i, q := range patterns {
			source, tag, length := q.source, q.tag, 20000
			if probe {
				status, err := Probe(comms[q.comm], source, tag)
				if err != nil {
					return err
				}
				source, tag, length = status.Source, status.Tag, status.Count
			}
			buffers[i] = make([]int32, length)
			requests[i] = Irecv(comms[q.comm], buffers[i], source, tag)
		}
		for i, q := range patterns {
			status, err := requests[i].Wait()
			if err != nil {
				return err
			}
			at, err := which(missing, q, status, buffers[i][:status.Count])
			if err != nil {
				return fmt.Errorf("a receive for %+v: %w", q, err)
			}
			missing = slices.Delete(missing, at, at+1)
		}
	}
	return nil
}

// which returns the missing message that a receive has got. It must be the first from its source that the receive
// could get.
func which(missing []planned, q pattern, status Status, got []int32) (int, error) {
	for i, p := range missing {
		if p.source != status.Source || !q.takes(p) {
			continue
		}
		switch {
		case p.tag != status.Tag || p.length != len(got):
			return 0, fmt.Errorf("got %+v, want %+v", status, p)
		case !slices.Equal(got, p.contents()):
			return 0, fmt.Errorf("the contents are not those of %+v: %d first", p, got[0])
		}
		return i, nil
	}
	return 0, fmt.Errorf("got %+v, but no such message is missing", status)
}
