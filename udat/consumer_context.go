package udat

import "github.com/goudat/goudat/cgo"

// Object is anything that this package makes: an adapter, an endpoint, an event
// dispatcher, and so on.
type Object interface {
	object() *object
}

// SetConsumerContext keeps a value with an object, and replaces the one before.
// The library keeps a number for some kinds of object only, so udat does it for
// all.
//
//	Stands in for: DAT_RETURN dat_set_consumer_context(IN DAT_HANDLE dat_handle,
//	    IN DAT_CONTEXT context)
func SetConsumerContext(o Object, context any) error {
	obj, err := entered("dat_set_consumer_context", o)
	if err != nil {
		return err
	}
	defer obj.Leave()
	obj.context.Store(&context)
	return nil
}

// GetConsumerContext returns the value that SetConsumerContext set, or nil.
//
//	Stands in for: DAT_RETURN dat_get_consumer_context(IN DAT_HANDLE dat_handle,
//	    OUT DAT_CONTEXT *context)
func GetConsumerContext(o Object) (any, error) {
	obj, err := entered("dat_get_consumer_context", o)
	if err != nil {
		return nil, err
	}
	defer obj.Leave()
	if context := obj.context.Load(); context != nil {
		return *context, nil
	}
	return nil, nil
}

// GetHandleType tells what kind an object is of.
//
//	Implements: DAT_RETURN dat_get_handle_type(IN DAT_HANDLE dat_handle,
//	    OUT DAT_HANDLE_TYPE *handle_type)
func GetHandleType(o Object) (HandleType, error) {
	const op = "dat_get_handle_type"
	obj, err := entered(op, o)
	if err != nil {
		return 0, err
	}
	defer obj.Leave()
	kind, r := cgo.GetHandleType(obj.handle)
	return HandleType(kind), check(op, r)
}

func entered(op string, o Object) (*object, error) {
	var obj *object
	if o != nil {
		obj = o.object()
	}
	return obj, obj.enter(op, NoSubtype)
}
