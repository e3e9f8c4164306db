package mpi

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"testing"
	"time"
)

// A persistent send and receive work many times, with short and long messages.
func TestPersistent(t *testing.T) { runRanks(t, 2, "persistent") }

func init() { tasks["persistent"] = persistentTask }

func persistentTask(w *World) error {
	peer := 1 - w.Rank()
	for _, length := range []int{1, 2000, 50_000} {
		out, in := make([]int32, length), make([]int32, length)
		send, err := SendInit(w.Comm, out, peer, 3)
		if err != nil {
			return err
		}
		receive, err := RecvInit(w.Comm, in, AnySource, 3)
		if err != nil {
			return err
		}
		if _, err := send.Wait(); err != nil {
			return fmt.Errorf("before the first start: %w", err)
		}
		for i := range 20 {
			out[0], out[length-1] = int32(i), int32(i)
			// Rank 1 starts its receive only after rank 0 has tried to start its send twice: a send of this
			// length cannot complete before.
			twice := length > eagerNumbers && i == 0
			if twice && w.Rank() == 1 {
				if _, err := Recv(w.Comm, []byte{}, peer, 4); err != nil {
					return err
				}
			}
			if err := Startall(receive, send); err != nil {
				return err
			}
			if twice && w.Rank() == 0 {
				if err := send.Start(); !errors.Is(err, ErrUnderWay) {
					return fmt.Errorf("a second start returns %v", err)
				}
				if err := Send(w.Comm, []byte{}, peer, 4); err != nil {
					return err
				}
			}
			if _, err := send.Wait(); err != nil {
				return err
			}
			status, err := receive.Wait()
			if err != nil || status != (Status{peer, 3, length}) || in[0] != int32(i) || in[length-1] != int32(i) {
				return fmt.Errorf("%d numbers, time %d: got %+v, %d, %w", length, i, status, in[0], err)
			}
		}
	}
	_, sends := SendInit(w.Comm, []int{1}, 2, 0)
	_, receives := RecvInit(w.Comm, []int{1}, 0, -2)
	if !errors.Is(sends, ErrArgument) || !errors.Is(receives, ErrArgument) {
		return fmt.Errorf("bad arguments: got %v and %v", sends, receives)
	}
	return nil
}

// A cancelled receive gets no message, and a receive that has its message cannot be cancelled. A send can be
// cancelled if it has not begun.
func TestCancel(t *testing.T) { runRanks(t, 2, "cancel") }

func init() { tasks["cancel"] = cancelTask }

func cancelTask(w *World) error {
	peer := 1 - w.Rank()
	var first, second [1]int
	cancelled, kept := Irecv(w.Comm, first[:], peer, 1), Irecv(w.Comm, second[:], peer, 1)
	if _, done, err := cancelled.Test(); done || err != nil {
		return fmt.Errorf("before: %v, %v", done, err)
	}
	if !cancelled.Cancel() || cancelled.Cancel() {
		return errors.New("a receive is not cancelled once")
	}
	if _, err := cancelled.Wait(); !errors.Is(err, ErrCancelled) {
		return fmt.Errorf("a cancelled receive returns %v", err)
	}
	if err := Barrier(w.Comm); err != nil {
		return err
	}
	if err := Send(w.Comm, []int{42}, peer, 1); err != nil {
		return err
	}
	if _, err := kept.Wait(); err != nil || second[0] != 42 || first[0] != 0 {
		return fmt.Errorf("got %v and %v, %w", first, second, err)
	}
	if kept.Cancel() {
		return errors.New("a receive that is done was cancelled")
	}
	if err := Barrier(w.Comm); err != nil {
		return err
	}
	return cancelSend(w)
}

// cancelSend keeps rank 1 from handling messages until rank 0 has more to send than can be under way.
func cancelSend(w *World) error {
	keepLittle(w)
	// A rank handles all arrivals when it waits in a call, and now and then while it computes. So rank 1 waits for a
	// signal, and keeps its other goroutines from looking.
	cancelled := make(chan os.Signal, 1)
	signal.Notify(cancelled, syscall.SIGUSR1)
	defer signal.Stop(cancelled)
	processes := make([]int, 2)
	if err := Allgather(w.Comm, []int{os.Getpid()}, processes); err != nil {
		return err
	}
	const many = 600
	length := 1000
	if w.Rank() == 0 {
		var requests []*Request
		for i := range many {
			requests = append(requests, Isend(w.Comm, numbersFrom(i, length), 1, 2))
		}
		last := requests[many-1]
		taken := last.Cancel()
		if _, err := last.Wait(); taken != errors.Is(err, ErrCancelled) {
			return fmt.Errorf("a send with Cancel %v returns %v", taken, err)
		}
		if !taken {
			return errors.New("a send that waits was not cancelled")
		}
		if err := syscall.Kill(processes[1], syscall.SIGUSR1); err != nil {
			return err
		}
		if err := Send(w.Comm, []int{many - 1}, 1, 3); err != nil {
			return err
		}
		_, err := Waitall(requests[:many-1]...)
		return err
	}
	w.mu.Lock()
	said := false
	select {
	case <-cancelled:
		said = true
	case <-time.After(time.Minute):
	}
	w.mu.Unlock()
	if !said {
		return errors.New("rank 0 cancels nothing")
	}
	var sent [1]int
	if _, err := Recv(w.Comm, sent[:], 0, 3); err != nil {
		return err
	}
	got := make([]uint8, length)
	for range sent[0] {
		if _, err := Recv(w.Comm, got, 0, 2); err != nil {
			return err
		}
	}
	if _, there, err := Iprobe(w.Comm, 0, 2); there || err != nil {
		return fmt.Errorf("a cancelled message has arrived, or %w", err)
	}
	return nil
}

// Waitany returns the request that is done first.
func TestWaitany(t *testing.T) { runRanks(t, 2, "waitany") }

func init() {
	tasks["waitany"] = func(w *World) error {
		peer := 1 - w.Rank()
		var numbers [3][1]int
		var requests []*Request
		for tag := range numbers {
			requests = append(requests, Irecv(w.Comm, numbers[tag][:], peer, tag))
		}
		for _, tag := range []int{2, 0, 1} {
			if err := Barrier(w.Comm); err != nil {
				return err
			}
			if err := Send(w.Comm, []int{tag + 10}, peer, tag); err != nil {
				return err
			}
			i, status, err := Waitany(requests...)
			if i != tag || status.Tag != tag || err != nil || numbers[tag][0] != tag+10 {
				return fmt.Errorf("want %d: got %d, %+v, %v", tag, i, status, err)
			}
			requests[i] = nil
		}
		if i, _, err := Waitany(requests...); i != -1 || err != nil {
			return fmt.Errorf("without requests: %d, %v", i, err)
		}
		return nil
	}
}
