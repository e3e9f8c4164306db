package udattest

import (
	"context"
	"errors"
	"net/netip"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/device"
)

// Patience bounds every wait of this package. The default allows for an emulated device on a busy
// machine. TestMain may change it.
var Patience = 30 * time.Second

const howToRun = `there is no RDMA device to test on. Run go test -exec "go tool testbed" (in goudat's clone, -exec scripts/testbed), or set UDAT_TEST_IA to the name of an adapter`

// withoutDevice counts the tests that were skipped for that.
var withoutDevice atomic.Int32

// Names returns the registry names of the adapters to test on. Without any, the test
// skips.
func Names(t testing.TB) []string {
	t.Helper()
	list := os.Getenv("UDAT_TEST_IA")
	if list == "" {
		withoutDevice.Add(1)
		t.Skip(howToRun)
	}
	return strings.Split(list, ",")
}

// Open opens an adapter and closes it when the test ends, unless the test has closed it. Any object
// that is still alive on it is an error.
func Open(t testing.TB, name string) *udat.IA {
	t.Helper()
	ia, err := udat.Open(name)
	if err != nil {
		t.Fatalf("UDAT_TEST_IA names %s, which cannot be opened: %v", name, err)
	}
	t.Cleanup(func() {
		if err := ia.Close(udat.CloseGraceful); err != nil && !errors.Is(err, udat.ErrClosed) {
			t.Errorf("closing %s: %v", name, err)
			if err := ia.Close(udat.CloseAbrupt); err != nil {
				t.Errorf("closing %s with all that is on it: %v", name, err)
			}
		}
	})
	return ia
}

// ForEachIA runs a subtest on each adapter.
func ForEachIA(t *testing.T, test func(t *testing.T, ia *udat.IA)) {
	t.Helper()
	for _, name := range Names(t) {
		t.Run(name, func(t *testing.T) { test(t, Open(t, name)) })
	}
}

// Address returns the address by which peers reach the adapter.
func Address(t testing.TB, ia *udat.IA) netip.Addr {
	t.Helper()
	attr, _, err := ia.Query()
	if err != nil {
		t.Fatal(err)
	}
	return attr.Address
}

// Context returns a context that ends with the test, or with Patience.
func Context(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	t.Cleanup(cancel)
	return ctx
}

// Wait takes the next event of an EVD and fails the test when none comes.
func Wait(t testing.TB, evd *udat.EVD) udat.Event {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	defer cancel()
	event, err := evd.Wait(ctx)
	if err != nil {
		t.Fatalf("waiting for an event: %v", err)
	}
	return event
}

// Expect takes the next event of an EVD and fails the test when it is another.
func Expect(t testing.TB, evd *udat.EVD, want udat.EventNumber) udat.Event {
	t.Helper()
	event := Wait(t, evd)
	if event.Number != want {
		t.Fatalf("got the event %v, want %v", event.Number, want)
	}
	return event
}

// Completion takes the next event of an EVD and fails the test unless it is the successful
// completion of the operation that was posted with cookie.
func Completion(t testing.TB, evd *udat.EVD, cookie uint64) udat.Event {
	t.Helper()
	event := Expect(t, evd, udat.EventDTOCompletion)
	if err := event.Err(); err != nil || event.Cookie != cookie {
		t.Fatalf("operation %d, %v, completed with %v; want operation %d", event.Cookie, event.Operation, event.Status, cookie)
	}
	return event
}

// NoEvent fails the test when an event is queued on an EVD. It does not wait.
func NoEvent(t testing.TB, evd *udat.EVD) {
	t.Helper()
	event, err := evd.Dequeue()
	switch {
	case err == nil:
		t.Fatalf("got the event %v, want none", event.Number)
	case !errors.Is(err, udat.ErrQueueEmpty):
		t.Fatalf("looking for an event: %v", err)
	}
}

// IWARP reports whether the adapter's device speaks iWARP. There a send completes
// when it was handed to the connection, a message that no receive waits for ends
// the connection, and atomic operations and immediate data do not exist.
func IWARP(t testing.TB, ia *udat.IA) bool {
	t.Helper()
	attr, _, err := ia.Query()
	if err != nil {
		t.Fatal(err)
	}
	devices, err := device.List()
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range devices {
		if d.Name == attr.AdapterName {
			return d.Transport == device.TransportIWARP
		}
	}
	t.Fatalf("there is no device %s", attr.AdapterName)
	return false
}

// InTestbed reports whether the test runs in goudat's test bed: a throw-away machine that a test
// may change and break. Elsewhere it logs that nothing was tested. The test should then return
// instead of skipping: no set-up on this machine would make it run.
func InTestbed(t testing.TB) bool {
	t.Helper()
	if os.Getenv("UDAT_TESTBED") == "" {
		t.Log("not tested: this changes the machine, which only the test bed allows")
		return false
	}
	return true
}
