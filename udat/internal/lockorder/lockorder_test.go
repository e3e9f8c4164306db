//go:build lockorder

package lockorder

import (
	"strings"
	"sync"
	"testing"
)

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
	a := NewMutex(Control)
	var b, c, leaf RWMutex
	Place(&b, Gate, 1)
	Place(&c, Gate, 2)
	a.Lock()
	b.RLock()
	c.Lock()
	b.RUnlock()
	c.Unlock()
	a.Unlock()
	if !panics(func() { b.RLock(); defer b.RUnlock(); a.Lock() }, "rank 3 (0) is taken after one of rank 4 (1)") {
		t.Error("an outer lock was taken after an inner one")
	}
	if !panics(func() { c.Lock(); defer c.Unlock(); b.Lock() }, "(1) is taken after one of rank 4 (2)") {
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
	if !panics(func() { leaf.Lock(); defer leaf.Unlock(); b.Lock() }, "is taken after one of rank 0") {
		t.Error("a lock was taken under a leaf")
	}
	if len(held) != 0 {
		t.Errorf("locks that were released are still recorded: %v", held)
	}
}

func TestOtherGoroutinesHaveTheirOwn(t *testing.T) {
	a, b := NewMutex(Control), NewMutex(Gate)
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
	a, b := NewMutex(Control), NewMutex(Gate)
	a.Lock()
	defer a.Unlock()
	if panics(MayWait, "a wait") {
		t.Error("MayWait panics with an outer lock")
	}
	b.Lock()
	defer b.Unlock()
	if !panics(MayWait, "a wait with a lock of rank 4 held") {
		t.Error("MayWait allows a wait with an inner lock")
	}
}
