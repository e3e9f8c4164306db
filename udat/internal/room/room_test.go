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

// Neither part overflows, and in the end all room is free again.
func TestNeverOverflows(t *testing.T) {
	const length, native, posters, operations = 12, 8, 4, 3000
	var r Room
	r.SetLength(length)
	r.SetNative(native)
	var inLibrary, inMemory atomic.Int64
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
						inMemory.Add(-1)
						r.Leave()
					default:
					}
					continue
				}
				if n := inLibrary.Add(1); n > native {
					t.Errorf("the library's part has %d entries", n)
				}
				// In this order, so that an entry that moves in between is not counted twice.
				if n := inMemory.Load() + inLibrary.Load(); n > length {
					t.Errorf("the queue has %d entries", n)
				}
				if random.IntN(2) == 0 {
					inLibrary.Add(-1)
					r.Release(1)
					continue
				}
				inLibrary.Add(-1)
				inMemory.Add(1)
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
