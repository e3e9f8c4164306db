package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"time"

	"github.com/goudat/goudat/examples/internal/adapter"
	"github.com/goudat/goudat/examples/interop/internal/testprogram"
	"github.com/goudat/goudat/udat"
)

const (
	// notes is how many messages come before the pings: the place of the peer's
	// memory, the end of its writes, the end of its reads.
	notes = 3
	// pings is how many messages go back and forth.
	pings = 100
)

// node is one side: an adapter, an endpoint on it, and memory.
type node struct {
	o        options
	ia       *udat.IA
	attr     udat.IAAttr
	provider udat.ProviderAttr
	pz       *udat.PZ
	cno      *udat.CNO
	requests *udat.EVD // for connections
	connect  *udat.EVD
	request  *udat.EVD
	recv     *udat.EVD
	ep       *udat.EP

	in, out *udat.LMR // what the peer writes and reads, and what is sent and read to
	notesIn *udat.LMR // a slot for each note
	noteOut *udat.LMR

	notesSeen int
	remote    udat.RMRTriplet // the peer's in
	connected bool
	times     times
}

// newNode opens the adapter and makes everything up to an unconnected endpoint
// with receives for the notes. The caller closes the node, also when newNode fails.
func newNode(o options) (*node, error) {
	n := &node{o: o}
	for _, step := range []func() error{n.open, n.register, n.createEVDs, n.createEP, n.postNotes} {
		if err := step(); err != nil {
			return n, err
		}
	}
	return n, nil
}

func (n *node) open() error {
	err := timed(&n.times.open, func() (err error) {
		n.ia, err = adapter.Open(n.o.provider)
		return err
	})
	if err != nil {
		return err
	}
	if n.attr, n.provider, err = n.ia.Query(); err != nil {
		return err
	}
	say("opened %s: %s at %v", n.ia.Name(), n.attr.AdapterName, n.attr.Address)
	return timed(&n.times.pzCreate, func() (err error) {
		n.pz, err = udat.CreatePZ(n.ia)
		return err
	})
}

// depths returns how many receives and requests may be outstanding.
func (n *node) depths() (receives, requests int) {
	if n.o.writeOnly || n.o.writePingPong {
		return 2 * notes, notes + reads + n.o.signalRate
	}
	return notes + pings, notes + reads + max(pings, n.o.signalRate)
}

func (n *node) register() error {
	receives, _ := n.depths()
	slots := receives * n.o.size
	err := timed(&n.times.lmrCreate, func() (err error) {
		n.in, err = udat.AllocMemory(n.pz, slots, udat.MemPrivAll)
		return err
	})
	if err != nil {
		return err
	}
	if n.out, err = udat.AllocMemory(n.pz, slots, udat.MemPrivAll); err != nil {
		return err
	}
	fill(n.in.Bytes()[:n.o.size], fillIn)
	fill(n.out.Bytes()[:n.o.size], fillOut)
	const local = udat.MemPrivLocalRead | udat.MemPrivLocalWrite
	if n.notesIn, err = udat.AllocMemory(n.pz, notes*tripletSize, local); err != nil {
		return err
	}
	n.noteOut, err = udat.AllocMemory(n.pz, tripletSize, local)
	return err
}

func (n *node) createEVDs() (err error) {
	if n.o.useCNO {
		err := timed(&n.times.cnoCreate, func() (err error) {
			n.cno, err = udat.CreateCNO(n.ia, nil)
			return err
		})
		if err != nil {
			return err
		}
	}
	err = timed(&n.times.evdCreate, func() (err error) {
		n.requests, err = udat.CreateEVD(n.ia, 10, nil, udat.EVDCR)
		return err
	})
	if err != nil {
		return err
	}
	if n.connect, err = udat.CreateEVD(n.ia, 10, nil, udat.EVDConnection); err != nil {
		return err
	}
	receives, requests := n.depths()
	if n.request, err = udat.CreateEVD(n.ia, 2*requests, n.cno, udat.EVDDTO); err != nil {
		return err
	}
	n.recv, err = udat.CreateEVD(n.ia, 2*receives, n.cno, udat.EVDDTO)
	return err
}

// createEP asks for what the C program asks for. The number of reads counts for
// the peer, the rest is this side's own.
func (n *node) createEP() error {
	attr := udat.EPAttr{MaxRecvIOV: 1, MaxRequestIOV: 1, MaxRDMAReadIn: reads, MaxRDMAReadOut: reads}
	attr.MaxRecvDTOs, attr.MaxRequestDTOs = n.depths()
	return timed(&n.times.epCreate, func() (err error) {
		n.ep, err = udat.CreateEP(n.ia, n.pz, n.recv, n.request, n.connect, &attr)
		return err
	})
}

