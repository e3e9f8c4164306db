// Package life has what all kinds of objects have in common: a gate, which keeps an object alive
// while a call uses it; who uses whom, since the library crashes if a parent is freed before its
// children; and a ledger of what is alive. It knows neither the library nor what the objects are.
package life

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// Object is what is alive, from Born to Seal. The zero value was never born.
type Object struct {
	Record
	Free   func() error // the object's own, nil for what comes with its adapter
	Ledger *Ledger      // that of the adapter: Born takes it from a parent

	own   sync.RWMutex
	gate  Gate // nil until Born, unless SetGate has set it
	state atomic.Uint32

	parents []*Object            // guarded by the ledger's lock
	users   map[*Object]struct{} // the same
}

// Gate is held for reading by a call that uses the native object, for writing by one that frees it.
type Gate interface {
	sync.Locker
	RLock()
	RUnlock()
}

// exclusive makes a gate of a lock for one goroutine at a time.
type exclusive struct{ sync.Locker }

func (e exclusive) RLock()   { e.Lock() }
func (e exclusive) RUnlock() { e.Unlock() }

// State is how far an object is in its life.
type State uint32

// The states of an object.
const (
	Unborn  State = iota // a zero value that the program has made itself
	Alive                // from Born on
	Closing              // an adapter: what is on it lives, and nothing new is made
	Freed                // from Seal on
)

// SetGate makes a lock that the object's kind has anyway its gate. Others have one of their own.
func (o *Object) SetGate(lock sync.Locker) { o.gate = exclusive{lock} }

// Born completes an object once its native counterpart exists, and records it as a user of its
// parents, which the caller has entered. Nobody else knows the object yet.
func (o *Object) Born(kind string, free func() error, parents ...*Object) {
	o.Free = free
	if o.gate == nil {
		o.gate = &o.own
	}
	for _, p := range parents {
		o.Ledger = p.Ledger
	}
	o.Record = newRecord(kind, o.Ledger.adapter)
	o.state.Store(uint32(Alive))
	o.Ledger.add(o, parents)
}

// State returns the state. It changes while the gate is held for writing.
func (o *Object) State() State { return State(o.state.Load()) }

// Enter keeps the object alive until Leave. It returns false if the object is not alive.
func (o *Object) Enter() bool {
	if o.gate == nil {
		return false
	}
	o.gate.RLock()
	if o.State() == Alive {
		return true
	}
	o.gate.RUnlock()
	return false
}

// Leave ends what Enter has begun.
func (o *Object) Leave() { o.gate.RUnlock() }

// EnterAll enters several objects, each once and in the order of their gates: a goroutine that held
// one while it waits for another could otherwise meet its mirror image. It returns the object that
// is not alive, if there is one.
func EnterAll(objects ...*Object) (leave func(), dead *Object) {
	slices.SortFunc(objects, compare)
	objects = slices.Compact(objects)
	for i, o := range objects {
		if !o.Enter() {
			leaveAll(objects[:i])
			return nil, o
		}
	}
	return func() { leaveAll(objects) }, nil
}

// compare orders gates: those of the objects by birth, then locks of their kinds by birth.
func compare(a, b *Object) int {
	own := a.gate == Gate(&a.own)
	switch {
	case own == (b.gate == Gate(&b.own)):
		return cmp.Compare(a.Serial, b.Serial)
	case own:
		return -1
	}
	return 1
}

func leaveAll(objects []*Object) {
	for _, o := range objects {
		o.Leave()
	}
}

// ErrNotAlive is the error of Seal and Close for an object that is not alive, or closes already.
var ErrNotAlive = errors.New("not alive")

// InUse is the error of Seal and Close for an object with users.
type InUse struct {
	kind  string
	users []*Object
}

// Error names some of the users, and the lines that made them.
func (e *InUse) Error() string {
	names := make([]string, len(e.users))
	for i, u := range e.users {
		names[i] = u.String()
	}
	slices.Sort(names)
	const most = 8
	if more := len(names) - most; more > 0 {
		names = append(names[:most], fmt.Sprintf("%d more", more))
	}
	return fmt.Sprintf("the %s is still used by: %s", e.kind, strings.Join(names, ", "))
}

// Seal closes the gate for good around release, which frees the native object. It waits for the
// calls in flight. If the object has users, or release fails, it lives on.
func (o *Object) Seal(release func() error) error { return o.seal(Alive, release) }

// Close is Seal for an adapter, on which nothing new is made meanwhile. It calls empty, if that is
// not nil, to free the users, before the gate is closed for good.
func (o *Object) Close(empty func(), release func() error) error {
	err := o.change(Alive, Closing, func() error {
		if empty != nil {
			return nil
		}
		return o.unused()
	})
	if err != nil {
		return err
	}
	defer o.change(Closing, Alive, func() error { return nil }) // if it is not freed
	if empty != nil {
		empty()
	}
	return o.seal(Closing, release)
}

func (o *Object) seal(from State, release func() error) error {
	return o.change(from, Freed, func() error {
		if err := o.unused(); err != nil {
			return err
		}
		if err := release(); err != nil {
			return err
		}
		o.Ledger.remove(o)
		return nil
	})
}

// change changes the state, with the gate closed, if condition returns no error.
func (o *Object) change(from, to State, condition func() error) error {
	if o.gate == nil {
		return ErrNotAlive
	}
	o.gate.Lock()
	defer o.gate.Unlock()
	if o.State() != from {
		return ErrNotAlive
	}
	err := condition()
	if err == nil {
		o.state.Store(uint32(to))
	}
	return err
}

func (o *Object) unused() error {
	if users := o.Users(); len(users) > 0 {
		return &InUse{o.Kind, users}
	}
	return nil
}

// Users lists the objects that use this one.
func (o *Object) Users() []*Object {
	o.Ledger.mu.Lock()
	defer o.Ledger.mu.Unlock()
	return slices.Collect(maps.Keys(o.users))
}

// SetParents replaces the objects that this one uses.
func (o *Object) SetParents(parents []*Object) {
	o.Ledger.mu.Lock()
	defer o.Ledger.mu.Unlock()
	o.use(parents)
}

// use sets the parents. The caller holds the ledger's mu.
func (o *Object) use(parents []*Object) {
	for _, p := range o.parents {
		delete(p.users, o)
	}
	for _, p := range parents {
		if p.users == nil {
			p.users = make(map[*Object]struct{})
		}
		p.users[o] = struct{}{}
	}
	o.parents = parents
}
