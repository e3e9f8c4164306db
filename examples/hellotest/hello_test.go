package hellotest

import (
	"testing"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/udattest"
)

func TestMain(m *testing.M) { udattest.Main(m) } // fails if the tests leave objects alive

func TestHello(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		client, server := udattest.Pair(t, ia, nil) // connected, with queues and memory
		check := func(err error) {
			if err != nil {
				t.Fatal(err)
			}
		}

		// A receive must be posted before the message arrives. 1 and 2 are cookies.
		check(server.PostRecv([]udat.Segment{server.Segment(t, 0, 100)}, 1, 0))
		n := copy(client.Memory.Bytes(), "hello")
		check(client.PostSend([]udat.Segment{client.Segment(t, 0, n)}, 2, 0))

		event, err := server.Recv.Wait(udattest.Context(t)) // sleeps until the event is there
		check(err)
		check(event.Err()) // the status of the operation itself
		t.Logf("received %q, cookie %d", server.Memory.Bytes()[:event.Length], event.Cookie)
	})
}
