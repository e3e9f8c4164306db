package devicetest

import (
	"testing"
	"unsafe"

	"github.com/goudat/goudat/cgo"
)

func TestLMRCreateOfOtherMemory(t *testing.T) {
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		pz := a.newPZ(t)
		m := a.newMemory(t, pz)
		id := new([cgo.LMRCookieSize]byte)
		shared := cgo.RegionDescription{Address: m.address, SharedMemoryID: uintptr(unsafe.Pointer(id))}
		virtual := cgo.RegionDescription{Address: m.address}
		for _, test := range []struct {
			name    string
			memType cgo.MemType
			region  cgo.RegionDescription
			vaType  cgo.VAType
			want    cgo.ReturnType
			subtype cgo.ReturnSubtype
		}{
			{"LMR", cgo.MemTypeLMR, cgo.RegionDescription{Address: uintptr(m.LMRHandle)}, cgo.VATypeVA, cgo.NotImplemented, cgo.NoSubtype},
			{"null LMR", cgo.MemTypeLMR, cgo.RegionDescription{}, cgo.VATypeVA, cgo.InvalidHandle, cgo.InvalidHandleLMR},
			{"shared", cgo.MemTypeSharedVirtual, shared, cgo.VATypeVA, cgo.InsufficientResources, cgo.ResourceMemoryRegion},
			{"zero-based", cgo.MemTypeVirtual, virtual, cgo.VATypeZB, cgo.NotImplemented, cgo.NoSubtype},
			{"unknown", 9, virtual, cgo.VATypeVA, cgo.InvalidParameter, cgo.InvalidArg2},
		} {
			t.Run(test.name, func(t *testing.T) {
				if a.iwarp && test.vaType == cgo.VATypeZB {
					t.Log("not tested: on iWARP it is registered, by the address that it has")
					return
				}
				lmr, _, _, _, _, r := cgo.LMRCreate(a.IAHandle, test.memType, test.region, memorySize, pz, cgo.MemPrivLocalRead, test.vaType)
				outcome(t, "LMRCreate", r, test.want, test.subtype)
				if lmr != 0 {
					t.Errorf("LMRCreate gave the handle %#x though it failed", lmr)
				}
			})
		}
	})
}

// A device without memory windows has no remote memory regions. Null handles are refused everywhere.
func TestRMR(t *testing.T) {
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		e := a.newEndpoint(t)
		if a.hasWindows(t) == a.iwarp {
			t.Errorf("the device has windows: %v", a.hasWindows(t))
		}
		var provider cgo.ProviderAttr
		_, r := cgo.IAQuery(a.IAHandle, cgo.IAFieldNone, nil, cgo.ProviderFieldAll, &provider)
		success(t, "IAQuery", r)
		if provider.RMRScopeSupported != cgo.RMRScopePZ {
			t.Errorf("the scope is %v", provider.RMRScopeSupported)
		}
		if !a.hasWindows(t) {
			rmr, r := cgo.RMRCreate(e.pz)
			outcome(t, "RMRCreate", r, cgo.ModelNotSupported, cgo.NoSubtype)
			if rmr != 0 {
				t.Errorf("RMRCreate gave the handle %#x though it failed", rmr)
			}
		}
		_, r = cgo.RMRCreate(0)
		outcome(t, "RMRCreate", r, cgo.InvalidHandle, cgo.InvalidHandlePZ)
		var param cgo.RMRParam
		outcome(t, "RMRQuery", cgo.RMRQuery(0, cgo.RMRFieldAll, &param), cgo.InvalidHandle, cgo.InvalidHandleRMR)
		segment := e.memory.local(0, 16)
		_, r = cgo.RMRBind(0, e.memory.LMRHandle, &segment, cgo.MemPrivRemoteRead, cgo.VATypeVA, e.EPHandle, 1, cgo.CompletionDefault)
		outcome(t, "RMRBind", r, cgo.InvalidHandle, cgo.InvalidHandleRMR)
		outcome(t, "RMRFree", cgo.RMRFree(0), cgo.InvalidHandle, cgo.InvalidHandleRMR)
	})
}
