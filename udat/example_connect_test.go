package udat_test

import (
	"context"
	"fmt"
	"time"

	"github.com/goudat/goudat/udat"
)

// The active side connects, with private data for the passive side, which
// listens, accepts, and answers with data of its own.
func ExampleEP_Connect() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	ia := must(udat.Open(adapter))
	defer ia.Close(udat.CloseAbrupt)
	pz := must(udat.CreatePZ(ia))
	const qualifier = 5001

	// The passive side.
	requests := must(udat.CreateEVD(ia, 8, nil, udat.EVDCR))
	must(udat.CreatePSP(ia, qualifier, requests))
	accept := func(ep *udat.EP) {
		request := must(requests.Wait(ctx)).CR()
		parameters := must(request.Query())
		fmt.Printf("asked with %q\n", parameters.PrivateData[:len("may I?")])
		check(request.Accept(ep, []byte("you may")))
	}

	// The active side.
	connections := must(udat.CreateEVD(ia, 8, nil, udat.EVDConnection))
	client := must(udat.CreateEP(ia, pz, nil, nil, connections, nil))
	check(client.Connect(addressOf(ia), qualifier, 30*time.Second, []byte("may I?")))

	accepted := must(udat.CreateEVD(ia, 8, nil, udat.EVDConnection))
	accept(must(udat.CreateEP(ia, pz, nil, nil, accepted, nil)))
	check(must(accepted.Wait(ctx)).Err())
	event := must(connections.Wait(ctx))
	check(event.Err()) // an EventNumber, if it was rejected or nobody listens
	fmt.Printf("answered with %q\n", event.PrivateData()[:len("you may")])

	check(client.Disconnect(udat.CloseGraceful))
	fmt.Println(must(connections.Wait(ctx)).Number)
	// Output:
	// asked with "may I?"
	// answered with "you may"
	// DAT_CONNECTION_EVENT_DISCONNECTED
}

// Events come in the order in which they happen. Here the program posts its own.
func ExampleEVD_Events() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	ia := must(udat.Open(adapter))
	defer ia.Close(udat.CloseAbrupt)
	evd := must(udat.CreateEVD(ia, 8, nil, udat.EVDSoftware))
	for cookie := range uint64(3) {
		check(evd.PostSE(cookie))
	}
	for event, err := range evd.Events(ctx) {
		check(err) // of ctx, or that the EVD was freed
		fmt.Println(event.Number, event.Cookie)
		if event.Cookie == 1 {
			break // what comes later stays for the next loop
		}
	}
	// Output:
	// DAT_SOFTWARE_EVENT 0
	// DAT_SOFTWARE_EVENT 1
}
