package udat

import (
	"cmp"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"sort"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/goudat/goudat/udat/internal/lockorder"
)

// object is what every kind of handle has in common: a gate, which keeps the
// native object alive while a call uses it, and the record of which object uses which,
// because the library crashes if a parent is freed before its children.
type object struct {
	record
	inUseSubtype ReturnSubtype // subtype of the error for freeing it too early
	free         func() error  // the object's own Free, nil for what comes with its adapter
	ledger       *ledger       // that of the adapter

	gate  gate      // nil for a zero value that the program made itself
	state lifeState // guarded by the gate

	parents []*object            // guarded by the ledger's lock
	users   map[*object]struct{} // the same
	context atomic.Pointer[any]  // the program's own
}

// gate is held for reading by a call that uses the native object, and for writing by one that
// frees it. A kind that has locks of its own makes one of them the gate: see exclusive.
type gate interface {
	sync.Locker
	RLock()
	RUnlock()
}

// sharedGate is the gate of an object whose kind has no such lock.
type sharedGate = lockorder.RWMutex[gateRank]

// exclusive makes a gate of a lock for one goroutine at a time.
type exclusive struct{ sync.Locker }

func (e exclusive) RLock()   { e.Lock() }
func (e exclusive) RUnlock() { e.Unlock() }

type lifeState uint8

const (
	lifeAlive   lifeState = iota
	lifeClosing           // an adapter only: what is on it lives, and nothing new is made
	lifeFreed
)

// record tells what an object is, and outlives it.
type record struct {
	serial uint64 // order of birth, which is also the order of taking several gates
	kind   string
	stack  []uintptr // of the call that made it
}

var births atomic.Uint64

// born completes the object once its native counterpart exists, and records it
// as a user of its parents, whose gates the caller holds. Nobody else knows the object yet.
// It gets a gate unless its kind has set one.
func (o *object) born(kind string, inUseSubtype ReturnSubtype, free func() error, parents ...*object) {
	stack := make([]uintptr, 16)
	o.record = record{births.Add(1), kind, stack[:runtime.Callers(2, stack)]}
	if o.gate == nil {
		shared := new(sharedGate)
		lockorder.Number(shared, o.serial)
		o.gate = shared
	}
	o.inUseSubtype, o.free = inUseSubtype, free
	for _, p := range parents {
		o.ledger = p.ledger
	}
	o.ledger.enter(o, parents)
}

// enter opens the gate for a call; the caller leaves when it no longer needs
// the native object. A nil object is that of a nil pointer.
func (o *object) enter(op string, invalid ReturnSubtype) error {
	if o == nil || o.gate == nil {
		return o.unusable(op, invalid)
	}
	o.gate.RLock()
	if o.state == lifeAlive {
		return nil
	}
	defer o.gate.RUnlock()
	return o.unusable(op, invalid)
}

func (o *object) leave() { o.gate.RUnlock() }

// refused returns the error of a call that no object takes: the refusal, if this one
// is alive.
func (o *object) refused(op string, invalid ReturnSubtype, refusal error) error {
	if err := o.enter(op, invalid); err != nil {
		return err
	}
	o.leave()
	return refusal
}

// argument is an object that a call takes besides its own.
type argument struct {
	object  *object
	invalid ReturnSubtype
}

// enterAll opens the gates of several objects, each once and in their order: a goroutine that
// held one while it waits for another could otherwise meet its mirror image.
func enterAll(op string, arguments ...argument) (leave func(), err error) {
	slices.SortFunc(arguments, argument.compare)
	arguments = slices.CompactFunc(arguments, func(a, b argument) bool { return a.object == b.object && a.object != nil })
	for i, a := range arguments {
		if err := a.object.enter(op, a.invalid); err != nil {
			leaveAll(arguments[:i])
			return nil, err
		}
	}
	return func() { leaveAll(arguments) }, nil
}

// compare orders gates: shared ones by birth, then others by birth.
func (a argument) compare(b argument) int {
	kind, serial := a.order()
	otherKind, otherSerial := b.order()
	return cmp.Or(cmp.Compare(kind, otherKind), cmp.Compare(serial, otherSerial))
}

func (a argument) order() (kind int, serial uint64) {
	if a.object == nil {
		return 0, 0
	}
	if _, shared := a.object.gate.(*sharedGate); shared {
		return 1, a.object.serial
	}
	return 2, a.object.serial
}

func leaveAll(arguments []argument) {
	for _, a := range arguments {
		a.object.leave()
	}
}

