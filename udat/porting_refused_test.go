package udat_test

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/udattest"
)

// refusals has, for each row of what C accepts and Go refuses in docs/porting.md,
// the errors of calls like those. Each must be one that the row names.
var refusals = map[string]func(t *testing.T, ia *udat.IA) []error{
	"an endpoint without a protection zone": func(t *testing.T, ia *udat.IA) []error {
		return []error{second(udat.CreateEP(ia, nil, nil, nil, nil, nil))}
	},
	"objects of another adapter: an endpoint's EVDs, zone and SRQ, a service point's EVD, a CNO, the endpoint of an accept, memory to synchronize": func(t *testing.T, ia *udat.IA) []error {
		other := udattest.Open(t, ia.Name())
		e, foreign := udattest.NewEndpoint(t, ia, nil), udattest.NewEndpoint(t, other, nil)
		srq, err := udat.CreateSRQ(other, foreign.PZ, udat.SRQAttr{MaxRecvDTOs: 4, MaxRecvIOV: 1})
		want(t, err)
		defer func() { want(t, srq.Free()) }()
		cno, err := udat.CreateCNO(other, nil)
		want(t, err)
		defer func() { want(t, cno.Free()) }()
		l := udattest.Listen(t, ia)
		want(t, e.EP.Connect(udattest.Address(t, ia), l.ConnQual, udattest.Patience, nil))
		cr := udattest.Expect(t, l.Requests, udat.EventConnectionRequest).CR()
		errs := []error{
			second(udat.CreateEP(ia, foreign.PZ, e.Recv, e.Request, e.Connect, nil)),
			second(udat.CreateEP(ia, e.PZ, foreign.Recv, e.Request, e.Connect, nil)),
			second(udat.CreateEP(ia, e.PZ, e.Recv, foreign.Request, e.Connect, nil)),
			second(udat.CreateEP(ia, e.PZ, e.Recv, e.Request, foreign.Connect, nil)),
			second(udat.CreateEPWithSRQ(ia, e.PZ, e.Recv, e.Request, e.Connect, srq, nil)),
			second(udat.CreatePSP(other, l.ConnQual+1, l.Requests, udat.PSPConsumer)),
			second(udat.CreateEVDWithCNO(ia, 4, cno, udat.EVDDTO)),
			cr.Accept(foreign.EP, nil),
			ia.SyncRDMARead(one(foreign.Segment(t, 0, 8))),
		}
		want(t, cr.Reject(nil))
		udattest.Expect(t, e.Connect, udat.EventConnectionPeerRejected)
		return errs
	},
	"an endpoint with an SRQ and without one of its EVDs": func(t *testing.T, ia *udat.IA) []error {
		e := udattest.NewEndpoint(t, ia, nil)
		srq, err := udat.CreateSRQ(ia, e.PZ, udat.SRQAttr{MaxRecvDTOs: 4, MaxRecvIOV: 1})
		want(t, err)
		defer func() { want(t, srq.Free()) }()
		return []error{
			second(udat.CreateEPWithSRQ(ia, e.PZ, nil, e.Request, e.Connect, srq, nil)),
			second(udat.CreateEPWithSRQ(ia, e.PZ, e.Recv, nil, e.Connect, srq, nil)),
			second(udat.CreateEPWithSRQ(ia, e.PZ, e.Recv, e.Request, nil, srq, nil)),
		}
	},
	"other services and qualities of service, also by `dat_ep_modify`": func(t *testing.T, ia *udat.IA) []error {
		e := udattest.NewEndpoint(t, ia, nil)
		return []error{
			createWith(e, &udat.EPAttr{ServiceType: 17}), createWith(e, &udat.EPAttr{QOS: udat.QOSBestEffort + 1}),
			e.Modify(udat.EPFieldQOS, &udat.EPParam{Attr: udat.EPAttr{QOS: udat.QOSBestEffort + 1}}),
		}
	},
	"negative depths of RDMA reads, more segments for RDMA operations than the adapter takes": func(t *testing.T, ia *udat.IA) []error {
		e := udattest.NewEndpoint(t, ia, nil)
		return []error{
			createWith(e, &udat.EPAttr{MaxRDMAReadIn: -2}), createWith(e, &udat.EPAttr{MaxRDMAReadOut: -2}),
			createWith(e, &udat.EPAttr{MaxRDMAReadIOV: 1000}), createWith(e, &udat.EPAttr{MaxRDMAWriteIOV: 1000}),
		}
	},
	"different completion flags on one EVD; others than `EVD_THRESHOLD` beside software events or requests": func(t *testing.T, ia *udat.IA) []error {
		e := udattest.NewEndpoint(t, ia, nil)
		unsignalled := &udat.EPAttr{RecvCompletionFlags: udat.CompletionUnsignalled}
		errs := []error{createWith(e, unsignalled)}
		for _, more := range []udat.EVDFlags{udat.EVDSoftware, udat.EVDCR} {
			evd := createEVD(t, ia, 32, udat.EVDDTO|more)
			errs = append(errs, second(udat.CreateEP(ia, e.PZ, evd, e.Request, e.Connect, unsignalled)))
		}
		return errs
	},
	"`SUPPRESS` and other flags in `request_completion_flags`": func(t *testing.T, ia *udat.IA) []error {
		e := udattest.NewEndpoint(t, ia, nil)
		return []error{
			createWith(e, &udat.EPAttr{RequestCompletionFlags: udat.CompletionSuppress}),
			createWith(e, &udat.EPAttr{RequestCompletionFlags: udat.CompletionBarrierFence}),
		}
	},
	"an EVD without flags, or with unknown ones; memory without privileges, or with unknown ones": func(t *testing.T, ia *udat.IA) []error {
		e := udattest.NewEndpoint(t, ia, nil)
		return []error{
			second(udat.CreateEVD(ia, 8, 0)), second(udat.CreateEVD(ia, 8, 0x8000)),
			second(udat.RegisterMemory(e.PZ, make([]byte, 8), 0)), second(udat.RegisterMemory(e.PZ, make([]byte, 8), 0x4000)),
		}
	},
	"more operations outstanding than the EVD holds": func(t *testing.T, ia *udat.IA) []error {
		e := udattest.NewEndpoint(t, ia, nil)
		short := createEVD(t, ia, 8, udat.EVDDTO)
		long := &udat.EPAttr{MaxRecvDTOs: 500}
		ep, err := udat.CreateEP(ia, e.PZ, short, e.Request, e.Connect, long)
		want(t, err)
		another, err := udat.CreateEP(ia, e.PZ, short, e.Request, e.Connect, long)
		want(t, err)
		defer func() { want(t, errors.Join(ep.Free(), another.Free())) }()
		for range 2 * long.MaxRecvDTOs {
			for _, ep := range []*udat.EP{ep, another} {
				if err := ep.PostRecv(one(e.Segment(t, 0, 8)), 1, 0); err != nil {
					return []error{err}
				}
			}
		}
		return nil
	},
	"more segments, or longer operations, than the attributes say": func(t *testing.T, ia *udat.IA) []error {
		e, peer := udattest.Pair(t, ia, &udat.EPAttr{MaxRequestIOV: 1, MaxRecvIOV: 1, MaxMessageSize: 100, MaxRDMASize: 100})
		remote, err := peer.Memory.RMRTriplet(0, 200)
		want(t, err)
		two := []udat.Segment{e.Segment(t, 0, 1), e.Segment(t, 1, 1)}
		return []error{
			e.PostSend(two, 1, 0), e.PostRecv(two, 1, 0),
			e.PostSend(one(e.Segment(t, 0, 101)), 1, 0), e.PostRDMAWrite(one(e.Segment(t, 0, 101)), 1, remote, 0),
		}
	},
	"a segment outside its region, of another zone, without the privilege": func(t *testing.T, ia *udat.IA) []error {
		e, peer := udattest.Pair(t, ia, nil)
		lmr, err := udat.RegisterMemory(e.PZ, make([]byte, 8), udat.MemPrivRemoteRead)
		want(t, err)
		defer func() { want(t, lmr.Free()) }()
		segment, err := lmr.Segment(0, 8)
		want(t, err)
		return []error{
			second(lmr.Segment(1, 8)),
			e.PostSend(one(peer.Segment(t, 0, 8)), 1, 0), e.PostSend(one(segment), 1, 0),
		}
	},
	"a remote segment that is too short": func(t *testing.T, ia *udat.IA) []error {
		e, peer := udattest.Pair(t, ia, nil)
		remote, err := peer.Memory.RMRTriplet(0, 7)
		want(t, err)
		return []error{
			e.PostRDMAWrite(one(e.Segment(t, 0, 8)), 1, remote, 0), e.PostRDMARead(one(e.Segment(t, 0, 8)), 1, remote, 0),
			second(remote.Slice(1, 7)),
		}
	},
	"RDMA reads where the attributes allow none": func(t *testing.T, ia *udat.IA) []error {
		e, peer := udattest.Pair(t, ia, &udat.EPAttr{MaxRDMAReadOut: udat.NoRDMAReads})
		remote, err := peer.Memory.RMRTriplet(0, 8)
		want(t, err)
		return []error{e.PostRDMARead(one(e.Segment(t, 0, 8)), 1, remote, 0)}
	},
	"flags that an operation, a disconnect or a close does not have": func(t *testing.T, ia *udat.IA) []error {
		e, _ := udattest.Pair(t, ia, nil)
		return []error{e.PostSend(one(e.Segment(t, 0, 8)), 1, 0x4000), e.Disconnect(7), ia.Close(7)}
	},
	"an address of IPv6, a multicast or no address": func(t *testing.T, ia *udat.IA) []error {
		e := udattest.NewEndpoint(t, ia, nil)
		var errs []error
		for _, address := range []netip.Addr{netip.IPv6Loopback(), netip.MustParseAddr("224.0.0.5"), {}} {
			errs = append(errs, e.EP.Connect(address, 1, time.Second, nil))
		}
		return errs
	},
	"the qualifier 0; one that socket CM makes TCP port 0 of": func(t *testing.T, ia *udat.IA) []error {
		requests := createEVD(t, ia, 4, udat.EVDCR)
		errs := []error{second(udat.CreatePSP(ia, 0, requests, udat.PSPConsumer))}
		psp, err := udat.CreatePSP(ia, 64536, requests, udat.PSPConsumer)
		if !strings.Contains(ia.Name(), "scm") {
			want(t, err)
			want(t, psp.Free())
			err = udat.ErrConnQualUnavailable // where it is another's
		}
		return append(errs, err)
	},
	"two reserved service points on a qualifier": func(t *testing.T, ia *udat.IA) []error {
		e, another := udattest.NewEndpoint(t, ia, nil), udattest.NewEndpoint(t, ia, nil)
		requests, qual := createEVD(t, ia, 4, udat.EVDCR), udattest.ConnQual()
		rsp, err := udat.CreateRSP(ia, qual, e.EP, requests)
		want(t, err)
		defer func() { want(t, rsp.Free()) }()
		return []error{second(udat.CreateRSP(ia, qual, another.EP, requests))}
	},
	"`DAT_PSP_PROVIDER_FLAG`": func(t *testing.T, ia *udat.IA) []error {
		return []error{second(udat.CreatePSP(ia, udattest.ConnQual(), createEVD(t, ia, 4, udat.EVDCR), udat.PSPProvider))}
	},
	"private data beyond the provider's limit": func(t *testing.T, ia *udat.IA) []error {
		e, long := udattest.NewEndpoint(t, ia, nil), make([]byte, 200)
		return []error{e.EP.Connect(udattest.Address(t, ia), 1, time.Second, long)}
	},
	"an answer to a request that is answered": func(t *testing.T, ia *udat.IA) []error {
		e, l := udattest.NewEndpoint(t, ia, nil), udattest.Listen(t, ia)
		want(t, e.EP.Connect(udattest.Address(t, ia), l.ConnQual, udattest.Patience, nil))
		cr := udattest.Expect(t, l.Requests, udat.EventConnectionRequest).CR()
		want(t, cr.Reject(nil))
		udattest.Expect(t, e.Connect, udat.EventConnectionPeerRejected)
		return []error{cr.Reject(nil), cr.Accept(udattest.NewEndpoint(t, ia, nil).EP, nil)}
	},
	"an EVD resized below what is there": func(t *testing.T, ia *udat.IA) []error {
		evd := createEVD(t, ia, 8, udat.EVDSoftware)
		for range 4 {
			want(t, evd.PostSE(1))
		}
		return []error{evd.Resize(3)}
	},
	"memory freed while operations use it": func(t *testing.T, ia *udat.IA) []error {
		e := udattest.NewEndpoint(t, ia, nil)
		want(t, e.PostRecv(one(e.Segment(t, 0, 8)), 1, 0))
		return []error{e.Memory.Free()}
	},
	"an object used after it was freed, or freed twice": func(t *testing.T, ia *udat.IA) []error {
		evd, err := udat.CreateEVD(ia, 8, udat.EVDSoftware)
		want(t, err)
		want(t, evd.Free())
		return []error{second(evd.Dequeue()), evd.Free()}
	},
}

