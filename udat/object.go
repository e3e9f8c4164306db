package udat

import (
	"github.com/goudat/goudat/cgo"
	"github.com/goudat/goudat/udat/internal/life"
)

// object is what every kind of handle has in common.
type object struct {
	life.Object
	handle cgo.Handle
	inUse  ReturnSubtype // subtype of the error if Free finds users
}

// anyObject is anything that this package makes, such as an endpoint.
type anyObject interface {
	object() *object
}

// objectOf returns the object of something that was made, nil for a nil pointer.
func objectOf[T any, P interface {
	*T
	anyObject
}](p P) *object {
	if p == nil {
		return nil
	}
	return p.object()
}

const (
	adapterKind  = "interface adapter"
	endpointKind = "endpoint"
)

// born begins the life of an object: see life.Object.Born.
func (o *object) born(kind string, handle cgo.Handle, inUse ReturnSubtype, free func() error, parents ...*life.Object) {
	o.handle, o.inUse = handle, inUse
	o.Born(kind, free, parents...)
}

// enter keeps the object alive until Leave. A nil object is that of a nil pointer.
func (o *object) enter(op string, invalid ReturnSubtype) error {
	if o != nil && o.Enter() {
		return nil
	}
	return o.unusable(op, invalid)
}

// usable returns the error of unusable, or nil if the object is alive.
func (o *object) usable(op string, invalid ReturnSubtype) error {
	if err := o.enter(op, invalid); err != nil {
		return err
	}
	o.Leave()
	return nil
}

// check is check for a call on the object: that it was freed is the better reason.
func (o *object) check(op string, invalid ReturnSubtype, r cgo.Return) error {
	if err := o.usable(op, invalid); err != nil {
		return err
	}
	return check(op, r)
}

// query returns what ask does while the object is alive.
func query[P any](o *object, op string, invalid ReturnSubtype, ask func() (P, cgo.Return)) (p P, err error) {
	if err := o.enter(op, invalid); err != nil {
		return p, err
	}
	defer o.Leave()
	answer, r := ask()
	if r.OK() {
		p = answer
	}
	return p, check(op, r)
}

// argument is an object that a call takes besides its own.
type argument struct {
	object  *object
	invalid ReturnSubtype
}

// enterAll enters several objects, which must belong to the adapter of the first.
func enterAll(op string, arguments ...argument) (leave func(), err error) {
	objects := make([]*life.Object, len(arguments))
	for i, a := range arguments {
		if a.object == nil {
			return nil, a.object.unusable(op, a.invalid)
		}
		objects[i] = &a.object.Object
	}
	leave, dead := life.EnterAll(objects...)
	for _, a := range arguments {
		if &a.object.Object == dead {
			return nil, a.object.unusable(op, a.invalid)
		}
	}
	for _, a := range arguments {
		if err := a.object.requireAdapterOf(arguments[0].object, op, a.invalid); err != nil {
			leave()
			return nil, err
		}
	}
	return leave, nil
}

// requireAdapterOf refuses an object of another adapter.
func (o *object) requireAdapterOf(other *object, op string, invalid ReturnSubtype) error {
	if o.Ledger == other.Ledger {
		return nil
	}
	return refuse(op, ErrInvalidHandle, invalid, "the %s belongs to another adapter: use one of the same", o.Kind)
}

// seal frees the object with release: see life.Object.Seal.
func (o *object) seal(op string, invalid ReturnSubtype, release func() error) error {
	if o == nil {
		return o.unusable(op, invalid)
	}
	return o.notSealed(op, invalid, o.Seal(release))
}

// notSealed turns an error of package life into one of a call. That of release stays.
func (o *object) notSealed(op string, invalid ReturnSubtype, err error) error {
	if err == life.ErrNotAlive {
		return o.unusable(op, invalid)
	}
	inUse, is := err.(*life.InUse)
	switch {
	case !is:
		return err
	case o.Kind == adapterKind:
		return refuse(op, ErrInvalidState, o.inUse, "%v; free all of that first, or close with CloseAbrupt", inUse)
	}
	return refuse(op, ErrInvalidState, o.inUse, "%v; free all of that first", inUse)
}

// unusable says why the object is not alive, or will not be in a moment.
func (o *object) unusable(op string, invalid ReturnSubtype) error {
	how := "is already freed"
	switch {
	case o == nil:
		return refuse(op, ErrInvalidHandle, invalid, "the object is nil: pass one that was made")
	case o.State() == life.Unborn:
		return refuse(op, ErrInvalidHandle, invalid, "the object was not made by this package's functions, such as CreateEP: pass one that was")
	case o.State() == life.Closing:
		how = "is being closed"
	}
	return logged(&Error{
		Op:     op,
		Return: classError | Return(ErrInvalidHandle) | Return(invalid),
		Detail: "the " + o.Kind + " " + how,
		Err:    ErrClosed,
	})
}
