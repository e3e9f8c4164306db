package mpi

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// A rank that has accepted a connection sends nothing before the other side has, even if it has the event that it is
// connected.
func TestCallerSendsFirst(t *testing.T) {
	onAdapters(t, func(t *testing.T, adapter string) {
		caller, called := deafPair(t, adapter)
		outgoing := Isend(called.Comm, []int{1}, 0, 0)
		incoming := Irecv(caller.Comm, make([]int, 1), 1, 0)
		caller.mu.Lock()
		err := caller.peers[1].reach()
		caller.mu.Unlock()
		if err != nil {
			t.Fatal(err)
		}
		p := called.peers[0]
		until(t, called, func() bool { return p.link > accepting })
		for range slowTurns {
			until(t, called, func() bool { return true })
		}
		if p.posted != 0 {
			t.Errorf("%d operations were posted", p.posted)
		}
		until(t, caller, func() bool { return caller.peers[1].link == connected })
		until(t, called, func() bool { return outgoing.done })
		until(t, caller, func() bool { return incoming.done })
	})
}

// An offer that arrives before the event that this rank is connected is handled after it.
func TestEarlyOffer(t *testing.T) { runRanks(t, 4, "early offer") }

func earlyOffer(w *World) error {
	const length = 2 * eagerLimit
	switch w.Rank() {
	case 0:
		if _, err := Recv(w.Comm, []int{0}, 1, 0); err != nil { // rank 2 is ready
			return err
		}
		return Send(w.Comm, numbersFrom(0, length), 2, 0)
	case 1:
		if _, err := Sendrecv(w.Comm, []int{0}, 2, 0, []int{0}, 2, 0); err != nil {
			return err
		}
		if _, err := Recv(w.Comm, []int{0}, 2, 1); err != nil {
			return err
		}
		return Send(w.Comm, []int{0}, 0, 0)
	case 3:
		return nil
	}
	// The connection to rank 1 is there before this rank stops polling for events of connections.
	if _, err := Sendrecv(w.Comm, []int{0}, 1, 0, []int{0}, 1, 0); err != nil {
		return err
	}
	got := make([]uint8, length)
	request := Irecv(w.Comm, got, 0, 0)
	if err := Send(w.Comm, []int{0}, 1, 1); err != nil {
		return err
	}
	w.mu.Lock()
	sender := w.peers[0]
	for w.err == nil && len(sender.transfers) == 0 && sender.link != connected {
		// Look at everything except events of connections.
		w.empty(w.calls, (*World).callEvent)
		w.look(true, false)
	}
	deaf := sender.link == accepting
	w.mu.Unlock()
	if !deaf {
		return errors.New("rank 2 has heard of its connection though nothing told it")
	}
	if _, err := request.Wait(); err != nil {
		return err
	}
	if !slices.Equal(got, numbersFrom(0, length)) {
		return errors.New("other contents came than were sent")
	}
	return nil
}

// Ranks that may have fewer connections than peers disconnect from some, and connect again. All messages arrive in
// order, and windows work.
func TestParting(t *testing.T) { runRanks(t, 6, "parting") }

