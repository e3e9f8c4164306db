package udat_test

import (
	"context"
	"net/netip"
	"os"
	"strings"
	"time"

	"github.com/goudat/goudat/udat"
)

// adapter is the name of the adapter that the examples run on.
var adapter, _, _ = strings.Cut(os.Getenv("UDAT_TEST_IA"), ",")

// line has two endpoints of this process that are connected with each other.
type line struct {
	ia             *udat.IA
	pz             *udat.PZ
	client, server *udat.EP
	sent, received *udat.EVD // the client's requests and the server's receives complete here
}

// newLine connects two endpoints as the example of EP.Connect does.
func newLine() *line {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	l := &line{ia: must(udat.Open(adapter))}
	l.pz = must(udat.CreatePZ(l.ia))
	l.sent = must(udat.CreateEVD(l.ia, 64, nil, udat.EVDDTO))
	l.received = must(udat.CreateEVD(l.ia, 64, nil, udat.EVDDTO))
	connections := must(udat.CreateEVD(l.ia, 8, nil, udat.EVDConnection))
	l.client = must(udat.CreateEP(l.ia, l.pz, l.received, l.sent, connections, nil))
	l.server = must(udat.CreateEP(l.ia, l.pz, l.received, l.sent, connections, nil))
	const qualifier = 5010
	requests := must(udat.CreateEVD(l.ia, 8, nil, udat.EVDCR))
	must(udat.CreatePSP(l.ia, qualifier, requests))
	check(l.client.Connect(addressOf(l.ia), qualifier, 30*time.Second, nil))
	check(must(requests.Wait(ctx)).CR().Accept(l.server, nil))
	for range 2 { // one event for each side
		check(must(connections.Wait(ctx)).Err())
	}
	return l
}

// close ends the connection and frees everything.
func (l *line) close() { check(l.ia.Close(udat.CloseAbrupt)) }

// addressOf returns the address by which peers reach an adapter.
func addressOf(ia *udat.IA) netip.Addr {
	attr, _, err := ia.Query()
	check(err)
	return attr.Address
}
