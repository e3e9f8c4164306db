package udat

// Object is anything that this package makes: an adapter, an endpoint, an event
// dispatcher, and so on.
type Object interface {
	object() *object
}

// SetConsumerContext keeps a value with an object, and replaces the one before.
// The library keeps a number for some kinds of object only, so udat does it for
// all.
//
// Stands in for:
//
//	DAT_RETURN dat_set_consumer_context(IN DAT_HANDLE dat_handle,
//	                                    IN DAT_CONTEXT context)
func SetConsumerContext(o Object, context any) error {
	obj, err := entered("dat_set_consumer_context", o)
	if err != nil {
		return err
	}
	defer obj.leave()
	obj.mu.Lock()
	defer obj.mu.Unlock()
	obj.context = context
	return nil
}

// GetConsumerContext returns the value that SetConsumerContext set, or nil.
//
// Stands in for:
//
//	DAT_RETURN dat_get_consumer_context(IN DAT_HANDLE dat_handle,
//	                                    OUT DAT_CONTEXT *context)
func GetConsumerContext(o Object) (any, error) {
	obj, err := entered("dat_get_consumer_context", o)
	if err != nil {
		return nil, err
	}
	defer obj.leave()
	obj.mu.Lock()
	defer obj.mu.Unlock()
	return obj.context, nil
}

// GetHandleType tells what kind an object is of.
//
// Stands in for:
//
//	DAT_RETURN dat_get_handle_type(IN DAT_HANDLE dat_handle,
//	                               OUT DAT_HANDLE_TYPE *handle_type)
func GetHandleType(o Object) (HandleType, error) {
	obj, err := entered("dat_get_handle_type", o)
	if err != nil {
		return 0, err
	}
	defer obj.leave()
	switch o.(type) {
	case *CNO:
		return HandleTypeCNO, nil
	case *CR:
		return HandleTypeCR, nil
	case *EP:
		return HandleTypeEP, nil
	case *EVD:
		return HandleTypeEVD, nil
	case *LMR:
		return HandleTypeLMR, nil
	case *PSP:
		return HandleTypePSP, nil
	case *PZ:
		return HandleTypePZ, nil
	case *RSP:
		return HandleTypeRSP, nil
	case *SRQ:
		return HandleTypeSRQ, nil
	default:
		return HandleTypeIA, nil
	}
}

func entered(op string, o Object) (*object, error) {
	var obj *object
	if o != nil {
		obj = o.object()
	}
	return obj, obj.enter(op, NoSubtype)
}