func createWith(e *udattest.Endpoint, attr *udat.EPAttr) error {
	return second(udat.CreateEP(e.IA, e.PZ, e.Recv, e.Request, e.Connect, attr))
}

// errorsByName are those that the rows name.
var errorsByName = map[string]error{
	"ErrClosed": udat.ErrClosed, "ErrConnQualInUse": udat.ErrConnQualInUse, "ErrConnQualUnavailable": udat.ErrConnQualUnavailable,
	"ErrInsufficientResources": udat.ErrInsufficientResources, "ErrInvalidAddress": udat.ErrInvalidAddress,
	"ErrInvalidHandle": udat.ErrInvalidHandle, "ErrInvalidParameter": udat.ErrInvalidParameter, "ErrInvalidState": udat.ErrInvalidState,
	"ErrModelNotSupported": udat.ErrModelNotSupported, "ErrPrivilegesViolation": udat.ErrPrivilegesViolation,
	"ErrProtectionViolation": udat.ErrProtectionViolation,
}

var errorName = regexp.MustCompile("`(Err[A-Za-z]+)`")

// Go refuses what docs/porting.md says that it does, as it says.
func TestPortedRefusals(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		for _, row := range refusedRows(t) {
			calls, ok := refusals[row[0]]
			if !ok {
				t.Errorf("no call stands for the row %q", row[0])
				continue
			}
			t.Run(row[0], func(t *testing.T) {
				missing := map[string]bool{}
				for _, match := range errorName.FindAllStringSubmatch(row[1], -1) {
					missing[match[1]] = true
				}
				for i, err := range calls(t, ia) {
					named := false
					for name := range missing {
						if errors.Is(err, errorsByName[name]) {
							missing[name], named = false, true
						}
					}
					if !named {
						t.Errorf("the error of call %d is %v, and the row names %s", i+1, err, row[1])
					}
				}
				for name, still := range missing {
					if still {
						t.Errorf("no call has the error %s", name)
					}
				}
			})
		}
	})
}

// refusedRows returns the cells of the table.
func refusedRows(t *testing.T) (rows [][]string) {
	t.Helper()
	page, err := os.ReadFile("../docs/porting.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "| C accepts | Go | why | instead |\n| --- | --- | --- | --- |\n")
	table, _, _ = strings.Cut(table, "\n\n")
	for _, line := range strings.Split(table, "\n") {
		cells := strings.Split(strings.Trim(line, "| "), " | ")
		if len(cells) != 4 {
			t.Fatalf("a row has not four cells: %s", line)
		}
		rows = append(rows, cells)
	}
	if len(rows) != len(refusals) {
		t.Errorf("the page has %s", fmt.Sprintf("%d rows, and the test %d", len(rows), len(refusals)))
	}
	return rows
}