// postNotes posts a receive for each note; its number is the cookie.
func (n *node) postNotes() error {
	for i := range notes {
		segment, err := n.notesIn.Segment(i*tripletSize, tripletSize)
		if err != nil {
			return err
		}
		if err := n.ep.PostRecv([]udat.Segment{segment}, uint64(i), 0); err != nil {
			return err
		}
	}
	return nil
}

// close frees everything in the order in which it is used. It tries all.
func (n *node) close() error {
	if n.ia == nil {
		return nil
	}
	var freeing testprogram.Freeing
	free := func(made bool, total *time.Duration, free func() error) {
		freeing.Free(made, func() error { return timed(total, free) })
	}
	var untimed time.Duration
	free(n.ep != nil, &n.times.epFree, n.ep.Free)
	free(n.notesIn != nil, &untimed, n.notesIn.Free)
	free(n.noteOut != nil, &untimed, n.noteOut.Free)
	free(n.requests != nil, &untimed, n.requests.Free)
	free(n.connect != nil, &untimed, n.connect.Free)
	free(n.recv != nil, &n.times.evdFree, n.recv.Free)
	free(n.request != nil, &n.times.evdFree, n.request.Free)
	free(n.cno != nil, &n.times.cnoFree, n.cno.Free)
	free(n.in != nil, &n.times.lmrFree, n.in.Free)
	free(n.out != nil, &untimed, n.out.Free)
	free(n.pz != nil, &n.times.pzFree, n.pz.Free)
	free(true, &n.times.close, func() error { return n.ia.Close(udat.CloseGraceful) })
	return freeing.Err()
}

func (n *node) role() string {
	if n.o.server() {
		return "server"
	}
	return "client"
}

func (n *node) peer() string {
	if n.o.server() {
		return "client"
	}
	return "server"
}

func (n *node) sayMore(format string, args ...any) {
	if n.o.verbose {
		say(format, args...)
	}
}

// poll takes the next event of evd and counts how often there was none.
func poll(ctx context.Context, evd *udat.EVD, polls *int) (udat.Event, error) {
	for {
		event, err := evd.Dequeue()
		if !errors.Is(err, udat.ErrQueueEmpty) {
			return event, err
		}
		*polls++
		if err := ctx.Err(); err != nil {
			return event, err
		}
		runtime.Gosched()
	}
}

// take takes the next completion of evd in the way that the flags ask for.
func (n *node) take(ctx context.Context, evd *udat.EVD, polls *int) (udat.Event, error) {
	switch {
	case n.cno != nil:
		for {
			event, err := evd.Dequeue()
			if !errors.Is(err, udat.ErrQueueEmpty) {
				return event, err
			}
			// It may be for the other EVD, whose turn comes later.
			if _, err := n.cno.Wait(ctx); err != nil {
				return event, err
			}
		}
	case n.o.polling:
		return poll(ctx, evd, polls)
	}
	return evd.Wait(ctx)
}

// collect takes the next completion. It must be that of the operation that was posted with cookie, with the given
// number of bytes.
func (n *node) collect(ctx context.Context, evd *udat.EVD, polls *int, cookie uint64, length int) (udat.Event, error) {
	event, err := n.take(ctx, evd, polls)
	if err != nil {
		return event, err
	}
	return event, n.check(event, cookie, length)
}

func (n *node) check(event udat.Event, cookie uint64, length int) error {
	ended, err := testprogram.CheckCompletion(event, cookie, length, n.connect, "-b and -B")
	n.connected = n.connected && !ended
	return err
}

// expect waits for a connection event.
func (n *node) expect(ctx context.Context, want udat.EventNumber) (udat.Event, error) {
	if !n.o.polling {
		return n.connect.Expect(ctx, want)
	}
	event, err := poll(ctx, n.connect, &n.times.connectPolls)
	switch {
	case err != nil:
		return event, fmt.Errorf("waiting for %v: %w", want, err)
	case event.Number != want:
		return event, &udat.EventError{Want: want, Event: event}
	}
	return event, nil
}

// report prints the results once everything is freed, as that is timed too.
func (n *node) report() { n.times.print(os.Stdout, os.Getpid(), n.o) }
