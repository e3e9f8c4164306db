package udat_test

import (
	"encoding/binary"
	"net"
	"net/netip"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/udattest"
)

// An adapter can be closed abruptly while requests arrive, each of which has an answer.
func TestCloseUnderRequests(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, client *udat.IA) {
		qual := udattest.ConnQual()
		var callers sync.WaitGroup
		var stop atomic.Bool
		for range 4 {
			e := udattest.NewEndpoint(t, client, nil)
			spawn(&callers, func() {
				for !stop.Load() && !t.Failed() {
					want(t, e.EP.Connect(udattest.Address(t, client), qual, udattest.Patience, nil))
					event, err := e.Connect.Wait(udattest.Context(t))
					if err == nil && event.Number == udat.EventConnectionEstablished {
						event, err = e.Connect.Wait(udattest.Context(t))
					}
					if err != nil || event.Number == udat.EventConnectionTimedOut {
						t.Errorf("a request has no answer: %v", err)
					}
					want(t, e.Reset())
				}
			})
		}
		for round := range 12 {
			server, requests := listenToClose(t, client.Name(), qual)
			pz := must(udat.CreatePZ(server))
			connect := must(udat.CreateEVD(server, 64, udat.EVDConnection))
			for range 1 + round%4 {
				cr := udattest.Expect(t, requests, udat.EventConnectionRequest).CR()
				if round%2 == 0 { // else it is left unanswered
					ep := must(udat.CreateEP(server, pz, nil, nil, connect, nil))
					want(t, cr.Accept(ep, nil))
				}
			}
			want(t, server.Close(udat.CloseAbrupt))
		}
		stop.Store(true)
		callers.Wait()
	})
}

// listenToClose opens an adapter that the test closes.
func listenToClose(t *testing.T, name string, qual udat.ConnQual) (*udat.IA, *udat.EVD) {
	t.Helper()
	ia := openUnchecked(t, name)
	requests := must(udat.CreateEVD(ia, 64, udat.EVDCR))
	want(t, second(udat.CreatePSP(ia, qual, requests, udat.PSPConsumer)))
	return ia, requests
}

// Who connects to the TCP port of a service point and sends nothing holds up no close. A request
// that comes over such a connection after the close does not find the service point that is gone.
func TestCloseWithSilentStranger(t *testing.T) {
	for _, name := range udattest.Names(t) {
		if !strings.Contains(name, "scm") {
			continue
		}
		udattest.Open(t, name) // so that the provider stays loaded, and its threads run
		qual := udattest.ConnQual()
		for range 5 {
			ia, _ := listenToClose(t, name, qual)
			stranger, err := net.Dial("tcp4", netip.AddrPortFrom(udattest.Address(t, ia), uint16(qual)+1000).String())
			want(t, err)
			defer stranger.Close()
			start := time.Now()
			want(t, ia.Close(udat.CloseAbrupt))
			if took := time.Since(start); took > udattest.Patience/6 {
				t.Errorf("the close took %v", took)
			}
			request := make([]byte, messageHeader)
			binary.BigEndian.PutUint16(request, 8) // the version
			if _, err := stranger.Write(request); err != nil {
				continue // the library has closed the connection
			}
			want(t, stranger.SetReadDeadline(time.Now().Add(udattest.Patience)))
			if _, err := stranger.Read(request); os.IsTimeout(err) {
				t.Error("the library keeps a connection to an adapter that is closed")
			}
		}
	}
}
