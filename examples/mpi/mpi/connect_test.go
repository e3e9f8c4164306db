package mpi

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/goudat/goudat/udat"
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
	zero := []int{0}
	switch w.Rank() {
	case 0:
		must(Recv(w.Comm, zero, 1, 0)) // rank 2 is ready
		return Send(w.Comm, numbersFrom(0, length), 2, 0)
	case 1:
		must(Sendrecv(w.Comm, zero, 2, 0, []int{0}, 2, 0))
		must(Recv(w.Comm, zero, 2, 1))
		return Send(w.Comm, zero, 0, 0)
	case 3:
		return nil
	}
	// The connection to rank 1 is there before this rank stops polling for events of connections.
	must(Sendrecv(w.Comm, zero, 1, 0, []int{0}, 1, 0))
	got := make([]uint8, length)
	request := Irecv(w.Comm, got, 0, 0)
	check(Send(w.Comm, zero, 1, 1))
	w.mu.Lock()
	sender := w.peers[0]
	for w.err == nil && len(sender.transfers) == 0 && sender.link != connected {
		// Look at everything except events of connections.
		w.empty(w.calls, (*World).callEvent)
		w.look(true, false)
	}
	deaf := sender.link == accepting
	w.mu.Unlock()
	if must(request.Wait()); !deaf || !slices.Equal(got, numbersFrom(0, length)) {
		return fmt.Errorf("rank 2 has not heard of its connection: %v; or other contents came than were sent", deaf)
	}
	return nil
}

// Ranks that may have fewer connections than peers disconnect from some, and connect again. All messages arrive in
// order, and windows work.
func TestParting(t *testing.T) { runRanks(t, 6, "parting") }

func partingTask(w *World) error {
	const bound, rounds = 3, 20
	w.mu.Lock()
	w.mostConnections = bound
	w.mu.Unlock()
	win := must(CreateWindow[int](w.Comm, w.Size()))
	random := rand.New(rand.NewPCG(1, 1)) // the same on all ranks
	written := make([]int, w.Size())
	for round := range rounds {
		// In each round the ranks are in pairs.
		order := random.Perm(w.Size())
		other := order[slices.Index(order, w.Rank())^1]
		length := []int{1, 1000, 5000, 20_000}[random.IntN(4)]
		got := make([]uint8, length)
		_, err := Sendrecv(w.Comm, numbersFrom(round+w.Rank(), length), other, round, got, other, round)
		if err != nil || !slices.Equal(got, numbersFrom(round+other, length)) {
			return fmt.Errorf("round %d: %d bytes from rank %d have wrong contents, or %w", round, length, other, err)
		}
		check(errors.Join(win.Put([]int{round}, other, w.Rank()), win.Flush(other)))
		written[other] = round
	}
	if err := win.Fence(); err != nil || !slices.Equal(win.Local, written) {
		return fmt.Errorf("%v was written, want %v: %w", win.Local, written, err)
	}
	parted := []uint64{w.Stats().Parted}
	if err := errors.Join(Allreduce(w.Comm, parted, parted, Sum), win.Free()); err != nil || parted[0] < rounds/4 {
		return fmt.Errorf("ranks have disconnected %d times, %w", parted[0], err)
	}
	// When nothing is under way, there are no more connections than allowed. The endpoints end when the adapter says so.
	if err := w.awaitState(func() bool {
		w.trim()
		w.pollAll()
		counted, connections, endpoints := 0, 0, len(w.givenUp)
		for _, b := range w.banks {
			counted += b.used - endpointsPerBank + min(endpointsPerBank, 2*len(w.peers)+2)
		}
		for _, p := range w.peers {
			connections += b2i(p.link == connected)
			endpoints += b2i(p.ep != nil)
		}
		return connections <= bound && counted == endpoints
	}); err != nil {
		return err
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

// What a peer costs in a large job does not grow with the number of peers: some KiB for its rings, and no descriptor.
func TestMemoryOfPeers(t *testing.T) {
	const first, peers, most = 2 * mostReceives, 3 * mostReceives, 8 << 10 // the first include what all share
	onAdapters(t, func(t *testing.T, adapter string) {
		w := newWorld(0, peers+1, Options{})
		w.forget = func() bool { return true }
		t.Cleanup(func() {
			if err := w.free(); err != nil {
				t.Error(err)
			}
		})
		if err := w.open(adapter); err != nil {
			t.Fatal(err)
		}
		if w.iwarp {
			t.Log("not tested: soft-iWARP has queues for some 70 endpoints")
			return
		}
		var bytes, files [2]int
		for i, peers := range [][]*peer{w.peers[1 : first+1], w.peers[first+1:]} {
			for _, p := range peers {
				if err := p.equip(); err != nil {
					t.Fatal(err)
				}
			}
			runtime.GC()
			runtime.GC() // memory with finalizers takes two collections
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			blocks := map[*udat.LMR]bool{}
			for _, p := range w.linked {
				blocks[p.memory.block] = true
			}
			bytes[i] = int(m.HeapAlloc) + len(w.receives.slots)*slotSize
			for block := range blocks {
				bytes[i] += len(block.Bytes())
			}
			open, _ := os.ReadDir("/proc/self/fd")
			files[i] = len(open)
		}
		if each := (bytes[1] - bytes[0]) / (peers - first); each > most || files[1] > files[0]+2*(peers-first)/endpointsPerBank {
			t.Errorf("a peer costs %d bytes, want at most %d; %d descriptors were open, and then %d", each, most, files[0], files[1])
		}
	})
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
