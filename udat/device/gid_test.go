//go:build linux

package device_test

import (
	"net/netip"
	"strconv"
	"strings"
	"testing"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/device"
	"github.com/goudat/goudat/udat/udattest"
)

// Connections use the GID of the adapter's address, or with socket CM the one that a variable
// names. The link-local one at index 0 cannot be used here.
func TestGID(t *testing.T) {
	if !udattest.InTestbed(t) {
		return
	}
	udattest.Names(t)
	s := addSpare(t)
	command(t, "ip link set "+s.netInterface+" up")
	command(t, "ip address add 10.79.0.1/24 dev "+s.netInterface)
	command(t, "ip -6 address flush dev "+s.netInterface)
	t.Setenv("DAPL_SCM_NETDEV", s.netInterface)
	gidOf := func(ia *udat.IA) netip.Addr {
		_, provider, err := ia.Query()
		want(t, err)
		return netip.MustParseAddr(provider.ProviderSpecificAttr["DAT_IB_GID"]).Unmap()
	}
	for _, name := range []string{"cma:" + s.netInterface, "scm:" + s.device} {
		ia := udattest.Open(t, name)
		if got := gidOf(ia); got.String() != "10.79.0.1" {
			t.Errorf("%s has the GID %v", name, got)
		}
		udattest.Pair(t, ia, nil)
		want(t, ia.Close(udat.CloseAbrupt))
	}

	t.Setenv("DAPL_SCM_GID_INDEX", "0")
	ia, err := udat.Open("scm:" + s.device)
	want(t, err)
	if got := gidOf(ia); !got.IsLinkLocalUnicast() {
		t.Errorf("the GID at index 0 is %v", got)
	}
	want(t, ia.Close(udat.CloseGraceful))
	for _, none := range []string{"200", "256", "-1", "4294967296", "eth0", "0 1", ""} {
		t.Setenv("DAPL_SCM_GID_INDEX", none)
		_, err = udat.Open("scm:" + s.device)
		want(t, err, udat.ErrInvalidAddress, device.ProblemNoGID)
		if err != nil && !strings.Contains(err.Error(), "DAPL_SCM_GID_INDEX names "+strconv.Quote(none)) {
			t.Errorf("the error is %v", err)
		}
	}
}
