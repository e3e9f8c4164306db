package devicetest

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/goudat/goudat/cgo"
)

// accepted maps rows of docs/porting.md to calls that C accepts according to them. Each succeeds. Calls that end the
// process or hang its endpoints are left out.
var accepted = map[string]func(t *testing.T, a *adapter) []cgo.Return{
	"an endpoint without a protection zone": func(t *testing.T, a *adapter) []cgo.Return {
		p := a.newObjects(t)
		return []cgo.Return{a.tryEP(t, 0, p, endpointAttr())}
	},
	"objects of another adapter: an endpoint's EVDs, zone and SRQ, a service point's EVD, a CNO, the endpoint of an accept, memory to synchronize": func(t *testing.T, a *adapter) []cgo.Return {
		p, other := a.newObjects(t), openAdapter(t, a.name)
		foreign := other.newEndpoint(t)
		theirs := objects{foreign.pz, foreign.recv.EVDHandle, foreign.request.EVDHandle, foreign.connect.EVDHandle}
		returns := []cgo.Return{
			a.tryEP(t, theirs.pz, p, endpointAttr()), a.tryEP(t, p.pz, theirs, endpointAttr()),
			cgo.LMRSyncRDMARead(a.IAHandle, []cgo.LMRTriplet{foreign.memory.local(0, 8)}),
		}
		evd, r := cgo.EVDCreate(a.IAHandle, 8, foreign.recv.cno, cgo.EVDDTO)
		returns = append(returns, r)
		if r.OK() {
			success(t, "EVDFree", cgo.EVDFree(evd))
		}
		psp, _, r := cgo.PSPCreateAny(a.IAHandle, other.newQueue(t, cgo.EVDCR).EVDHandle, cgo.PSPConsumer)
		returns = append(returns, r)
		if r.OK() {
			success(t, "PSPFree", cgo.PSPFree(psp))
		}
		return returns
	},
	"other services and qualities of service, also by `dat_ep_modify`": func(t *testing.T, a *adapter) []cgo.Return {
		p, service, quality := a.newObjects(t), endpointAttr(), endpointAttr()
		service.ServiceType, quality.QOS = 17, cgo.QOSHighThroughput
		return []cgo.Return{a.tryEP(t, p.pz, p, service), a.tryEP(t, p.pz, p, quality)}
	},
	"negative depths of RDMA reads, more segments for RDMA operations than the adapter takes": func(t *testing.T, a *adapter) []cgo.Return {
		p, negative, many := a.newObjects(t), endpointAttr(), endpointAttr()
		negative.MaxRDMAReadIn, negative.MaxRDMAReadOut = -2, -2
		many.MaxRDMAReadIOV, many.MaxRDMAWriteIOV = 1000, 1000
		return []cgo.Return{a.tryEP(t, p.pz, p, negative), a.tryEP(t, p.pz, p, many)}
	},
	"different completion flags on one EVD; others than `EVD_THRESHOLD` beside software events or requests": func(t *testing.T, a *adapter) []cgo.Return {
		p, unsignalled := a.newObjects(t), endpointAttr()
		unsignalled.RecvCompletionFlags = cgo.CompletionUnsignalled
		beside := p
		beside.recv = a.newQueue(t, cgo.EVDDTO|cgo.EVDSoftware).EVDHandle
		return []cgo.Return{a.tryEP(t, p.pz, p, endpointAttr()), a.tryEP(t, p.pz, p, unsignalled), a.tryEP(t, p.pz, beside, unsignalled)}
	},
	"`SUPPRESS` and other flags in `request_completion_flags`": func(t *testing.T, a *adapter) []cgo.Return {
		p, suppress, fence := a.newObjects(t), endpointAttr(), endpointAttr()
		suppress.RequestCompletionFlags, fence.RequestCompletionFlags = cgo.CompletionSuppress, cgo.CompletionBarrierFence
		return []cgo.Return{a.tryEP(t, p.pz, p, suppress), a.tryEP(t, p.pz, p, fence)}
	},
	"an EVD without flags, or with unknown ones; memory without privileges, or with unknown ones": func(t *testing.T, a *adapter) (returns []cgo.Return) {
		for _, flags := range []cgo.EVDFlags{0, 0x8000} {
			evd, r := cgo.EVDCreate(a.IAHandle, 8, 0, flags)
			returns = append(returns, r)
			if r.OK() {
				success(t, "EVDFree", cgo.EVDFree(evd))
			}
		}
		_, address := newPage(t)
		for _, privileges := range []cgo.MemPriv{0, 0x4000} {
			lmr, _, _, _, r := cgo.LMRCreateVirtual(a.IAHandle, address, 8, a.newPZ(t), privileges, cgo.VATypeVA)
			returns = append(returns, r)
			if r.OK() {
				success(t, "LMRFree", cgo.LMRFree(lmr))
			}
		}
		return returns
	},
	"a segment outside its region, of another zone, without the privilege": func(t *testing.T, a *adapter) []cgo.Return {
		active, passive := a.connectedPair(t)
		segment, remote := a.newMemory(t, a.newPZ(t)).local(0, 8), passive.memory.remote(0, 8)
		r := cgo.EPPostRDMAWrite(active.EPHandle, []cgo.LMRTriplet{segment}, 1, &remote, 0)
		active.request.next(t) // it succeeds if it is so short that the library copies it
		return []cgo.Return{r}
	},
	"a remote segment that is too short": func(t *testing.T, a *adapter) []cgo.Return {
		active, passive := a.connectedPair(t)
		short := passive.memory.remote(0, 4)
		copy(active.memory.bytes, "too long")
		r := cgo.EPPostRDMAWrite(active.EPHandle, []cgo.LMRTriplet{active.memory.local(0, 8)}, 1, &short, 0)
		active.request.next(t)
		if got := string(passive.memory.bytes[:8]); got != "too long" {
			t.Errorf("the peer's memory has %q", got)
		}
		return []cgo.Return{r}
	},
	"flags that an operation, a disconnect or a close does not have": func(t *testing.T, a *adapter) []cgo.Return {
		active, passive := a.connectedPair(t)
		remote := passive.memory.remote(0, 8)
		post := cgo.EPPostRDMAWrite(active.EPHandle, []cgo.LMRTriplet{active.memory.local(0, 8)}, 1, &remote, 0x4000)
		active.request.next(t)
		r := cgo.EPDisconnect(active.EPHandle, 7)
		active.connect.expect(t, cgo.EventConnectionDisconnected)
		passive.connect.expect(t, cgo.EventConnectionDisconnected)
		return []cgo.Return{post, r}
	},
	"a multicast or no address, over IPv4": func(t *testing.T, a *adapter) []cgo.Return {
		if a.address.Addr().Is6() {
			return nil
		}
		e := a.newEndpoint(t)
		r := cgo.EPConnect(e.EPHandle, &cgo.SockAddr{}, 1, uint32(time.Second/time.Microsecond), nil, cgo.QOSBestEffort, cgo.ConnectDefault)
		e.connect.next(t)
		return []cgo.Return{r}
	},
	"the qualifier 0; one that socket CM makes TCP port 0 of": func(t *testing.T, a *adapter) (returns []cgo.Return) {
		requests := a.newQueue(t, cgo.EVDCR)
		for _, qual := range []uint64{0, 64536} {
			psp, r := cgo.PSPCreate(a.IAHandle, qual, requests.EVDHandle, cgo.PSPConsumer)
			returns = append(returns, r)
			if r.OK() {
				success(t, "PSPFree", cgo.PSPFree(psp))
			}
		}
		return returns
	},
}

