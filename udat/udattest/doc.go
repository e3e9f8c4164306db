// Package udattest helps to test programs that use package udat: it opens the
// adapters of the test device, makes endpoints, connects them, waits for events,
// and finds what a test has left alive.
//
// The environment variable UDAT_TEST_IA lists, separated by commas, the
// adapters to test on, by the names that udat.Open takes; goudat's
// scripts/testbed sets it. Then a device that is missing fails the test. Without
// it, tests skip.
//
// A test is a function that gets an adapter. What it makes with this package is
// freed when it ends; what it makes itself, it frees itself.
//
//	func TestMain(m *testing.M) { udattest.Main(m) }
//
//	func TestEcho(t *testing.T) {
//		udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
//			client, server := udattest.Pair(t, ia, nil)
//			post := func(err error) {
//				t.Helper()
//				if err != nil {
//					t.Fatal(err)
//				}
//			}
//			post(server.PostRecv([]udat.Segment{server.Segment(t, 0, 100)}, 1, 0))
//			post(client.PostRecv([]udat.Segment{client.Segment(t, 1000, 100)}, 2, 0))
//
//			n := copy(client.Memory.Bytes(), "hello")
//			post(client.PostSend([]udat.Segment{client.Segment(t, 0, n)}, 3, 0))
//			udattest.Completion(t, client.Request, 3)
//
//			question := udattest.Completion(t, server.Recv, 1)
//			post(server.PostSend([]udat.Segment{server.Segment(t, 0, int(question.Length))}, 4, 0))
//			udattest.Completion(t, server.Request, 4)
//
//			answer := udattest.Completion(t, client.Recv, 2)
//			if got := string(client.Memory.Bytes()[1000:][:answer.Length]); got != "hello" {
//				t.Errorf("the echo is %q", got)
//			}
//		})
//	}
//
// On a machine without an RDMA device, the test bed of a checkout of goudat runs
// it in a virtual machine that has one:
//
//	go test -exec <goudat>/scripts/testbed ./...
//
// Tests of several machines have package control of the test bed's module,
// github.com/goudat/goudat/scripts/vm/control, to meet each other, and to cut
// links and kill machines. scripts/trials/reliability has an example.
package udattest
