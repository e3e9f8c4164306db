package udat_test

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/udattest"
)

// held are requests of one endpoint that stay outstanding while its connection
// lasts, until they are released. They are sends for which the other endpoint has
// no receive. On iWARP, where such a send would complete, and end the connection,
// they are RDMA reads over a network that loses every packet.
type held struct {
	t         *testing.T
	passive   *udattest.Endpoint
	segments  []udat.Segment // of heldSize bytes
	operation udat.DTO
	post      func(cookie uint64, flags udat.CompletionFlags) error
	posted    []uint64
	restore   func() // the network
}

// heldSize is the length of each.
const heldSize = 64

// hold prepares to hold requests of active, and posts one with each cookie. What
// the test sends otherwise between the two has arrived.
func hold(t *testing.T, active, passive *udattest.Endpoint, cookies ...uint64) *held {
	t.Helper()
	h := &held{t: t, passive: passive, segments: one(active.Segment(t, 0, heldSize)), operation: udat.DTOSend, restore: func() {}}
	if udattest.IWARP(t, active.IA) {
		remote, err := passive.Memory.RMRTriplet(0, heldSize)
		want(t, err)
		h.operation, h.restore = udat.DTORDMARead, loseAll(t, active.IA)
		h.post = func(cookie uint64, flags udat.CompletionFlags) error {
			return active.PostRDMARead(h.segments, cookie, remote, flags)
		}
	} else {
		h.post = func(cookie uint64, flags udat.CompletionFlags) error {
			return active.PostSend(h.segments, cookie, flags)
		}
	}
	for _, cookie := range cookies {
		h.one(cookie, 0)
	}
	return h
}

// one posts one more.
func (h *held) one(cookie uint64, flags udat.CompletionFlags) {
	h.t.Helper()
	want(h.t, h.post(cookie, flags))
	h.posted = append(h.posted, cookie)
}

// release lets them succeed.
func (h *held) release() {
	h.t.Helper()
	h.restore()
	if h.operation == udat.DTOSend {
		for _, cookie := range h.posted {
			want(h.t, h.passive.PostRecv(one(h.passive.Segment(h.t, 0, heldSize)), cookie, 0))
		}
	}
}

// received takes the completions of the other endpoint's receives, if there are any.
func (h *held) received() {
	h.t.Helper()
	if h.operation == udat.DTOSend {
		for _, cookie := range h.posted {
			udattest.Completion(h.t, h.passive.Recv, cookie)
		}
	}
}

// loseAll has the packets lost that soft-iWARP sends to the adapter's own address,
// until restore is called or the test ends: without the local route to it they leave
// the machine. It needs root, and an address that nothing else needs.
func loseAll(t *testing.T, ia *udat.IA) (restore func()) {
	t.Helper()
	ip := func(words ...string) string {
		out, err := exec.Command("ip", words...).CombinedOutput()
		if err != nil {
			t.Fatalf("ip %s: %v\n%s", strings.Join(words, " "), err, out)
		}
		return string(out)
	}
	route := strings.Fields(ip("route", "show", "table", "local", "type", "local", udattest.Address(t, ia).String()))
	dev := slices.Index(route, "dev") + 1
	if dev == 0 || dev == len(route) {
		t.Fatalf("there is no local route to the adapter's address: %q", route)
	}
	if _, err := os.Stat("/sys/class/net/" + route[dev] + "/device"); err == nil {
		t.Fatalf("the test would cut this machine off: its device is over %s, and must be over a dummy interface", route[dev])
	}
	ip(slices.Concat([]string{"route", "delete", "table", "local"}, route)...)
	restore = sync.OnceFunc(func() { ip(slices.Concat([]string{"route", "add", "table", "local"}, route)...) })
	t.Cleanup(restore)
	return restore
}
