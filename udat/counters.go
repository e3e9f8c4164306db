package udat

import "github.com/goudat/goudat/cgo"

// IACounter names what a provider counts for an adapter.
type IACounter int32

// String returns the C name.
func (v IACounter) String() string { return cgo.IACounter(v).String() }

// EPCounter names what a provider counts for an endpoint.
type EPCounter int32

// String returns the C name.
func (v EPCounter) String() string { return cgo.EPCounter(v).String() }

// EVDCounter names what a provider counts for an event dispatcher.
type EVDCounter int32

// String returns the C name.
func (v EVDCounter) String() string { return cgo.EVDCounter(v).String() }

// IACounterType names a set of an adapter's counters that is sampled on demand.
//
//constants:doc The sets of counters.
type IACounterType int32

const noCounters = "this provider was built without counters: build dapl with --enable-counters"

// QueryCounters returns the adapter's counters, indexed by IACounter, and sets
// them to 0 if reset is true. It fails with ErrNotImplemented unless the
// provider was built with counters; the distributions' are not.
//
// Implements:
//
//	DAT_RETURN dat_ib_query_counters(IN DAT_HANDLE dat_handle,
//	                                 IN int cntr,
//	                                 IN DAT_UINT64 *p_cntrs_out,
//	                                 IN int reset)
func (ia *IA) QueryCounters(reset bool) ([]uint64, error) {
	return queryCounters(ia, InvalidHandleIA, func() cgo.Handle { return cgo.Handle(ia.handle) }, int32(cgo.IACounterAll), reset)
}

// QueryCounters returns the endpoint's counters, indexed by EPCounter: see
// IA.QueryCounters.
func (ep *EP) QueryCounters(reset bool) ([]uint64, error) {
	return queryCounters(ep, InvalidHandleEP, func() cgo.Handle { return cgo.Handle(ep.native.Load().handle) }, int32(cgo.EPCounterAll), reset)
}

// QueryCounters returns the event dispatcher's counters, indexed by EVDCounter:
// see IA.QueryCounters.
func (evd *EVD) QueryCounters(reset bool) ([]uint64, error) {
	return queryCounters(evd, NoSubtype, func() cgo.Handle { return cgo.Handle(evd.handle) }, int32(cgo.EVDCounterAll), reset)
}

func queryCounters(o Object, invalid ReturnSubtype, handle func() cgo.Handle, all int32, reset bool) ([]uint64, error) {
	const op = "dat_ib_query_counters"
	obj := o.object()
	if err := obj.enter(op, invalid); err != nil {
		return nil, err
	}
	defer obj.leave()
	values := make([]uint64, all)
	if err := counted(op, cgo.IBQueryCounters(handle(), all, values, reset)); err != nil {
		return nil, err
	}
	return values, nil
}

// PrintCounters prints the adapter's counters to the standard output, and sets
// them to 0 if reset is true: see QueryCounters.
//
// Implements:
//
//	DAT_RETURN dat_ib_print_counters(IN DAT_HANDLE dat_handle,
//	                                 IN int cntr,
//	                                 IN int reset)
func (ia *IA) PrintCounters(reset bool) error {
	return ia.onCounters("dat_ib_print_counters", func() cgo.Return {
		return cgo.IBPrintCounters(cgo.Handle(ia.handle), int32(cgo.IACounterAll), reset)
	})
}

// StartCounter begins to sample a set of the adapter's counters: see QueryCounters.
//
// Implements:
//
//	DAT_RETURN dat_ib_start_counter(IN DAT_HANDLE dat_handle,
//	                                IN DAT_COUNTER_TYPE type)
func (ia *IA) StartCounter(counters IACounterType) error {
	return ia.onCounters("dat_ib_start_counter", func() cgo.Return { return cgo.IBStartCounter(ia.handle, cgo.IACounterType(counters)) })
}

// StopCounter ends what StartCounter began.
//
// Implements:
//
//	DAT_RETURN dat_ib_stop_counter(IN DAT_HANDLE dat_handle,
//	                               IN DAT_COUNTER_TYPE type)
func (ia *IA) StopCounter(counters IACounterType) error {
	return ia.onCounters("dat_ib_stop_counter", func() cgo.Return { return cgo.IBStopCounter(ia.handle, cgo.IACounterType(counters)) })
}

func (ia *IA) onCounters(op string, native func() cgo.Return) error {
	if err := ia.object().enter(op, InvalidHandleIA); err != nil {
		return err
	}
	defer ia.obj.leave()
	return counted(op, native())
}

func counted(op string, r cgo.Return) error {
	if r.Type() == cgo.NotImplemented {
		return refuse(op, ErrNotImplemented, NoSubtype, noCounters)
	}
	return check(op, r)
}

// QueryAdapter returns the attributes of an adapter, which may be closed, and
// of its provider. It opens the adapter and closes it: the library's own
// function spoils adapters that are opened meanwhile.
//
// Stands in for:
//
//	DAT_RETURN dat_ib_open_query(IN const DAT_NAME_PTR name,
//	                             OUT DAT_HANDLE *ia_handle,
//	                             IN DAT_IA_ATTR_MASK ia_mask,
//	                             OUT DAT_IA_ATTR *ia_attr,
//	                             IN DAT_PROVIDER_ATTR_MASK prov_mask,
//	                             OUT DAT_PROVIDER_ATTR *prov_attr)
//	DAT_RETURN dat_ib_close_query(IN DAT_HANDLE ia_handle)
func QueryAdapter(name string) (IAAttr, ProviderAttr, error) {
	ia, err := Open(name)
	if err != nil {
		return IAAttr{}, ProviderAttr{}, err
	}
	attr, providerAttr, err := ia.Query()
	if closeErr := ia.Close(CloseGraceful); err == nil {
		err = closeErr
	}
	return attr, providerAttr, err
}
