package room

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
)

func TestTake(t *testing.T) {
	for _, test := range []struct {
		name              string
		length, native    int
		coming, queued, n int
		fits, overfull    bool
	}{
		{"empty", 8, 8, 0, 0, 8, true, false},
		{"one too many", 8, 8, 0, 0, 9, false, false},
		{"the last one", 8, 8, 7, 0, 1, true, false},
		{"full of what is to come", 8, 8, 8, 0, 1, false, false},
		{"full of what was not taken", 8, 8, 0, 8, 1, false, false},
		{"longer than the library's part", 16, 8, 8, 0, 1, false, false},
		{"what was not taken is out of the library", 16, 8, 7, 8, 1, true, false},
		{"shorter than the library's part", 4, 8, 4, 0, 1, false, false},
		{"forced", 8, 8, 9, 0, 1, false, true},
	} {
		var r Room
		r.SetLength(test.length)
		r.SetNative(test.native)
		r.Begin(test.coming, test.queued)
		if fits := r.Take(test.n); fits != test.fits {
			t.Errorf("%s: Take returns %v", test.name, fits)
		}
		if r.Overfull() != test.overfull {
			t.Errorf("%s: Overfull returns %v", test.name, r.Overfull())
		}
	}
}

// Entries that never move to memory need no room there.
func TestTakeNative(t *testing.T) {
	var r Room
	r.SetLength(8)
	r.SetNative(8)
	r.Begin(6, 2)
	for i, fits := range []bool{true, true, false} {
		if r.TakeNative(1) != fits {
			t.Errorf("TakeNative %d returns %v", i, !fits)
		}
	}
	if r.Take(1) {
		t.Error("Take finds room")
	}
}

// Neither part overflows, and in the end all room is free again. Each count goes up after
// room was taken and down before room is released, so neither is ever more than what has
// room.
func TestNeverOverflows(t *testing.T) {
	const length, native, posters, operations = 4, 2, 8, 20000
	var r Room
	r.SetLength(length)
	r.SetNative(native)
	var inLibrary, inQueue atomic.Int64
	moved := make(chan struct{}, length)
	var group sync.WaitGroup
	for seed := range uint64(posters) {
		group.Add(1)
		go func() {
			defer group.Done()
			random := rand.New(rand.NewPCG(seed, 0))
			for range operations {
				if !r.Take(1) {
					select {
					case <-moved:
						inQueue.Add(-1)
						r.Leave()
					default:
					}
					continue
				}
				if n := inQueue.Add(1); n > length {
					t.Errorf("the queue has %d entries", n)
				}
				if n := inLibrary.Add(1); n > native {
					t.Errorf("the library's part has %d entries", n)
				}
				inLibrary.Add(-1)
				if random.IntN(2) == 0 {
					inQueue.Add(-1)
					r.Release(1)
					continue
				}
				r.Queue()
				moved <- struct{}{}
			}
		}()
	}
	group.Wait()
	for len(moved) > 0 {
		<-moved
		r.Leave()
	}
	if r.Used() != 0 {
		t.Errorf("in the end %d entries have room", r.Used())
	}
}
