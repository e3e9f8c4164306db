package udat

import (
	"cmp"
	"fmt"
	"path"
	"runtime"
	"slices"
	"sort"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/goudat/goudat/cgo"
)

// object is what every kind of handle has in common: a gate, which keeps the
// native object alive while a call uses it, and the record of who uses whom,
// because the library crashes when a parent goes before its children. What an
// object uses cannot go while its own gate is open.
type object struct {
	serial uint64 // order of birth, which is also the order of taking several gates
	kind   string
	inUse  ReturnSubtype // subtype of the error for freeing it too early
	origin []uintptr     // where the program made it
	free   func() error  // the object's own Free

	// gate is held for reading by a call that uses the native object and for
	// writing by one that frees or replaces it.
	gate  sync.RWMutex
	state lifeState // guarded by gate

	mu      sync.Mutex
	parents []*object
	users   map[*object]struct{}
}

type lifeState uint8

const (
	lifeUnborn lifeState = iota // a zero value that the program made itself
	lifeAlive
	lifeFreed
)

var births atomic.Uint64

// born completes the object once its native counterpart exists and records it
// as a user of its parents, whose gates the caller holds.
func (o *object) born(kind string, inUse ReturnSubtype, free func() error, parents ...*object) {
	o.serial = births.Add(1)
	o.kind, o.inUse, o.free, o.parents = kind, inUse, free, parents
	o.origin = make([]uintptr, 16)
	o.origin = o.origin[:runtime.Callers(2, o.origin)]
	for _, p := range parents {
		p.addUser(o)
	}
	o.state = lifeAlive
}

func (o *object) addUser(user *object) {
	o.mu.Lock()
	if o.users == nil {
		o.users = make(map[*object]struct{})
	}
	o.users[user] = struct{}{}
	o.mu.Unlock()
}

func (o *object) removeUser(user *object) {
	o.mu.Lock()
	delete(o.users, user)
	o.mu.Unlock()
}

// enter opens the gate for a call; the caller leaves when it no longer needs
// the native object. A nil object is that of a nil pointer.
func (o *object) enter(op string, invalid ReturnSubtype) error {
	if o == nil {
		return refuse(op, ErrInvalidHandle, invalid, "the object is nil")
	}
	o.gate.RLock()
	if o.state == lifeAlive {
		return nil
	}
	err := o.unusable(op, invalid)
	o.gate.RUnlock()
	return err
}

func (o *object) leave() { o.gate.RUnlock() }

// argument is an object that a call takes besides its own.
type argument struct {
	object  *object
	invalid ReturnSubtype
}

// enterAll opens the gates of several objects, each once and in the order of
// birth: a goroutine that held one while it waits for another could otherwise
// meet its mirror image.
func enterAll(op string, arguments ...argument) (leave func(), err error) {
	slices.SortFunc(arguments, func(a, b argument) int { return cmp.Compare(a.serial(), b.serial()) })
	arguments = slices.CompactFunc(arguments, func(a, b argument) bool { return a.object == b.object && a.object != nil })
	for i, a := range arguments {
		if err := a.object.enter(op, a.invalid); err != nil {
			leaveAll(arguments[:i])
			return nil, err
		}
	}
	return func() { leaveAll(arguments) }, nil
}

func (a argument) serial() uint64 {
	if a.object == nil {
		return 0
	}
	return a.object.serial
}

func leaveAll(arguments []argument) {
	for _, a := range arguments {
		a.object.leave()
	}
}

// unusable says why the object is not alive. The caller holds the gate.
func (o *object) unusable(op string, invalid ReturnSubtype) error {
	if o.state == lifeUnborn {
		return refuse(op, ErrInvalidHandle, invalid, "the object was not made by this package's functions")
	}
	return o.freed(op, invalid)
}

func (o *object) freed(op string, invalid ReturnSubtype) error {
	return &Error{
		Op:     op,
		Return: cgo.ClassError | Return(ErrInvalidHandle) | Return(invalid),
		Detail: "the " + o.kind + " is already freed",
		Err:    ErrClosed,
	}
}

// seal closes the gate for good around release, which frees the native object.
// It waits for the calls in flight, and refuses while the object has users. When
// release fails the object lives on.
func (o *object) seal(op string, invalid ReturnSubtype, release func() error) error {
	if o == nil {
		return refuse(op, ErrInvalidHandle, invalid, "the object is nil")
	}
	o.gate.Lock()
	defer o.gate.Unlock()
	if o.state != lifeAlive {
		return o.unusable(op, invalid)
	}
	if err := o.refuseInUse(op); err != nil {
		return err
	}
	if err := release(); err != nil {
		return err
	}
	o.state = lifeFreed
	for _, p := range o.parents {
		p.removeUser(o)
	}
	return nil
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
	return refuse(op, ErrInvalidState, o.inUse, "the %s is still used by: %s", o.kind, strings.Join(names, ", "))
}

func (o *object) living() []*object {
	o.mu.Lock()
	defer o.mu.Unlock()
	users := make([]*object, 0, len(o.users))
	for u := range o.users {
		users = append(users, u)
	}
	return users
}

// setParents changes what the object uses. The caller holds the object's gate
// for writing and those of the new parents.
func (o *object) setParents(parents ...*object) {
	for _, p := range o.parents {
		p.removeUser(o)
	}
	o.parents = parents
	for _, p := range parents {
		p.addUser(o)
	}
}

// String names the object by its kind and the line of the program that made it.
func (o *object) String() string {
	frames := runtime.CallersFrames(o.origin)
	for {
		frame, more := frames.Next()
		if frame.Function != "" && !isOwnFrame(frame) {
			return fmt.Sprintf("%s (made at %s:%d)", o.kind, path.Base(frame.File), frame.Line)
		}
		if !more {
			return o.kind
		}
	}
}

// ownPath begins the names of the functions of this package and of udattest.
const ownPath = "github.com/goudat/goudat/udat"

func isOwnFrame(f runtime.Frame) bool {
	return strings.HasPrefix(f.Function, ownPath) && !strings.HasSuffix(f.File, "_test.go")
}