// unusable says why the object is not alive. The caller holds the gate, if there is one.
func (o *object) unusable(op string, invalid ReturnSubtype) error {
	switch {
	case o == nil:
		return refuse(op, ErrInvalidHandle, invalid, "the object is nil: pass one that was made")
	case o.gate == nil:
		return refuse(op, ErrInvalidHandle, invalid, "the object was not made by this package's functions, such as CreateEP: pass one that was")
	case o.state == lifeClosing:
		return o.closed(op, invalid, "is being closed")
	}
	return o.freed(op, invalid)
}

func (o *object) freed(op string, invalid ReturnSubtype) error {
	return o.closed(op, invalid, "is already freed")
}

// closed makes the error of a call on an object that is freed, or will be.
func (o *object) closed(op string, invalid ReturnSubtype, how string) error {
	return logged(&Error{
		Op:     op,
		Return: classError | Return(ErrInvalidHandle) | Return(invalid),
		Detail: "the " + o.kind + " " + how,
		Err:    ErrClosed,
	})
}

// seal closes the gate for good around release, which frees the native object.
// It waits for the calls in flight, and refuses while the object has users. When
// release fails the object lives on.
func (o *object) seal(op string, invalid ReturnSubtype, release func() error) error {
	return o.sealFrom(lifeAlive, op, invalid, release)
}

// sealFrom is seal for an object in the given state.
func (o *object) sealFrom(state lifeState, op string, invalid ReturnSubtype, release func() error) error {
	if o == nil || o.gate == nil {
		return o.unusable(op, invalid)
	}
	o.gate.Lock()
	defer o.gate.Unlock()
	if o.state != state {
		return o.unusable(op, invalid)
	}
	if err := o.refuseInUse(op); err != nil {
		return err
	}
	if err := release(); err != nil {
		return err
	}
	o.state = lifeFreed
	o.ledger.strike(o)
	return nil
}

// beginClosing ends the making of objects on an adapter, and waits for the calls
// in flight. sealFrom or stopClosing must follow. With CloseGraceful it fails while the
// adapter has users.
func (o *object) beginClosing(op string, invalid ReturnSubtype, flags CloseFlags) error {
	if o.gate == nil {
		return o.unusable(op, invalid)
	}
	o.gate.Lock()
	defer o.gate.Unlock()
	if o.state != lifeAlive {
		return o.unusable(op, invalid)
	}
	if flags == CloseGraceful {
		if err := o.refuseInUse(op); err != nil {
			return err
		}
	}
	o.state = lifeClosing
	return nil
}

// stopClosing makes an adapter usable again whose closing has failed.
func (o *object) stopClosing() {
	o.gate.Lock()
	defer o.gate.Unlock()
	if o.state == lifeClosing {
		o.state = lifeAlive
	}
}

func (o *object) isFreed() bool {
	o.gate.RLock()
	defer o.gate.RUnlock()
	return o.state == lifeFreed
}

func (o *object) refuseInUse(op string) error {
	users := o.living()
	if len(users) == 0 {
		return nil
	}
	names := make([]string, len(users))
	for i, u := range users {
		names[i] = u.String()
	}
	sort.Strings(names)
	const most = 8
	if more := len(names) - most; more > 0 {
		names = append(names[:most], fmt.Sprintf("%d more", more))
	}
	remedy := "free that first"
	if o.kind == adapterKind {
		remedy = "free all of that first, or close with CloseAbrupt"
	} else if len(names) > 1 {
		remedy = "free all of that first"
	}
	return refuse(op, ErrInvalidState, o.inUseSubtype, "the %s is still used by: %s; %s", o.kind, strings.Join(names, ", "), remedy)
}

// living lists the users.
func (o *object) living() []*object {
	o.ledger.mu.Lock()
	defer o.ledger.mu.Unlock()
	return slices.Collect(maps.Keys(o.users))
}

// String names the object by its kind and the line of the program that made it.
func (r record) String() string { return r.origin("").String() }

// origin finds the line of the program that made the object.
func (r record) origin(adapter string) Origin {
	o := Origin{Serial: r.serial, Kind: r.kind, Adapter: adapter}
	frames := runtime.CallersFrames(r.stack)
	for {
		frame, more := frames.Next()
		if frame.Function != "" && isProgramFrame(frame) {
			o.Function, o.File, o.Line = frame.Function, frame.File, frame.Line
			return o
		}
		if !more {
			return o
		}
	}
}

// ownPath begins the names of the functions of this package and of udattest.
const ownPath = "github.com/goudat/goudat/udat"

// isProgramFrame reports whether a call is one of the program's, or of a test,
// and not of the binding or of the runtime, which starts the binding's goroutines.
func isProgramFrame(f runtime.Frame) bool {
	return strings.HasSuffix(f.File, "_test.go") ||
		!strings.HasPrefix(f.Function, ownPath) && !strings.HasPrefix(f.Function, "runtime.")
}

const adapterKind = "interface adapter"

const endpointKind = "endpoint"
