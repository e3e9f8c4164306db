package main

import (
	"context"
	"fmt"
	"runtime"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/goudat/goudat/udat"
)

// measureWaiters starts goroutines that wait, spread evenly over event dispatchers, and wakes all of them.
func measureWaiters(adapter string, count, evdCount int) error {
	ia, err := udat.Open(adapter)
	if err != nil {
		return err
	}
	evds := make([]*udat.EVD, evdCount)
	woken := make(chan error, count)
	before := takeStock()
	length := (count + evdCount - 1) / evdCount
	for i := range evds {
		if evds[i], err = udat.CreateEVD(ia, max(length, ownLength), nil, udat.EVDSoftware); err != nil {
			return err
		}
	}
	made := takeStock()
	var entered atomic.Int64
	for i := range count {
		go func() {
			entered.Add(1)
			_, err := evds[i%evdCount].Wait(context.Background())
			woken <- err
		}()
	}
	for entered.Load() < int64(count) {
		runtime.Gosched()
	}
	untilIdle()
	waiting := takeStock()
	fmt.Println("alive")
	begin := time.Now()
	for i := range count {
		if err := evds[i%evdCount].PostSE(uint64(i)); err != nil {
			return err
		}
	}
	for range count {
		if err := <-woken; err != nil {
			return err
		}
	}
	wake := time.Since(begin)
	most := max(waiting.threads, takeStock().threads)
	for _, evd := range evds {
		if err := evd.Free(); err != nil {
			return err
		}
	}
	fmt.Printf("result %d wake-ns/op\t%d evd-B/op\t%d waiter-B/op\t%d threads/op\n", wake, (made.resident-before.resident)/evdCount,
		(waiting.resident-made.resident)/count, most)
	return ia.Close(udat.CloseGraceful)
}

// untilIdle returns when the process has used little processor time for a while: all goroutines wait.
func untilIdle() {
	const interval = 100 * time.Millisecond
	for used := processorTime(); ; {
		time.Sleep(interval)
		now := processorTime()
		if now-used < interval/20 {
			return
		}
		used = now
	}
}

func processorTime() time.Duration {
	var usage syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &usage) != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
