package devicetest

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"testing"

	"github.com/goudat/goudat/udat/udattest"
)

const otherGIDAt = 100 // 16 bytes of a message of socket CM, after the addresses of the sender

func gidAt(message []byte, at int) netip.Addr { return netip.AddrFrom16([16]byte(message[at:][:16])) }

// A request has the link-local GID, with which a peer with another dapl connects, and that of the adapter's address beside.
func TestGIDsOfRequest(t *testing.T) {
	forEachOddPeer(t, func(t *testing.T, a *adapter, p oddPeer) {
		_, message := p.request(t)
		gid, other := gidAt(message, senderGIDAt), gidAt(message, otherGIDAt)
		own := a.address.Addr()
		if own.IsLinkLocalUnicast() {
			if gid != own.WithZone("") || !other.IsUnspecified() {
				t.Errorf("from %v, the request has the GIDs %v and %v", own, gid, other)
			}
		} else if !gid.IsLinkLocalUnicast() || other.Unmap() != own {
			t.Errorf("from %v, the request has the GIDs %v and %v", own, gid, other)
		}
		message = message[otherGIDAt+16 : messageHeader]
		for _, b := range message {
			if b != 0 {
				t.Fatalf("behind is % x", message)
			}
		}
	})
}

// A link-local address has that GID alone: the peer may have no route to a global one of the interface.
func TestGIDsOfLinkLocalAddress(t *testing.T) {
	if !udattest.InTestbed(t) {
		return
	}
	forEachSocketCM(t, func(t *testing.T, a *adapter) {
		i := a.netInterface(t)
		addAddress(t, i, "fd00:78::5/64", "nodad")
		local := linkLocal(t, i).String()
		reopened(t, a, local, "^TestGIDsOfRequest$", "DAPL_SCM_NETDEV="+local)
	})
}

// A connection has the GID of its own address, not that of the adapter's, or the first of the interface: the peer may have a
// route to that alone.
func TestGIDOfConnection(t *testing.T) {
	if !udattest.InTestbed(t) {
		return
	}
	forEachSocketCM(t, func(t *testing.T, a *adapter) {
		i, to := a.netInterface(t), netip.MustParseAddr("fd00:79::5")
		addAddress(t, i, "fd00:78::5/64", "nodad")
		addAddress(t, i, to.String()+"/64", "nodad")
		_, message := a.oddPeer(t, to).request(t)
		if gid := gidAt(message, otherGIDAt); gid != to {
			t.Errorf("from %v, the request has the GID %v", to, gid)
		}
	})
}

// Socket CM connects with a peer that has the GID at index 0, as another dapl has it, in both directions.
func TestPeerWithFirstGID(t *testing.T) {
	const child = "DEVICETEST_FIRST_GID"
	if !udattest.InTestbed(t) {
		return
	}
	if os.Getenv(child) == "" {
		forEachSocketCM(t, func(t *testing.T, a *adapter) {
			conf := filepath.Join(t.TempDir(), "dat.conf")
			var entries []byte
			for _, name := range []string{"first-scm", "other-scm"} {
				entries = fmt.Appendf(entries, "%s u2.0 nonthreadsafe default libdaploscm.so.2 dapl.2.0 \"%s 1\" \"\"\n", name, a.device)
			}
			if err := os.WriteFile(conf, entries, 0o644); err != nil {
				t.Fatal(err)
			}
			runWith(t, "", "^TestPeerWithFirstGID$", child+"=1", "DAT_OVERRIDE="+conf)
		})
		return
	}
	watch(t)
	t.Setenv("DAPL_SCM_GID_INDEX", "0")
	first := openAdapter(t, "first-scm")
	if err := os.Unsetenv("DAPL_SCM_GID_INDEX"); err != nil {
		t.Fatal(err)
	}
	other := openAdapter(t, "other-scm")
	for _, from := range []*adapter{first, other} {
		to := first
		if from == first {
			to = other
		}
		l, active, passive := to.listen(t), from.newEndpoint(t), to.newEndpoint(t)
		from.connect(t, l, active, passive, nil)
		passive.postPieces(t, passive.memory, 0)
		exchange(t, active, passive, active.memory, passive.memory, active.request, passive.recv, 1)
		disconnect(t, active, passive)
	}
}