// C accepts what docs/porting.md says that it accepts.
func TestAccepted(t *testing.T) {
	page, err := os.ReadFile("../../../docs/porting.md")
	do(t, err)
	for row := range accepted {
		if !strings.Contains(string(page), "\n| "+row+" | ") {
			t.Errorf("docs/porting.md has no row %q", row)
		}
	}
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		for row, calls := range accepted {
			t.Run(row, func(t *testing.T) {
				for i, r := range calls(t, a) {
					if !r.OK() {
						t.Errorf("call %d returned %v", i+1, r)
					}
				}
			})
		}
	})
}

// objects are what that an endpoint uses.
type objects struct {
	pz                     cgo.PZHandle
	recv, request, connect cgo.EVDHandle
}

func (a *adapter) newObjects(t *testing.T) objects {
	t.Helper()
	return objects{a.newPZ(t), a.newQueue(t, cgo.EVDDTO).EVDHandle, a.newQueue(t, cgo.EVDDTO).EVDHandle, a.newQueue(t, cgo.EVDConnection).EVDHandle}
}

// tryEP makes an endpoint, and frees it if that succeeds.
func (a *adapter) tryEP(t *testing.T, pz cgo.PZHandle, p objects, attr *cgo.EPAttr) cgo.Return {
	t.Helper()
	ep, r := cgo.EPCreate(a.IAHandle, pz, p.recv, p.request, p.connect, attr)
	if r.OK() {
		success(t, "EPFree", cgo.EPFree(ep))
	}
	return r
}
