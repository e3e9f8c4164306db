package udat_test

import (
	"sync"
	"sync/atomic"
)

// beside calls f over and over until stop is called, or f fails. The channel that stop
// returns has the error, or nil.
func beside(f func() error) (stop func() <-chan error) {
	var over atomic.Bool
	stopped := make(chan error, 1)
	go func() {
		var err error
		for err == nil && !over.Load() {
			err = f()
		}
		stopped <- err
	}()
	return func() <-chan error {
		over.Store(true)
		return stopped
	}
}

// spawn calls f on a goroutine of the group.
func spawn(group *sync.WaitGroup, f func()) {
	group.Add(1)
	go func() {
		defer group.Done()
		f()
	}()
}
