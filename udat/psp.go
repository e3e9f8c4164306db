package udat

import "github.com/goudat/goudat/cgo"

// PSP is a public service point: it listens for connection requests.
type PSP struct {
	service service
}

func (psp *PSP) object() *object { return &psp.service.obj }

// CreatePSP listens on a connection qualifier. Each request is an EventConnectionRequest on evd,
// which must have EVDCR. It fails with ErrConnQualInUse if something already listens there, by the
// same number or another of the same meaning: see ConnQual.
//
//	Implements: DAT_RETURN dat_psp_create(IN DAT_IA_HANDLE ia_handle, IN DAT_CONN_QUAL conn_qual,
//	    IN DAT_EVD_HANDLE evd_handle, IN DAT_PSP_FLAGS psp_flags, OUT DAT_PSP_HANDLE *psp_handle)
func CreatePSP(ia *IA, qual ConnQual, evd *EVD) (*PSP, error) {
	const op = "dat_psp_create"
	return createPSP(op, ia, evd, qual, qual.check(op, InvalidArg2))
}

// CreatePSPAny is CreatePSP on a free qualifier, which Query returns.
//
//	Implements: DAT_RETURN dat_psp_create_any(IN DAT_IA_HANDLE ia_handle,
//	    OUT DAT_CONN_QUAL *conn_qual, IN DAT_EVD_HANDLE evd_handle, IN DAT_PSP_FLAGS psp_flags,
//	    OUT DAT_PSP_HANDLE *psp_handle)
func CreatePSPAny(ia *IA, evd *EVD) (*PSP, error) {
	return createPSP("dat_psp_create_any", ia, evd, anyConnQual, nil)
}

func createPSP(op string, ia *IA, evd *EVD, qual ConnQual, refused error) (*PSP, error) {
	leave, err := enterAll(op, argument{objectOf(ia), InvalidHandleIA}, argument{objectOf(evd), InvalidHandleEVDCR})
	if err != nil {
		return nil, err
	}
	defer leave()
	if refused != nil {
		return nil, refused
	}
	psp := &PSP{service{ia: ia, evd: evd, qual: qual}}
	psp.service.psp = psp
	err = psp.service.listen(op, "public service point", psp.Free, func() (cgo.Handle, cgo.Return) {
		if qual != anyConnQual {
			handle, r := cgo.PSPCreate(ia.handle, uint64(qual), evd.queue.Handle(), cgo.PSPConsumer)
			return cgo.Handle(handle), r
		}
		handle, free, r := cgo.PSPCreateAny(ia.handle, evd.queue.Handle(), cgo.PSPConsumer)
		psp.service.qual = ConnQual(free)
		return cgo.Handle(handle), r
	})
	if err != nil {
		return nil, err
	}
	return psp, nil
}

// PSPParam holds the parameters of a public service point.
type PSPParam struct {
	IA       *IA
	ConnQual ConnQual
	EVD      *EVD
}

// Query returns the parameters of the service point.
//
//	Implements: DAT_RETURN dat_psp_query(IN DAT_PSP_HANDLE psp_handle,
//	    IN DAT_PSP_PARAM_MASK psp_param_mask, OUT DAT_PSP_PARAM *psp_param)
func (psp *PSP) Query() (PSPParam, error) {
	return query(objectOf(psp), "dat_psp_query", InvalidHandlePSP, func() (PSPParam, cgo.Return) {
		s := &psp.service
		var native cgo.PSPParam
		r := cgo.PSPQuery(cgo.PSPHandle(s.obj.handle), cgo.PSPFieldAll, &native)
		return PSPParam{IA: s.ia, ConnQual: ConnQual(native.ConnQual), EVD: s.evd}, r
	})
}

// Free ends the service. Unanswered requests are rejected, queued ones included. Accepted
// connections continue.
//
//	Implements: DAT_RETURN dat_psp_free(IN DAT_PSP_HANDLE psp_handle)
func (psp *PSP) Free() error {
	const op = "dat_psp_free"
	if psp == nil {
		return objectOf(psp).enter(op, InvalidHandlePSP)
	}
	return psp.service.free(op, InvalidHandlePSP, func() error { return check(op, cgo.PSPFree(cgo.PSPHandle(psp.service.obj.handle))) })
}
