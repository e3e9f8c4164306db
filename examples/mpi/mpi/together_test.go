package mpi

import (
	"errors"
	"fmt"
	"sync"
	"testing"
)

// Operations that are under way at the same time all end, with the results that they have alone: a collective
// operation beside messages, several on one communicator, and one on each of several communicators, with a goroutine
// for each.
func TestTogether(t *testing.T) { runRanks(t, 4, "together") }

func init() { tasks["together"] = togetherTask }

func togetherTask(w *World) error {
	rounds := 20
	if longRun() {
		rounds = 3000
	}
	for size := 2; size <= w.Size(); size++ {
		c, err := w.Split(b2i(w.Rank() >= size), 0)
		if err != nil {
			return err
		}
		if w.Rank() < size {
			if err := together(c, rounds); err != nil {
				return fmt.Errorf("%d ranks: %w", size, err)
			}
		}
	}
	return nil
}

func together(c *Comm, rounds int) error {
	for round := range rounds {
		if err := besideMessages(c, round); err != nil {
			return fmt.Errorf("beside messages, round %d: %w", round, err)
		}
		if err := manyAtOnce(c, round); err != nil {
			return fmt.Errorf("many at once, round %d: %w", round, err)
		}
	}
	if err := onManyComms(c, rounds); err != nil {
		return fmt.Errorf("on many communicators: %w", err)
	}
	if err := besideWindow(c, rounds); err != nil {
		return fmt.Errorf("beside a window: %w", err)
	}
	return nil
}

// besideWindow has one goroutine write to the window of another rank, and another one in collective operations.
func besideWindow(c *Comm, rounds int) error {
	win, err := CreateWindow[int](c, c.Size(), nil)
	if err != nil {
		return err
	}
	failures := make(chan error, 2)
	go func() {
		for round := range rounds {
			target := (c.Rank() + round) % c.Size()
			if err := errors.Join(win.Lock(target, Shared), win.Put([]int{round}, target, c.Rank()), win.Unlock(target)); err != nil {
				failures <- err
				return
			}
		}
		failures <- nil
	}()
	go func() {
		var err error
		for round := 0; round < rounds && err == nil; round++ {
			err = sumOf(c, round, 1)
		}
		failures <- err
	}()
	if err := errors.Join(<-failures, <-failures); err != nil {
		return err
	}
	return win.Free()
}

// sumOf adds numbers that depend on the ranks and the round, and checks the sums.
func sumOf(c *Comm, round, length int) error {
	mine, sum := make([]int, length), make([]int, length)
	for i := range mine {
		mine[i] = round + i + c.Rank()
	}
	if err := Allreduce(c, mine, sum, Sum); err != nil {
		return err
	}
	return checkSum(c, sum, round)
}

func checkSum(c *Comm, sum []int, round int) error {
	for i, got := range sum {
		if want := c.Size()*(round+i) + c.Size()*(c.Size()-1)/2; got != want {
			return fmt.Errorf("sum %d of %d is %d, want %d", i, len(sum), got, want)
		}
	}
	return nil
}

// besideMessages has messages to and from all other ranks under way during the operation.
func besideMessages(c *Comm, round int) error {
	const messages = 8
	length := 1 + round*37%1500
	var requests []*Request
	got := make([][]int, 0, messages*c.Size())
	for i := range messages {
		for distance := 1; distance < c.Size(); distance++ {
			buffer := make([]int, length)
			got = append(got, buffer)
			requests = append(requests, Irecv(c, buffer, (c.Rank()+distance)%c.Size(), i))
		}
	}
	for i := range messages {
		for distance := 1; distance < c.Size(); distance++ {
			numbers := make([]int, length)
			numbers[length-1] = round + i
			requests = append(requests, Isend(c, numbers, (c.Rank()+distance)%c.Size(), i))
		}
	}
	for i := range 4 {
		if err := sumOf(c, round+i, 1+i*50); err != nil {
			return err
		}
	}
	if _, err := Waitall(requests...); err != nil {
		return err
	}
	for i, numbers := range got {
		if want := round + i/(c.Size()-1); numbers[length-1] != want {
			return fmt.Errorf("message %d ends with %d, want %d", i, numbers[length-1], want)
		}
	}
	return nil
}

func manyAtOnce(c *Comm, round int) error {
	const operations = 12
	var requests []*Request
	sums := make([][]int, operations)
	for i := range sums {
		mine := make([]int, 1+i*20)
		for j := range mine {
			mine[j] = round + j + c.Rank()
		}
		sums[i] = make([]int, len(mine))
		requests = append(requests, Iallreduce(c, mine, sums[i], Sum))
	}
	if _, err := Waitall(requests...); err != nil {
		return err
	}
	for _, sum := range sums {
		if err := checkSum(c, sum, round); err != nil {
			return err
		}
	}
	return nil
}

func onManyComms(c *Comm, rounds int) error {
	const comms = 6
	failures := make([]error, comms)
	var running sync.WaitGroup
	for i := range comms {
		own, err := c.Dup()
		if err != nil {
			return err
		}
		running.Add(1)
		go func() {
			defer running.Done()
			for round := range rounds {
				if failures[i] = sumOf(own, round, 1+round%200); failures[i] != nil {
					return
				}
			}
		}()
	}
	running.Wait()
	return errors.Join(failures...)
}
