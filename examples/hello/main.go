// Hello connects two endpoints of one adapter and sends a message between them.
package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/goudat/goudat/udat"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: hello NAME, the name of an entry in dat.conf")
		os.Exit(2)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()

	ia := must(udat.Open(os.Args[1])) // the name of an entry in dat.conf
	defer ia.Close(udat.CloseAbrupt)  // frees what is left on it, too
	attr, _, _ := ia.Query()
	pz := must(udat.CreatePZ(ia))
	events := must(udat.CreateEVD(ia, 64, udat.EVDConnection))
	done := must(udat.CreateEVD(ia, 64, udat.EVDDTO))
	a := must(udat.CreateEP(ia, pz, done, done, events, nil))
	b := must(udat.CreateEP(ia, pz, done, done, events, nil))

	requests := must(udat.CreateEVD(ia, 8, udat.EVDCR))
	must(udat.CreatePSP(ia, 5000, requests, udat.PSPConsumer))
	check(a.Connect(attr.Address, 5000, 10*time.Second, nil))
	request := must(requests.Wait(ctx))
	check(request.CR().Accept(b, nil))
	for range 2 { // one event for each side
		event := must(events.Wait(ctx))
		check(event.Err())
	}

	memory := must(udat.AllocMemory(pz, 4096, udat.MemPrivLocalRead|udat.MemPrivLocalWrite))
	out, in := must(memory.Segment(0, 5)), must(memory.Segment(2048, 2048))
	copy(memory.Bytes(), "hello")
	check(b.PostRecv([]udat.Segment{in}, 1, 0))
	check(a.PostSend([]udat.Segment{out}, 2, 0))
	for range 2 {
		event := must(done.Wait(ctx))
		check(event.Err())
		fmt.Println(event.Operation, "of", event.Length, "bytes, cookie", event.Cookie)
	}
	fmt.Printf("received %q\n", memory.Bytes()[2048:2053])
}

func must[T any](value T, err error) T {
	check(err)
	return value
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "hello:", err)
		os.Exit(1)
	}
}
