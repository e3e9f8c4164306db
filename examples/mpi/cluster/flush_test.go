//go:build linux

package cluster

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/goudat/goudat/examples/mpi/mpi"
	"github.com/goudat/goudat/udat/udattest"
	"github.com/goudat/goudat/udat/udattest/control"
)

func init() { tasks["flush"] = flush }

// flush has rank 1 put numbers into the window of rank 0 until the link fails. Rank 1 reports the last number that was
// flushed, rank 0 the one that it has.
func flush(w *mpi.World) error {
	window, err := mpi.CreateWindow[uint64](w.Comm, 1, nil)
	if err != nil {
		return err
	}
	if w.Rank() == 1 {
		for flushed := uint64(0); ; flushed++ {
			if flushed == 1 {
				sayReady(w)
			}
			err := window.Put([]uint64{flushed + 1}, 0, 0)
			if err == nil {
				err = window.Flush(0)
			}
			if errors.Is(err, mpi.ErrDied) {
				return write(w, fmt.Sprint(flushed))
			}
			if err != nil {
				return err
			}
		}
	}
	sayReady(w)
	if _, err := mpi.Recv(w.Comm, []int{0}, 1, 1); !errors.Is(err, mpi.ErrDied) {
		return fmt.Errorf("a receive returns %v", err)
	}
	there := window.Local[0]
	if err := w.Close(); !errors.Is(err, mpi.ErrDied) { // nothing can arrive later
		return err
	}
	return write(w, fmt.Sprint(there))
}

// What was flushed is at the target when the link fails.
func TestFlushedBeforeLinkCut(t *testing.T) {
	for _, adapter := range udattest.Names(t) {
		t.Run(adapter, func(t *testing.T) {
			hosts := machines(t, 2)[:2]
			ctx := context.Background()
			j := begin(t, hosts, 2, adapter, "flush", nil)
			if err := control.Cut(ctx, 1); err != nil {
				t.Fatal(err)
			}
			there := j.number(0)
			if err := control.Restore(ctx, 1); err != nil {
				t.Fatal(err)
			}
			flushed := j.number(1)
			t.Logf("%d was flushed, the target has %d", flushed, there)
			if there < flushed {
				t.Error("the target does not have what was flushed")
			}
		})
	}
}

// number waits for the report of a rank, which is a number.
func (j *job) number(rank int) (n uint64) {
	j.t.Helper()
	text := j.report(rank)
	if _, err := fmt.Sscan(text, &n); err != nil {
		j.t.Fatalf("rank %d reports %q", rank, text)
	}
	return n
}
