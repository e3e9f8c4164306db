package udat

import "github.com/goudat/goudat/cgo"

// PZ is a protection zone: its endpoints reach only its memory regions.
type PZ struct {
	obj    object
	ia     *IA
	handle cgo.PZHandle
}

func (pz *PZ) object() *object { return &pz.obj }

// arguments are the zone and its adapter, for a call that makes something of the zone.
func (pz *PZ) arguments() []argument {
	if pz == nil {
		return []argument{{nil, InvalidHandlePZ}}
	}
	return []argument{{objectOf(pz.ia), InvalidHandlePZ}, {&pz.obj, InvalidHandlePZ}}
}

// CreatePZ creates a protection zone on an adapter.
//
//	Implements: DAT_RETURN dat_pz_create(IN DAT_IA_HANDLE ia_handle, OUT DAT_PZ_HANDLE *pz_handle)
func CreatePZ(ia *IA) (*PZ, error) {
	const op = "dat_pz_create"
	if err := objectOf(ia).enter(op, InvalidHandleIA); err != nil {
		return nil, err
	}
	defer ia.obj.Leave()
	handle, r := cgo.PZCreate(ia.handle)
	if err := checkCreate(op, r); err != nil {
		return nil, err
	}
	pz := &PZ{ia: ia, handle: handle}
	pz.obj.born("protection zone", cgo.Handle(handle), InvalidStatePZInUse, pz.Free, &ia.obj.Object)
	return pz, nil
}

// PZParam holds the parameters of a protection zone.
type PZParam struct {
	IA *IA
}

// Query returns the parameters of the zone.
//
//	Implements: DAT_RETURN dat_pz_query(IN DAT_PZ_HANDLE pz_handle,
//	    IN DAT_PZ_PARAM_MASK pz_param_mask, OUT DAT_PZ_PARAM *pz_param)
func (pz *PZ) Query() (PZParam, error) {
	return query(objectOf(pz), "dat_pz_query", InvalidHandlePZ, func() (PZParam, cgo.Return) {
		return PZParam{IA: pz.ia}, cgo.PZQuery(pz.handle, cgo.PZFieldAll, new(cgo.PZParam))
	})
}

// Free frees the zone. It fails with ErrInvalidState if anything is in it.
//
//	Implements: DAT_RETURN dat_pz_free(IN DAT_PZ_HANDLE pz_handle)
func (pz *PZ) Free() error {
	const op = "dat_pz_free"
	return objectOf(pz).seal(op, InvalidHandlePZ, func() error {
		return check(op, cgo.PZFree(pz.handle))
	})
}
