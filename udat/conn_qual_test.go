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
		// That synonym needs one this high, which is still below the test bed's ports for connections.
		qual := udattest.ConnQual()%10000 + 34000
		port, other := qual, synonym(t, ia, qual)
		if strings.Contains(ia.Name(), "scm") {
			port += 1000
		}
		requests := must(udat.CreateEVD(ia, 4, udat.EVDCR))
		defer func() { want(t, requests.Free()) }()
		psp := must(udat.CreatePSP(ia, qual, requests, udat.PSPConsumer))

		another := udattest.Open(t, ia.Name())
		evd := must(udat.CreateEVD(another, 4, udat.EVDCR))
		defer func() { want(t, evd.Free()) }()
		for name, err := range map[string]error{
			"PSP":             second(udat.CreatePSP(ia, other, requests, udat.PSPConsumer)),
			"RSP":             second(udat.CreateRSP(ia, other, udattest.NewEndpoint(t, ia, nil).EP, requests)),
			"another adapter": second(udat.CreatePSP(another, other, evd, udat.PSPConsumer)),
		} {
			want(t, err, udat.ErrConnQualInUse)
			if text := fmt.Sprint(err); !strings.Contains(text, fmt.Sprint("port ", port)) || !strings.Contains(text, fmt.Sprint(other)) {
				t.Errorf("%s: the error names not both port %d and %d: %v", name, port, other, err)
			}
		}

		// A peer that uses the other number reaches the service, which hears its own. Once it has gone, the other number is free.
		e := udattest.NewEndpoint(t, ia, nil)
		for range 2 {
			want(t, e.EP.Connect(udattest.Address(t, ia), other, udattest.Patience, nil))
			request := udattest.Expect(t, requests, udat.EventConnectionRequest)
			if request.ConnQual() != qual {
				t.Errorf("the request came to %d, want %d", request.ConnQual(), qual)
			}
			want(t, request.CR().Reject(nil))
			udattest.Expect(t, e.Connect, udat.EventConnectionPeerRejected)
			want(t, e.Reset())
			want(t, psp.Free())
			psp = must(udat.CreatePSP(ia, other, requests, udat.PSPConsumer))
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
		_, err := udat.CreatePSP(ia, none, l.Requests, udat.PSPConsumer)
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
	usual, err := os.ReadFile(file)
	want(t, err)
	for _, name := range udattest.Names(t) {
		t.Run(name, func(t *testing.T) {
			want(t, os.WriteFile(file, fmt.Appendf(nil, "%d %d", first, last), 0))
			defer func() { want(t, os.WriteFile(file, usual, 0)) }()
			ia := udattest.Open(t, name)
			requests := must(udat.CreateEVD(ia, 4, udat.EVDCR))
			defer func() { want(t, requests.Free()) }()
			taken := 0
			for qual := udat.ConnQual(first); qual <= last; qual++ {
				if psp, err := udat.CreatePSP(ia, qual, requests, udat.PSPConsumer); err == nil {
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
