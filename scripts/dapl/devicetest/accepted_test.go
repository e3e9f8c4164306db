package devicetest

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/goudat/goudat/cgo"
)

// accepted has rows of docs/porting.md, and calls that succeed according to them. None ends the process or hangs endpoints.
var accepted = map[string]func(t *testing.T, a *adapter) []cgo.Return{
	"an endpoint without a protection zone": func(t *testing.T, a *adapter) []cgo.Return {
		p := a.newEndpoint(t)
		return []cgo.Return{a.tryEP(0, p, endpointAttr())}
	},
	"objects of another adapter: an endpoint's EVDs, zone and SRQ, a service point's EVD, a CNO, the endpoint of an accept, memory to synchronize": func(t *testing.T, a *adapter) []cgo.Return {
		p, other := a.newEndpoint(t), openAdapter(t, a.name)
		foreign := other.newEndpoint(t)
		return []cgo.Return{
			a.tryEP(foreign.pz, p, endpointAttr()), a.tryEP(p.pz, foreign, endpointAttr()),
			cgo.LMRSyncRDMARead(a.IAHandle, []cgo.LMRTriplet{foreign.memory.local(0, 8)}),
			tried(cgo.EVDCreate(a.IAHandle, 8, foreign.recv.cno, cgo.EVDDTO))(cgo.EVDFree),
			tried(cgo.PSPCreate(a.IAHandle, 21022, other.newQueue(t, cgo.EVDCR).EVDHandle, cgo.PSPConsumer))(cgo.PSPFree),
		}
	},
	"other services and qualities of service, also by `dat_ep_modify`": func(t *testing.T, a *adapter) []cgo.Return {
		p, service, quality := a.newEndpoint(t), endpointAttr(), endpointAttr()
		service.ServiceType, quality.QOS = 17, cgo.QOSHighThroughput
		return []cgo.Return{a.tryEP(p.pz, p, service), a.tryEP(p.pz, p, quality)}
	},
	"negative depths of RDMA reads, more segments for RDMA operations than the adapter takes": func(t *testing.T, a *adapter) []cgo.Return {
		p, negative, many := a.newEndpoint(t), endpointAttr(), endpointAttr()
		negative.MaxRDMAReadIn, negative.MaxRDMAReadOut = -2, -2
		many.MaxRDMAReadIOV, many.MaxRDMAWriteIOV = 1000, 1000
		return []cgo.Return{a.tryEP(p.pz, p, negative), a.tryEP(p.pz, p, many)}
	},
	"different completion flags on one EVD; others than `EVD_THRESHOLD` beside software events or requests": func(t *testing.T, a *adapter) []cgo.Return {
		p, unsignalled := a.newEndpoint(t), endpointAttr()
		unsignalled.RecvCompletionFlags = cgo.CompletionUnsignalled
		beside := *p
		beside.recv = a.newQueue(t, cgo.EVDDTO|cgo.EVDSoftware)
		return []cgo.Return{a.tryEP(p.pz, p, endpointAttr()), a.tryEP(p.pz, p, unsignalled), a.tryEP(p.pz, &beside, unsignalled)}
	},
	"`SUPPRESS` and other flags in `request_completion_flags`": func(t *testing.T, a *adapter) []cgo.Return {
		p, suppress, fence := a.newEndpoint(t), endpointAttr(), endpointAttr()
		suppress.RequestCompletionFlags, fence.RequestCompletionFlags = cgo.CompletionSuppress, cgo.CompletionBarrierFence
		return []cgo.Return{a.tryEP(p.pz, p, suppress), a.tryEP(p.pz, p, fence)}
	},
	"an EVD without flags, or with unknown ones; memory without privileges, or with unknown ones": func(t *testing.T, a *adapter) (returns []cgo.Return) {
		for _, flags := range []cgo.EVDFlags{0, 0x8000} {
			returns = append(returns, tried(cgo.EVDCreate(a.IAHandle, 8, 0, flags))(cgo.EVDFree))
		}
		_, address := newPage(t)
		for _, privileges := range []cgo.MemPriv{0, 0x4000} {
			lmr, _, _, _, r := cgo.LMRCreateVirtual(a.IAHandle, address, 8, a.newPZ(t), privileges, cgo.VATypeVA)
			returns = append(returns, tried(lmr, r)(cgo.LMRFree))
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
		same(t, "the peer's memory", string(passive.memory.bytes[:8]), "too long")
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
			returns = append(returns, tried(cgo.PSPCreate(a.IAHandle, qual, requests.EVDHandle, cgo.PSPConsumer))(cgo.PSPFree))
		}
		return returns
	},
}

// C accepts what docs/porting.md says that it accepts.
func TestAccepted(t *testing.T) {
	page, err := os.ReadFile("../../../docs/porting.md")
	do(t, err)
	for row := range accepted {
		check(t, strings.Contains(string(page), "\n| "+row+" | "), "docs/porting.md has no row %q", row)
	}
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		for row, calls := range accepted {
			t.Run(row, func(t *testing.T) {
				for i, r := range calls(t, a) {
					check(t, r.OK(), "call %d returned %v", i+1, r)
				}
			})
		}
	})
}

// tryEP makes an endpoint with the EVDs of another, and frees it if that succeeds.
func (a *adapter) tryEP(pz cgo.PZHandle, of *endpoint, attr *cgo.EPAttr) cgo.Return {
	return tried(cgo.EPCreate(a.IAHandle, pz, of.recv.EVDHandle, of.request.EVDHandle, of.connect.EVDHandle, attr))(cgo.EPFree)
}

// tried frees what a call has made, and returns what the call has returned, or else the free.
func tried[T any](made T, r cgo.Return) func(free func(T) cgo.Return) cgo.Return {
	return func(free func(T) cgo.Return) cgo.Return {
		if r.OK() {
			return free(made)
		}
		return r
	}
}
