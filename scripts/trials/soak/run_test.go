//go:build linux

package soak

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/goudat/goudat/scripts/trials/internal/process"
	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/udattest"
)

var seedFlag = flag.Uint64("soak.seed", 1, "determines what is sent, and when and how connections end")

func TestMain(m *testing.M) {
	debug.SetTraceback("system") // a crash in the library prints all goroutines
	udattest.Patience = bound
	udattest.Main(m)
}

// openLine makes two ends and a service point. They are freed when the test ends.
func openLine(t *testing.T, ia *udat.IA, number int, tally *tally) *line {
	t.Helper()
	attr := udattest.DefaultAttr(t, ia)
	attr.MaxRecvDTOs, attr.MaxRequestDTOs = posted, window
	open := func() *end {
		e := &end{ia: ia, attr: &attr, iwarp: udattest.IWARP(t, ia)}
		t.Cleanup(func() {
			if err := e.close(); err != nil {
				t.Error(err)
			}
		})
		if err := e.open(); err != nil {
			t.Fatal(err)
		}
		return e
	}
	listener := udattest.Listen(t, ia)
	return &line{
		number:   number,
		client:   open(),
		server:   open(),
		address:  connectTo{udattest.Address(t, ia), listener.ConnQual},
		requests: listener.Requests,
		rand:     rand.New(rand.NewPCG(*seedFlag, uint64(number))),
		tally:    tally,
	}
}

// openLines makes lines that share a tally.
func openLines(t *testing.T, ia *udat.IA, n int) []*line {
	t.Helper()
	total := &tally{began: time.Now()}
	lines := make([]*line, n)
	for i := range lines {
		lines[i] = openLine(t, ia, i, total)
	}
	return lines
}

// run runs lines in parallel until next has no more plans or one fails. It returns the tally.
func run(t *testing.T, lines []*line, next func(ln *line) (p *plan, again bool)) *tally {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	failures := make(chan error, len(lines))
	for _, ln := range lines {
		go func() {
			for ctx.Err() == nil {
				p, again := next(ln)
				if !again {
					break
				}
				if err := ln.live(p); err != nil {
					cancel()
					failures <- err
					return
				}
			}
			failures <- nil
		}()
	}
	var err error
	for range lines {
		err = errors.Join(err, <-failures)
	}
	if err != nil {
		t.Fatal(err)
	}
	return lines[0].tally
}

// tally counts connections and operations.
type tally struct {
	began time.Time

	mu           sync.Mutex
	connections  int
	notMade      int // connections that ended before they were established
	requests     int
	acknowledged int
	messages     int

	made, over, renewed duration
}

func (c *tally) add(m *moments, both ...*life) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.connections++
	if !both[0].wasEstablished || !both[1].wasEstablished {
		c.notMade++
	}
	c.made.add(m.made.Sub(m.begun))
	c.over.add(m.over.Sub(m.acted))
	c.renewed.add(m.renewed.Sub(m.over))
	for _, l := range both {
		c.requests += l.requested
		c.acknowledged += l.acknowledged
		c.messages += l.messages
	}
}

func (c *tally) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return fmt.Sprintf("%d connections in %v, %d of which ended during establishment; %d of %d requests succeeded, %d messages arrived; "+
		"established within %v, ended within %v, ready for the next within %v",
		c.connections, time.Since(c.began).Round(time.Second), c.notMade, c.acknowledged, c.requests, c.messages, c.made, c.over, c.renewed)
}

// measured runs a scenario on an adapter of its own, first for a short while and then in full. It checks that the
// process holds no more at the end than after the short run. The page has the scenario's name and result.
func measured(t *testing.T, what string, warmUp, do func(t *testing.T, ia *udat.IA) *tally) {
	for _, name := range udattest.Names(t) {
		t.Run(name, func(t *testing.T) {
			udattest.Open(t, name) // stays open: the library keeps some descriptors of the last adapter
			if !t.Run("warming up", func(t *testing.T) { warmUp(t, udattest.Open(t, name)) }) {
				return
			}
			before := measure(t)
			var total *tally
			if !t.Run("running", func(t *testing.T) { total = do(t, udattest.Open(t, name)) }) {
				return
			}
			now := measureWithin(t, before)
			t.Log(total)
			t.Log(growth(before, now))
			if now.isMoreThan(before) {
				t.Errorf("the process holds more than it did, seed %d", *seedFlag)
				return
			}
			writePage(t, what, name, fmt.Sprintf("%v; %s", total, growth(before, now)))
		})
	}
}

// duration is the total and the longest time of something.
type duration struct {
	times     int
	sum, most time.Duration
}

func (d *duration) add(took time.Duration) {
	d.times++
	d.sum += took
	d.most = max(d.most, took)
}

func (d duration) String() string {
	return fmt.Sprintf("%v (%v on average)", d.most.Round(time.Millisecond), (d.sum / time.Duration(max(d.times, 1))).Round(time.Millisecond))
}

var pageFlag = flag.String("soak.page", "", "add the results to the table of long runs in this file")

// writePage adds a row to the table of long runs. It replaces a row of the same kind and length. A run of another
// length has a row of its own.
func writePage(t *testing.T, what, provider, saw string) {
	t.Helper()
	if *pageFlag == "" {
		return
	}
	const begin, end = "<!-- long runs -->\n| what runs | provider | what was seen |\n|---|---|---|\n", "<!-- end of long runs -->"
	err := process.ReplaceInPage(*pageFlag, begin, end, func(table string) string {
		key := fmt.Sprintf("| %s | %s |", what, provider)
		rows := slices.DeleteFunc(strings.SplitAfter(table, "\n"), func(row string) bool { return row == "" || strings.HasPrefix(row, key) })
		rows = append(rows, fmt.Sprintf("%s %s |\n", key, saw))
		slices.Sort(rows)
		return strings.Join(rows, "")
	})
	if err != nil {
		t.Fatal(err)
	}
}