func partingTask(w *World) error {
	const bound = 3
	rounds := 16
	if longRun() {
		rounds = 80
	}
	w.mu.Lock()
	w.mostConnections = bound
	w.mu.Unlock()
	win, err := CreateWindow[int](w.Comm, w.Size())
	if err != nil {
		return err
	}
	random := rand.New(rand.NewPCG(1, 1)) // the same on all ranks
	written := make([]int, w.Size())
	for round := range rounds {
		// In each round the ranks are in pairs.
		order := random.Perm(w.Size())
		place := slices.Index(order, w.Rank())
		other := order[place^1]
		length := []int{1, 1000, 5000, 20_000}[random.IntN(4)]
		got := make([]uint8, length)
		if _, err := Sendrecv(w.Comm, numbersFrom(round+w.Rank(), length), other, round, got, other, round); err != nil {
			return err
		}
		if !slices.Equal(got, numbersFrom(round+other, length)) {
			return fmt.Errorf("round %d: %d bytes from rank %d have wrong contents", round, length, other)
		}
		if err := win.Put([]int{round}, other, w.Rank()); err != nil {
			return err
		}
		if err := win.Flush(other); err != nil {
			return err
		}
		written[other] = round
	}
	if err := win.Fence(); err != nil {
		return err
	}
	for other, round := range written {
		if win.Local[other] != round {
			return fmt.Errorf("rank %d wrote %d, want %d", other, win.Local[other], round)
		}
	}
	parted := []uint64{w.Stats().Parted}
	if err := Allreduce(w.Comm, parted, parted, Sum); err != nil {
		return err
	}
	if parted[0] < uint64(rounds/4) {
		return fmt.Errorf("ranks have disconnected %d times", parted[0])
	}
	if err := win.Free(); err != nil {
		return err
	}
	// When nothing is under way, there are no more connections than allowed.
	for until := time.Now().Add(patience / 2); ; time.Sleep(10 * time.Millisecond) {
		w.mu.Lock()
		w.trim()
		w.glance()
		n := w.connections()
		counted, there := w.endpoints()
		w.mu.Unlock()
		if counted != there {
			return fmt.Errorf("the banks count %d endpoints, but there are %d", counted, there)
		}
		if n <= bound {
			break
		}
		if time.Now().After(until) {
			return fmt.Errorf("there are %d connections, want at most %d", n, bound)
		}
	}
	// No rank closes its world while others still disconnect.
	return Barrier(w.Comm)
}

// Ranks that ask each other to disconnect at the same time do so, even if each has written its line since, which
// completes without an event.
func TestPartingAtOnce(t *testing.T) {
	onAdapters(t, func(t *testing.T, adapter string) {
		a, b := pair(t, adapter)
		deliver(t, a, b)
		deliver(t, b, a)
		for _, p := range []*peer{a.peers[1], b.peers[0]} {
			p.world.mu.Lock()
			p.farewell = toAsk
			err := p.pump()
			p.world.doze()
			asks := p.farewell == asked && p.signaled != p.posted
			p.world.mu.Unlock()
			if err != nil || !asks {
				t.Fatalf("rank %d does not ask, or writes no line after it: %v", p.world.rank, err)
			}
		}
		for end := time.Now().Add(patience); a.peers[1].link != idle || b.peers[0].link != idle; {
			if time.Now().After(end) {
				t.Fatal("they do not disconnect")
			}
			for _, w := range []*World{a, b} {
				w.mu.Lock()
				w.pollAll()
				w.mu.Unlock()
			}
		}
	})
}

// connections returns how many connections there are.
func (w *World) connections() (n int) {
	for _, p := range w.peers {
		if p.link == connected {
			n++
		}
	}
	return n
}

// endpoints counts the endpoints according to the banks, and according to the peers.
func (w *World) endpoints() (counted, there int) {
	for _, b := range w.banks {
		counted += b.used - endpointsPerBank + min(endpointsPerBank, 2*len(w.peers)+2)
	}
	for _, p := range w.peers {
		if p.ep != nil {
			there++
		}
	}
	return counted, there + len(w.givenUp)
}

// A request that was given up for the peer's own may be taken only when both ranks have agreed to disconnect. It must
// not end the connection, whose last message may not have arrived.
func TestStaleRequestWhileParting(t *testing.T) {
	w := newWorld(0, 2, Options{})
	p := w.peers[1]
	p.former, p.link = 3, parted
	greeting := make([]byte, greetingSize)
	binary.LittleEndian.PutUint32(greeting[8:], 1)
	for _, former := range []uint32{2, 3} {
		binary.LittleEndian.PutUint32(greeting[12:], former)
		if w.caller(greeting) != nil || p.link != parted || p.former != 3 {
			t.Errorf("a request after %d connections leaves the state %d, and %d connections", former, p.link, p.former)
		}
	}
}
