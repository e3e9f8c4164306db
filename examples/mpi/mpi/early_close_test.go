package mpi

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

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
