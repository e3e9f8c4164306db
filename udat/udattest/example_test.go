package udattest_test

import (
	"testing"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/udattest"
)

// t is the argument of a test function, such as TestTransfer(t *testing.T). TestExamples
// sets it to its own.
var t *testing.T

// A test of a transfer runs on each adapter of the test device. ForEachIA closes the
// adapter, and fails the test if it has left objects alive.
func ExampleForEachIA() {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		client, server := udattest.Pair(t, ia, nil)
		if err := server.PostRecv([]udat.Segment{server.Segment(t, 0, 100)}, 1, udat.CompletionDefault); err != nil {
			t.Fatal(err)
		}
		n := copy(client.Memory.Bytes(), "hello")
		if err := client.PostSend([]udat.Segment{client.Segment(t, 0, n)}, 2, udat.CompletionDefault); err != nil {
			t.Fatal(err)
		}
		received := udattest.Completion(t, server.Recv, 1) // fails the test if the receive fails, or does not complete in time
		if got := string(server.Memory.Bytes()[:received.Length]); got != "hello" {
			t.Errorf("received %q", got)
		}
	})
}

// The parts of a connection can be made one by one, to test what happens in between. Here
// the server rejects the request.
func ExampleListen() {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		listener := udattest.Listen(t, ia)
		client := udattest.NewEndpoint(t, ia, nil)
		if err := client.EP.Connect(udattest.Address(t, ia), listener.ConnQual, udat.TimeoutInfinite, nil); err != nil {
			t.Fatal(err)
		}
		request := udattest.Expect(t, listener.Requests, udat.EventConnectionRequest).CR()
		if err := request.Reject(nil); err != nil {
			t.Fatal(err)
		}
		udattest.Expect(t, client.Connect, udat.EventConnectionPeerRejected)
		udattest.NoEvent(t, client.Connect)
	})
}

// The examples of functions that take a test work.
func TestExamples(test *testing.T) {
	for name, example := range map[string]func(){"ForEachIA": ExampleForEachIA, "Listen": ExampleListen} {
		test.Run(name, func(test *testing.T) {
			t = test
			example()
		})
	}
}
