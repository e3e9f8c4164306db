//go:build linux

package soak

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/goudat/goudat/udat"
)

// way is a way to end a connection.
type way int

const (
	abruptly way = iota
	gracefully
	gracefullyThenAbruptly
	byFreeing
	ways
)

func (w way) String() string {
	return [...]string{"disconnects abruptly", "disconnects gracefully", "disconnects gracefully and then abruptly", "frees the endpoint"}[w]
}

// act is an action of one end on a connection.
type act struct {
	server bool // performs it
	how    way
	after  time.Duration // after the moment at which the plan begins
}

// plan is the plan for one connection.
type plan struct {
	early   bool // the client acts while the connection is established, or it is never established
	limit   int  // requests of each end before they act; 0: until they act
	acts    []act
	renewal [2]renewal // of client and server
}

// alone returns the event that ends the connection if only this end acts.
func (p *plan) alone(l *life) way {
	if p.early || len(p.acts) != 1 || p.acts[0].server != l.server {
		return ways
	}
	return p.acts[0].how
}

func (p *plan) String() string {
	text := ""
	for _, a := range p.acts {
		who := "client"
		if a.server {
			who = "server"
		}
		text += fmt.Sprintf("the %s %v after %v; ", who, a.how, a.after)
	}
	if p.early {
		text = "while the connection is made, " + text
	}
	return fmt.Sprintf("%sthen the client is %v, the server %v", text, p.renewal[0], p.renewal[1])
}

// connectTo is the address and qualifier of a listening server.
type connectTo struct {
	addr netip.Addr
	qual udat.ConnQual
}

// line makes connections between two ends, one after the other.
type line struct {
	number         int
	client, server *end
	address        connectTo
	requests       *udat.EVD // of the server's service point
	rand           *rand.Rand
	lives          uint32
	history        []string // of the most recent lives
	tally          *tally
}

// live makes a connection, ends it as planned, and checks everything.
func (ln *line) live(p *plan) error {
	ln.lives++
	stalled := time.AfterFunc(4*bound, func() {
		debug.SetTraceback("all")
		panic(fmt.Sprintf("line %d hangs in life %d, seed %d: %v", ln.number, ln.lives, *seedFlag, p))
	})
	defer stalled.Stop()
	if err := ln.try(p); err != nil {
		return fmt.Errorf("line %d, life %d, seed %d: %w\nin which %v\nbefore: %s", ln.number, ln.lives, *seedFlag, err, p, strings.Join(ln.history, "\n        "))
	}
	const remembered = 4
	ln.history = append(ln.history, p.String())
	ln.history = ln.history[max(len(ln.history)-remembered, 0):]
	return nil
}

func (ln *line) try(p *plan) error {
	asked, answered := ln.key(0), ln.key(1)
	client := ln.client.newLife(p, false, ln.lives, asked, answered)
	server := ln.server.newLife(p, true, ln.lives, answered, asked)
	client.peer, server.peer = server, client
	both := [2]*life{client, server}
	for _, l := range both {
		if err := l.prepare(); err != nil {
			return err
		}
	}
	m := moments{begun: time.Now()}
	outcome := make(chan error, 3)
	go func() { outcome <- named("server", server.serve(ln.requests)) }()
	if err := client.connect(ln.address); err != nil {
		return err
	}
	go func() { outcome <- named("client", client.run()) }()
	go func() { outcome <- p.disturb(client, server, &m) }()
	if err := errors.Join(<-outcome, <-outcome, <-outcome); err != nil {
		return err
	}
	m.over = time.Now()
	if err := errors.Join(named("client", client.compare()), named("server", server.compare())); err != nil {
		return err
	}
	for i, l := range both {
		if err := named([]string{"client", "server"}[i], l.finish(p.renewal[i])); err != nil {
			return err
		}
	}
	m.renewed = time.Now()
	ln.tally.add(&m, client, server)
	return nil
}

// key names the traffic of this life in one direction.
func (ln *line) key(direction uint64) key {
	return key(mix(*seedFlag)<<40 ^ uint64(ln.number)<<36 ^ direction<<35 ^ uint64(ln.lives))
}

func named(name string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", name, err)
}

// serve is run for the end that accepts.
func (l *life) serve(requests *udat.EVD) error {
	accepted, err := l.accept(requests)
	if err != nil || !accepted {
		l.established.now()
		l.over.now()
		return err
	}
	return l.run()
}

// moments are when a connection was requested, was established, was to end, had ended at both ends, and both were ready
// for the next.
type moments struct{ begun, made, acted, over, renewed time.Time }

// disturb performs the planned actions.
func (p *plan) disturb(client, server *life, m *moments) error {
	if !p.early {
		<-client.established.Done()
		<-server.established.Done()
	}
	m.made = time.Now()
	if p.limit > 0 {
		<-client.idle.Done()
		<-server.idle.Done()
	}
	m.acted = time.Now().Add(slices.MinFunc(p.acts, func(a, b act) int { return cmp.Compare(a.after, b.after) }).after)
	outcome := make(chan error, len(p.acts))
	for _, a := range p.acts {
		l := client
		if a.server {
			l = server
		}
		go func() {
			time.Sleep(a.after) // a moment that the plan has chosen
			outcome <- l.do(a.how)
		}()
	}
	var err error
	for range p.acts {
		err = errors.Join(err, <-outcome)
	}
	return err
}

// do ends the connection.
func (l *life) do(how way) (err error) {
	defer l.peer.closing.now()
	defer l.closing.now()
	switch how {
	case abruptly:
		err = l.ep.Disconnect(udat.CloseAbrupt)
	case gracefully:
		l.inTime = int(l.made.Load()) // those that are posted later may be flushed
		err = l.ep.Disconnect(udat.CloseGraceful)
	case gracefullyThenAbruptly:
		err = l.ep.Disconnect(udat.CloseGraceful)
		if err == nil {
			time.Sleep(time.Millisecond) // the graceful one is under way, or just over
			err = l.ep.Disconnect(udat.CloseAbrupt)
		}
	case byFreeing:
		l.freeing.Store(true)
		err = l.ep.Free()
		l.freed.now()
	}
	if err != nil {
		return fmt.Errorf("an end that %v: %w", how, err)
	}
	return nil
}
