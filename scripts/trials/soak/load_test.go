//go:build linux

package soak

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/goudat/goudat/udat"
)

var loadFlag = flag.Duration("soak.load", 3*time.Second, "how long connections are kept busy and broken, with each provider")

// Both ends keep eight connections busy. The connections end at random moments, by either end or both, and are made
// again.
func TestLoad(t *testing.T) {
	const lines = 8
	load := func(during time.Duration) func(*testing.T, *udat.IA) *tally {
		return func(t *testing.T, ia *udat.IA) *tally {
			opened := openLines(t, ia, lines)
			until := time.Now().Add(during)
			defer report(t, during)()
			return run(t, opened, func(ln *line) (*plan, bool) {
				return randomPlan(ln.rand), time.Now().Before(until)
			})
		}
	}
	what := fmt.Sprintf("%d connections under load, for %v", lines, *loadFlag)
	measured(t, what, load(min(*loadFlag, 10*time.Second)), load(*loadFlag))
}

// randomPlan returns a random plan for a connection.
func randomPlan(r *rand.Rand) *plan {
	p := &plan{early: r.IntN(12) == 0}
	for i := range p.renewal {
		p.renewal[i] = []renewal{reset, reset, reset, reset, remake, remake, remake, remakeAll}[r.IntN(8)]
	}
	how := func() way { return way(r.IntN(int(ways))) }
	if p.early {
		p.acts = []act{{how: []way{abruptly, byFreeing}[r.IntN(2)], after: random(r, 30*time.Millisecond)}}
		return p
	}
	within := []time.Duration{time.Millisecond, 10 * time.Millisecond, 100 * time.Millisecond, 2 * time.Second}[r.IntN(4)]
	after := random(r, within)
	if who := r.IntN(3); who < 2 {
		p.acts = []act{{server: who == 1, how: how(), after: after}}
		return p
	}
	together := random(r, 2*time.Millisecond)
	p.acts = []act{{how: how(), after: after}, {server: true, how: how(), after: after + together}}
	if r.IntN(2) == 0 {
		p.acts[0].after, p.acts[1].after = p.acts[1].after, p.acts[0].after
	}
	return p
}

func random(r *rand.Rand, most time.Duration) time.Duration {
	return time.Duration(r.Int64N(int64(most)))
}

// report prints now and then what the process holds, until it is stopped.
func report(t *testing.T, during time.Duration) (stop func()) {
	done := make(chan struct{})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		ticker := time.NewTicker(max(during/30, time.Second))
		defer ticker.Stop()
		for {
			select {
			case <-done:
				return
			case <-ticker.C:
				t.Log(measure(t))
			}
		}
	}()
	return func() { close(done); <-ended }
}
