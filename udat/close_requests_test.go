package udat_test

import (
	"sync"
	"sync/atomic"
	"testing"

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
