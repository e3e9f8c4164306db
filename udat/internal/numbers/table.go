// Package numbers assigns small numbers to objects.
package numbers

import (
	"sync/atomic"

	"github.com/goudat/goudat/udat/internal/lockorder"
)

// Table assigns small numbers to objects, which native cookies carry, and finds the object
// that a completion belongs to. The completions of an object that is not in the table
// are dropped: the library leaves those of freed objects in its queues. A number belongs
// to one native object. It is hidden when the object is freed, and released only if
// freeing has succeeded.
//
// Numbers are looked up without a lock, once for each completion.
type Table[T any] struct {
	slots atomic.Pointer[[]atomic.Pointer[T]]

	mu     lockorder.Mutex[lockorder.Last]
	unused []uint32
}

const (
	// Bits is the length of a number in bits.
	Bits = 24

	// None is the number of no object.
	None = 1<<Bits - 1

	firstSlots = 64
)

// Add adds the object and returns its number. It returns false if all numbers are taken.
func (t *Table[T]) Add(o *T) (uint32, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.unused) == 0 && !t.grow() {
		return 0, false
	}
	number := t.unused[0]
	t.unused = t.unused[1:]
	(*t.slots.Load())[number].Store(o)
	return number, true
}

func (t *Table[T]) grow() bool {
	var old []atomic.Pointer[T]
	if p := t.slots.Load(); p != nil {
		old = *p
	}
	size := max(firstSlots, 2*len(old))
	if size > None {
		return false
	}
	slots := make([]atomic.Pointer[T], size)
	for i := range old {
		slots[i].Store(old[i].Load())
	}
	for i := len(old); i < size; i++ {
		t.unused = append(t.unused, uint32(i))
	}
	t.slots.Store(&slots)
	return true
}

// Hide has completions that carry the number dropped. The object keeps the number, so
// that no other object gets it.
func (t *Table[T]) Hide(number uint32) {
	t.mu.Lock()
	defer t.mu.Unlock()
	(*t.slots.Load())[number].Store(nil)
}

// Release frees a hidden number, so that another object can get it. It is called
// once, when no native object is left that could complete under the number.
func (t *Table[T]) Release(number uint32) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.unused = append(t.unused, number)
}

// Numbered returns the object with the number, nil if there is none.
func (t *Table[T]) Numbered(number uint32) *T {
	p := t.slots.Load()
	if p == nil || number >= uint32(len(*p)) {
		return nil
	}
	return (*p)[number].Load()
}

// All returns the objects in the table.
func (t *Table[T]) All() (objects []*T) {
	p := t.slots.Load()
	if p == nil {
		return nil
	}
	for i := range *p {
		if o := (*p)[i].Load(); o != nil {
			objects = append(objects, o)
		}
	}
	return objects
}
