//go:build lockorder

package lockorder

import (
	"strings"
	"sync"
	"testing"
)

type (
	outer struct{}
	inner struct{}
)

func (outer) Place() (int, string) { return 1, "outer locks" }
func (inner) Place() (int, string) { return 2, "inner locks" }

// panics reports whether f panics with a message that contains the text.
func panics(f func(), text string) (is bool) {
	defer func() {
		message, _ := recover().(string)
		is = text != "" && strings.Contains(message, text)
	}()
	f()
	return false
}

func TestOrder(t *testing.T) {
	var a Mutex[outer]
	var b, c RWMutex[inner]
	Number(&b, 1)
	Number(&c, 2)
	a.Lock()
	b.RLock()
	c.Lock()
	b.RUnlock()
	c.Unlock()
	a.Unlock()
	if !panics(func() { b.RLock(); defer b.RUnlock(); a.Lock() }, "outer locks (0) is taken after that of inner locks (1)") {
		t.Error("an outer lock was taken after an inner one")
	}
	if !panics(func() { c.Lock(); defer c.Unlock(); b.Lock() }, "(1) is taken after that of inner locks (2)") {
		t.Error("locks of one rank were taken in the wrong order")
	}
	if !panics(func() { b.RLock(); defer b.RUnlock(); b.RLock() }, "is taken after") {
		t.Error("a lock was taken twice for reading")
	}
	if !panics(func() { a.Lock(); defer a.Unlock(); a.Lock() }, "is taken after") {
		t.Error("a lock was taken twice")
	}
	if panics(func() { b.Lock(); defer b.Unlock(); a.TryLock(); a.Unlock() }, "") {
		t.Error("TryLock panics out of order")
	}
	As[outer](&c)
	if !panics(func() { b.Lock(); defer b.Unlock(); c.Lock() }, "outer locks (2) is taken after that of inner locks (1)") {
		t.Error("a lock with a rank of its own was taken with the rank of its type")
	}
	var last Mutex[Last]
	if !panics(func() { last.Lock(); defer last.Unlock(); b.Lock() }, "is taken after that of a leaf") {
		t.Error("a lock was taken under a leaf")
	}
	if len(held) != 0 {
		t.Errorf("locks that were released are still recorded: %v", held)
	}
}

func TestOtherGoroutinesHaveTheirOwn(t *testing.T) {
	var a Mutex[outer]
	var b Mutex[inner]
	b.Lock()
	var done sync.WaitGroup
	done.Add(1)
	go func() {
		defer done.Done()
		a.Lock()
		b.Unlock() // not the goroutine that took it
		a.Unlock()
	}()
	done.Wait()
	if len(held) != 0 {
		t.Errorf("locks that were released are still recorded: %v", held)
	}
}

func TestMayWait(t *testing.T) {
	var a Mutex[outer]
	var b Mutex[inner]
	a.Lock()
	defer a.Unlock()
	if panics(MayWait[outer], "a wait") {
		t.Error("MayWait panics with an outer lock")
	}
	b.Lock()
	defer b.Unlock()
	if !panics(MayWait[outer], "a wait with the lock of inner locks held") {
		t.Error("MayWait allows a wait with an inner lock")
	}
}
