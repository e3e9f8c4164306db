// Hello connects two endpoints of one adapter, and sends a message from one to the other.
package main

import (
	"context"
	"flag"
	"log"
	"time"

	"github.com/goudat/goudat/udat"
)

func main() {
	flag.Parse()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()

	ia := must(udat.Open(flag.Arg(0))) // the adapter
	defer ia.Close(udat.CloseAbrupt)   // frees all objects that were created on it
	attr, _, err := ia.Query()
	check(err)
	pz := must(udat.CreatePZ(ia))                                                                   // endpoints reach only memory of their zone
	queue := func(flags udat.EVDFlags) *udat.EVD { return must(udat.CreateEVD(ia, 8, nil, flags)) } // of events
	sent, received, requests := queue(udat.EVDDTO), queue(udat.EVDDTO), queue(udat.EVDCR)
	client := must(udat.CreateEP(ia, pz, received, sent, queue(udat.EVDConnection), nil))
	server := must(udat.CreateEP(ia, pz, received, sent, queue(udat.EVDConnection), nil))
	memory := must(udat.AllocMemory(pz, 4096, udat.MemPrivLocalRead|udat.MemPrivLocalWrite))

	// A receive must be posted before the message arrives. Its completion has the cookie 1.
	check(server.PostRecv([]udat.Segment{must(memory.Segment(2048, 2048))}, 1, 0))
	must(udat.CreatePSP(ia, 5000, requests)) // listens
	accepted := make(chan error)
	go func() { accepted <- must(requests.Wait(ctx)).CR().AcceptAndWait(ctx, server, nil) }()
	must(client.ConnectAndWait(ctx, attr.Address, 5000, nil))
	check(<-accepted)

	n := copy(memory.Bytes(), "hello")
	check(client.PostSend([]udat.Segment{must(memory.Segment(0, n))}, 2, 0))
	event := must(received.Expect(ctx, udat.EventDTOCompletion))
	log.Printf("received %q, cookie %d", memory.Bytes()[2048:2048+event.Length], event.Cookie)
}

func check(err error) { must(0, err) }

func must[T any](value T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return value
}
