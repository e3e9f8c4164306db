package udat

import "github.com/goudat/goudat/cgo"

// ConnQual is a connection qualifier: the number on which a service listens, 1
// to 64535. It is not a TCP port, though the providers derive one from it.
type ConnQual uint64

const maxConnQual ConnQual = 64535

func (q ConnQual) valid() bool { return q >= 1 && q <= maxConnQual }

// PSP is a public service point: it listens for connection requests. Its
// methods may be called from any goroutine.
type PSP struct {
	obj    object
	ia     *IA
	evd    *EVD
	qual   ConnQual
	handle cgo.PSPHandle
}

func (psp *PSP) object() *object {
	if psp == nil {
		return nil
	}
	return &psp.obj
}

// CreatePSP listens on a connection qualifier. Each request that arrives is an
// EventConnectionRequest on evd, which must have been made for them (EVDCR).
// It fails with ErrConnQualInUse when something listens there already.
//
// Implements:
//
//	DAT_RETURN dat_psp_create(IN DAT_IA_HANDLE ia_handle,
//	                          IN DAT_CONN_QUAL conn_qual,
//	                          IN DAT_EVD_HANDLE evd_handle,
//	                          IN DAT_PSP_FLAGS psp_flags,
//	                          OUT DAT_PSP_HANDLE *psp_handle)
func CreatePSP(ia *IA, qual ConnQual, evd *EVD) (*PSP, error) {
	const op = "dat_psp_create"
	leave, err := enterAll(op, argument{ia.object(), InvalidHandleIA}, argument{evd.object(), InvalidHandleEVDCR})
	if err != nil {
		return nil, err
	}
	defer leave()
	switch {
	case evd.ia != ia:
		return nil, refuse(op, ErrInvalidHandle, InvalidHandleEVDCR, "the event dispatcher belongs to another adapter")
	case evd.flags&EVDCR == 0:
		return nil, refuse(op, ErrInvalidHandle, InvalidHandleEVDCR, "the event dispatcher was made for %v, it needs %v", evd.flags, EVDCR)
	case !qual.valid():
		return nil, refuse(op, ErrInvalidParameter, InvalidArg2, "the connection qualifier is %d, it must be 1 to %d", qual, maxConnQual)
	}
	psp := &PSP{ia: ia, evd: evd, qual: qual}
	// A request may arrive before the handle is known: nobody takes it meanwhile.
	evd.mu.Lock()
	defer evd.mu.Unlock()
	handle, r := cgo.PSPCreate(ia.handle, uint64(qual), evd.handle, cgo.PSPConsumer)
	if err := check(op, r); err != nil {
		return nil, err
	}
	psp.handle = handle
	psp.obj.born("public service point", NoSubtype, psp.Free, &ia.obj, &evd.obj)
	ia.mu.Lock()
	ia.psps[handle] = psp
	ia.mu.Unlock()
	return psp, nil
}

// PSPParam holds the parameters of a public service point.
type PSPParam struct {
	IA       *IA
	ConnQual ConnQual
	EVD      *EVD
}

// Query gives the parameters of the service point.
//
// Implements:
//
//	DAT_RETURN dat_psp_query(IN DAT_PSP_HANDLE psp_handle,
//	                         IN DAT_PSP_PARAM_MASK psp_param_mask,
//	                         OUT DAT_PSP_PARAM *psp_param)
func (psp *PSP) Query() (PSPParam, error) {
	if err := psp.object().enter("dat_psp_query", InvalidHandlePSP); err != nil {
		return PSPParam{}, err
	}
	defer psp.obj.leave()
	return PSPParam{IA: psp.ia, ConnQual: psp.qual, EVD: psp.evd}, nil
}

// Free stops listening. Requests that were not answered are rejected, and those
// not yet dequeued disappear: the library would keep the listener alive for them.
//
// With the CMA provider, a request that arrives in the very moment in which the
// library frees the service point can end the process: a server that peers
// still call should keep its service point until it exits.
//
// Implements:
//
//	DAT_RETURN dat_psp_free(IN DAT_PSP_HANDLE psp_handle)
func (psp *PSP) Free() error {
	const op = "dat_psp_free"
	if err := psp.object().enter(op, InvalidHandlePSP); err != nil {
		return err
	}
	psp.evd.forget(func(e *Event) bool { return e.cr != nil && e.cr.psp == psp })
	psp.obj.leave()
	for _, cr := range psp.obj.living() {
		// Whoever answers it first, it is answered.
		_ = cr.free()
	}
	return psp.obj.seal(op, InvalidHandlePSP, func() error {
		if err := check(op, cgo.PSPFree(psp.handle)); err != nil {
			return err
		}
		psp.ia.mu.Lock()
		delete(psp.ia.psps, psp.handle)
		psp.ia.mu.Unlock()
		return nil
	})
}
