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
	pz := must(udat.CreatePZ(ia))                                        // endpoints reach only memory of their zone
	events := must(udat.CreateEVD(ia, 8, udat.EVDConnection|udat.EVDCR)) // a queue of connection events
	sent, received := must(udat.CreateEVD(ia, 8, udat.EVDDTO)), must(udat.CreateEVD(ia, 8, udat.EVDDTO))
	client := must(udat.CreateEP(ia, pz, received, sent, events, nil))
	server := must(udat.CreateEP(ia, pz, received, sent, events, nil))
	memory := must(udat.AllocMemory(pz, 4096, udat.MemPrivLocalRead|udat.MemPrivLocalWrite))

	// A receive must be posted before the message arrives. Its completion has the cookie 1.
	check(server.PostRecv([]udat.Segment{must(memory.Segment(2048, 2048))}, 1, 0))
	must(udat.CreatePSP(ia, 5000, events, udat.PSPConsumer)) // listens
	check(client.Connect(attr.Address, 5000, 10*time.Second, nil))
	check(must(events.Expect(ctx, udat.EventConnectionRequest)).CR().Accept(server, nil))
	must(events.Expect(ctx, udat.EventConnectionEstablished)) // one event for each side
	must(events.Expect(ctx, udat.EventConnectionEstablished))

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
