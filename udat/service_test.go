package udat_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/udattest"
)

func TestCreatePSPRefuses(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		l := udattest.Listen(t, ia)
		e := udattest.NewEndpoint(t, ia, nil)
		create := func(qual udat.ConnQual, evd *udat.EVD) error {
			return second(udat.CreatePSP(ia, qual, evd))
		}
		want(t, create(0, l.Requests), udat.ErrInvalidParameter, udat.InvalidArg2)
		want(t, create(udattest.ConnQual(), e.Connect), udat.ErrInvalidHandle, udat.InvalidHandleEVDCR)
		want(t, create(udattest.ConnQual(), nil), udat.ErrInvalidHandle, udat.InvalidHandleEVDCR)
		want(t, create(l.ConnQual, l.Requests), udat.ErrConnQualInUse)

		// Another adapter on the same device is another program to the library.
		other := udattest.Open(t, ia.Name())
		evd := createEVD(t, other, 4, udat.EVDCR)
		want(t, second(udat.CreatePSP(other, l.ConnQual, evd)), udat.ErrConnQualInUse)
		want(t, create(udattest.ConnQual(), evd), udat.ErrInvalidHandle, udat.InvalidHandleEVDCR)
	})
}

// A qualifier can be listened on again, and belongs to nobody in between.
func TestListenAgain(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		l := udattest.Listen(t, ia)
		want(t, l.PSP.Free())
		e, peer := udattest.NewEndpoint(t, ia, nil), udattest.NewEndpoint(t, ia, nil)
		want(t, e.EP.Connect(udattest.Address(t, ia), l.ConnQual, udattest.Patience, nil))
		udattest.Expect(t, e.Connect, udat.EventConnectionNonPeerRejected)
		want(t, e.EP.Reset())

		again := &udattest.Listener{PSP: must(udat.CreatePSP(ia, l.ConnQual, l.Requests)), Requests: l.Requests, ConnQual: l.ConnQual}
		udattest.ConnectPair(t, again, e, peer)
		want(t, again.PSP.Free())
		// A connection outlives the service point that it came through.
		want(t, peer.EP.PostRecv(one(peer.Segment(t, 0, 8)), 1, 0))
		want(t, e.EP.PostSend(one(e.Segment(t, 0, 8)), 1, 0))
		udattest.Expect(t, peer.Recv, udat.EventDTOCompletion)
	})
}

func TestCreatePSPAny(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		l := udattest.Listen(t, ia)
		psp := untilEnd(t, must(udat.CreatePSPAny(ia, l.Requests)))
		param := must(psp.Query())
		if param.IA != ia || param.EVD != l.Requests || param.ConnQual == l.ConnQual {
			t.Errorf("the service point says %+v", param)
		}
		l.ConnQual = param.ConnQual
		udattest.ConnectPair(t, l, udattest.NewEndpoint(t, ia, nil), udattest.NewEndpoint(t, ia, nil))
	})
}

// synonym returns another qualifier that the provider maps to the same port.
func synonym(t *testing.T, ia *udat.IA, qual udat.ConnQual) udat.ConnQual {
	if strings.Contains(ia.Name(), "scm") {
		return qual + 3<<16
	}
	const folded, first = 32001, 33534
	if qual < first {
		t.Fatalf("no qualifier is folded into %d", qual)
	}
	return qual - first + 7*folded
}

// Two qualifiers that the provider maps to the same port are one: the error has the port,
// whichever adapter of the program listens.
func TestQualifiersThatMeet(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		// That synonym needs one this high, which is still below the test bed's ports for
		// connections.
		qual := udattest.ConnQual()%10000 + 34000
		port, other := qual, synonym(t, ia, qual)
		if strings.Contains(ia.Name(), "scm") {
			port += 1000
		}
		requests := createEVD(t, ia, 4, udat.EVDCR)
		psp := must(udat.CreatePSP(ia, qual, requests))

		another := udattest.Open(t, ia.Name())
		evd := createEVD(t, another, 4, udat.EVDCR)
		for name, err := range map[string]error{
			"PSP":             second(udat.CreatePSP(ia, other, requests)),
			"RSP":             second(udat.CreateRSP(ia, other, udattest.NewEndpoint(t, ia, nil).EP, requests)),
			"another adapter": second(udat.CreatePSP(another, other, evd)),
		} {
			want(t, err, udat.ErrConnQualInUse)
			if text := fmt.Sprint(err); !strings.Contains(text, fmt.Sprint("port ", port)) || !strings.Contains(text, fmt.Sprint(other)) {
				t.Errorf("%s: the error names not both port %d and %d: %v", name, port, other, err)
			}
		}

		// A peer that uses the other number reaches the service, which hears its own. Once it has
		// gone, the other number is free.
		e := udattest.NewEndpoint(t, ia, nil)
		for range 2 {
			want(t, e.EP.Connect(udattest.Address(t, ia), other, udattest.Patience, nil))
			request := udattest.Expect(t, requests, udat.EventConnectionRequest)
			if came := must(request.CR().Query()).ConnQual; came != qual {
				t.Errorf("the request came to %d, want %d", came, qual)
			}
			want(t, request.CR().Reject(nil))
			udattest.Expect(t, e.Connect, udat.EventConnectionPeerRejected)
			want(t, e.Reset())
			want(t, psp.Free())
			psp = must(udat.CreatePSP(ia, other, requests))
			qual, other = other, qual
		}
		want(t, psp.Free())
	})
}

// CreatePSP refuses a qualifier that leads to no port, and a connect to it fails.
func TestQualifierOfNoPort(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		if !strings.Contains(ia.Name(), "scm") {
			return
		}
		const none = 64536 + 5<<16
		l := udattest.Listen(t, ia)
		_, err := udat.CreatePSP(ia, none, l.Requests)
		want(t, err, udat.ErrConnQualUnavailable)
		wantDetail(t, err)
		e := udattest.NewEndpoint(t, ia, nil)
		want(t, e.EP.Connect(udattest.Address(t, ia), none, time.Second, nil))
		udattest.Expect(t, e.Connect, udat.EventConnectionNonPeerRejected)
	})
}

// An open adapter of the CMA provider has a port that the kernel has chosen. The error
// for it says where such ports come from.
func TestPortOfAdapter(t *testing.T) {
	if !udattest.InTestbed(t) {
		return
	}
	const (
		file        = "/proc/sys/net/ipv4/ip_local_port_range"
		first, last = 61998, 61999 // the kernel asks for two; outside of the usual range, so that no other socket has these, nor those of socket CM
	)
	usual := must(os.ReadFile(file))
	for _, name := range udattest.Names(t) {
		t.Run(name, func(t *testing.T) {
			want(t, os.WriteFile(file, fmt.Appendf(nil, "%d %d", first, last), 0))
			defer func() { want(t, os.WriteFile(file, usual, 0)) }()
			ia := udattest.Open(t, name)
			requests := createEVD(t, ia, 4, udat.EVDCR)
			taken := 0
			for qual := udat.ConnQual(first); qual <= last; qual++ {
				if psp, err := udat.CreatePSP(ia, qual, requests); err == nil {
					want(t, psp.Free())
				} else {
					taken++
					want(t, err, udat.ErrConnQualInUse)
					if !strings.Contains(err.Error(), "ip_local_port_range") {
						t.Errorf("the error is %v", err)
					}
				}
			}
			if scm := strings.Contains(name, "scm"); taken == 0 != scm { // it listens on TCP ports
				t.Errorf("%d qualifiers are in use", taken)
			}
		})
	}
}
