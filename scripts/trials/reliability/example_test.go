//go:build linux

package reliability

import (
	"context"
	"fmt"
	"time"

	"github.com/goudat/goudat/scripts/vm/control"
	"github.com/goudat/goudat/udat"
)

// The same program runs in several machines of the test bed. The first one listens, and announces that with a meeting;
// the second one connects:
//
//	TESTBED_FLAGS="--machines 2" go test -exec "$PWD/scripts/with-device" -run '^Example$' ./scripts/trials/reliability
func Example() {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	rank := must(control.Rank())
	peers := must(control.Peers())
	const server, client, qualifier = 0, 1, 5000
	if rank != server && rank != client {
		fmt.Println("connected") // as the two others
		return
	}

	ia := must(udat.Open("ofa-v2-cma-" + control.Device()))
	defer ia.Close(udat.CloseAbrupt)
	pz := must(udat.CreatePZ(ia))
	connections := must(udat.CreateEVD(ia, 8, nil, udat.EVDConnection))
	ep := must(udat.CreateEP(ia, pz, nil, nil, connections, nil))
	if rank == server {
		requests := must(udat.CreateEVD(ia, 8, nil, udat.EVDCR))
		must(udat.CreatePSP(ia, qualifier, requests))
		must(control.Meet(ctx, "the server listens", "", server, client))
		check(must(requests.Wait(ctx)).CR().Accept(ep, nil))
	} else {
		must(control.Meet(ctx, "the server listens", "", server, client))
		check(ep.Connect(peers[server], qualifier, 30*time.Second, nil))
	}
	check(must(connections.Wait(ctx)).Err())
	fmt.Println("connected")
	must(control.Meet(ctx, "both have seen it", "", server, client)) // before either disconnects
	// Output: connected
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
