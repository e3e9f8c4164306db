package mpi

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/goudat/goudat/udat/udattest"
)

// A rank that closes its world while others are in a collective operation ends the job, with errors that name it.
func TestEarlyClose(t *testing.T) {
	for _, adapter := range udattest.Names(t) {
		t.Run(adapter, func(t *testing.T) {
			out := &output{}
			job := taskJob(adapter, 3, "early close", out)
			job.Env = append(job.Env, boundVariable+"=3s")
			_ = job.Run(context.Background()) // fails, as Close does
			if strings.Count(out.text.String(), ": blames it") != 3 {
				t.Error(out.text.String())
			}
		})
	}
}

func init() {
	tasks["early close"] = func(w *World) error {
		err := Barrier(w.Comm)
		if err != nil {
			return err
		}
		if w.Rank() == victim {
			err = w.Close()
		} else if err = Barrier(w.Comm); err != nil {
			_ = w.Close()
		}
		if err := namesVictim(err); err != nil {
			return err
		}
		fmt.Println("it: blames it")
		os.Exit(0)
		return nil
	}
}

// A rank that is slow to learn that all are closing does not take another for dead that knows it.
func TestSlowClose(t *testing.T) {
	for _, adapter := range udattest.Names(t) {
		t.Run(adapter, func(t *testing.T) {
			made, _ := startWorlds(t, adapter, 2)
			slow, fast := made[0], made[1]
			slowEnds, fastEnds := make(chan error, 1), make(chan error, 1)
			for rank, w := range made {
				w.mu.Lock()
				peer := w.peers[1-rank]
				if err := w.await(func() bool { return peer.link == connected }); err != nil {
					t.Fatal(err)
				}
			}
			fast.peers[0].link = accepting // as if it closed before it knew of the connection
			fast.mu.Unlock()
			slow.closed = true
			go func() { slowEnds <- errors.Join(slow.depart(), slow.free()) }() // needs the lock after it has met the other
			go func() { fastEnds <- fast.Close() }()
			for bound := time.Now().Add(time.Second); time.Now().Before(bound) && len(fastEnds) == 0 && slow.err == nil; {
				slow.look(true, true)
			}
			if slow.err != nil {
				t.Errorf("while the other closes: %v", slow.err)
			}
			slow.mu.Unlock()
			for _, ends := range []chan error{slowEnds, fastEnds} {
				select {
				case err := <-ends:
					if err != nil {
						t.Error(err)
					}
				case <-time.After(patience):
					t.Fatal("a rank does not end")
				}
			}
		})
	}
}
