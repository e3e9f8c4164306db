package udat_test

import (
	"context"
	"fmt"
	"time"

	"github.com/goudat/goudat/udat"
)

// Two endpoints of one process connect, and one sends the other a message. Two
// processes do the same, each with one half of it.
func Example() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()

	ia := must(udat.Open(adapter))   // the name of an entry in dat.conf, as ofa-v2-cma-eth0
	defer ia.Close(udat.CloseAbrupt) // frees what is left on it, too
	attr, _, err := ia.Query()
	check(err)
	pz := must(udat.CreatePZ(ia))
	connections := must(udat.CreateEVD(ia, 8, nil, udat.EVDConnection))
	sent := must(udat.CreateEVD(ia, 64, nil, udat.EVDDTO))
	received := must(udat.CreateEVD(ia, 64, nil, udat.EVDDTO))
	client := must(udat.CreateEP(ia, pz, received, sent, connections, nil))
	server := must(udat.CreateEP(ia, pz, received, sent, connections, nil))

	// The receive is posted before the peer can send.
	memory := must(udat.AllocMemory(pz, 4096, udat.MemPrivLocalRead|udat.MemPrivLocalWrite))
	room := must(memory.Segment(2048, 2048))
	check(server.PostRecv([]udat.Segment{room}, 1, udat.CompletionDefault))

	const qualifier = 5000
	requests := must(udat.CreateEVD(ia, 8, nil, udat.EVDCR))
	must(udat.CreatePSP(ia, qualifier, requests))
	check(client.Connect(attr.Address, qualifier, 30*time.Second, nil))
	request := must(requests.Wait(ctx))
	check(request.CR().Accept(server, nil))
	for range 2 { // one event for each side
		event := must(connections.Wait(ctx))
		check(event.Err())
	}

	n := copy(memory.Bytes(), "hello")
	message := must(memory.Segment(0, n))
	check(client.PostSend([]udat.Segment{message}, 2, udat.CompletionDefault))
	for _, evd := range []*udat.EVD{sent, received} {
		event := must(evd.Wait(ctx))
		check(event.Err())
		fmt.Println(event.Operation, "with the cookie", event.Cookie)
		if evd == received {
			fmt.Printf("%q\n", memory.Bytes()[2048:][:event.Length])
		}
	}
	// Output:
	// DAT_DTO_SEND with the cookie 2
	// DAT_DTO_RECEIVE with the cookie 1
	// "hello"
}

func must[T any](value T, err error) T {
	check(err)
	return value
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
