//go:build linux

package device_test

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/device"
	"github.com/goudat/goudat/udat/udattest"
)

func findDevice(t *testing.T, name string) device.Device {
	t.Helper()
	devices, err := device.List()
	want(t, err)
	for _, d := range devices {
		if d.Name == name {
			return d
		}
	}
	t.Fatalf("there is no device %s in %+v", name, devices)
	return device.Device{}
}

// place is where the adapters of the tests are: the device, the port and the
// interface.
type place struct {
	device       device.Device
	port         device.Port
	netInterface string
}

func testPlace(t *testing.T) place {
	t.Helper()
	ia := udattest.Open(t, udattest.Names(t)[0])
	attr, _, err := ia.Query()
	want(t, err)
	d := findDevice(t, attr.AdapterName)
	for _, port := range d.Ports {
		for _, gid := range port.GIDs {
			if gid.Addr.Unmap() == attr.Address {
				return place{d, port, gid.Interface}
			}
		}
		if port.State == device.PortActive && len(port.Interfaces) > 0 {
			return place{d, port, port.Interfaces[0]}
		}
	}
	t.Fatalf("no port of %+v can be that of the adapter at %v", d, attr.Address)
	return place{}
}

// byCMA returns the name by which the CMA provider opens on the port, and bySCM that
// of the socket CM provider, "" for a device over which it does not connect.
func (p place) byCMA() string { return "cma:" + p.netInterface }

func (p place) bySCM() string {
	if p.device.Transport == device.TransportIWARP {
		return ""
	}
	return fmt.Sprintf("scm:%s/%d", p.device.Name, p.port.Number)
}

// names returns those of both providers.
func (p place) names() []string {
	return slices.DeleteFunc([]string{p.byCMA(), p.bySCM()}, func(name string) bool { return name == "" })
}

// The test bed's device is known in every detail.
func TestDevicesInTestbed(t *testing.T) {
	if !udattest.InTestbed(t) {
		return
	}
	udattest.Names(t)
	name := testPlace(t).device.Name
	got := findDevice(t, name)
	want := device.Device{
		Name:      name,
		Transport: device.TransportInfiniBand,
		NodeGUID:  device.GUID{0, 0, 0x0a, 0xff, 0xfe, 0x4d, 0, 1},
		Firmware:  got.Firmware,
		Node:      "/dev/infiniband/uverbs0",
		Software:  true,
		Ports: []device.Port{{
			Number:    1,
			State:     device.PortActive,
			PhysState: device.PhysLinkUp,
			LinkLayer: device.LinkLayerEthernet,
			ActiveMTU: 4096,
			MaxMTU:    4096,
			GIDs: []device.GID{
				{Index: 0, Addr: netip.MustParseAddr("fe80::aff:fe4d:1"), Type: device.GIDTypeRoCEv2, Interface: "dummy0"},
				{Index: 1, Addr: netip.AddrFrom16(netip.MustParseAddr(os.Getenv("UDAT_TEST_ADDR")).As16()), Type: device.GIDTypeRoCEv2, Interface: "dummy0"},
			},
			Interfaces: []string{"dummy0"},
		}},
	}
	if name == "siw0" {
		want.Transport = device.TransportIWARP
		// The GID is the hardware address.
		want.Ports[0].GIDs = []device.GID{{Addr: netip.MustParseAddr("200:a4d:1::"), Type: device.GIDTypeIB, Interface: "dummy0"}}
		want.Ports[0].MaxMTU = 256 // of the dummy interface, which has no limit
	}
	if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b netip.Addr) bool { return a == b })); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if problems := got.Problems(); problems != nil {
		t.Errorf("problems: %v", problems)
	}
}

// A device reports that its port is down and that it has no address, and notices when that
// changes.
func TestDeviceProblems(t *testing.T) {
	if !udattest.InTestbed(t) {
		return
	}
	udattest.Names(t)
	s := addSpare(t)
	wantProblems := func(problems ...device.Problem) {
		t.Helper()
		d := findDevice(t, s.device)
		var got []device.Problem
		for _, err := range d.Problems() {
			var p device.Problem
			errors.As(err, &p)
			got = append(got, p)
		}
		if !slices.Equal(got, problems) {
			t.Errorf("the problems are %v, want %v", d.Problems(), problems)
		}
		if !slices.Equal(d.Ports[0].Interfaces, []string{s.netInterface}) {
			t.Errorf("the interfaces are %v, want %s", d.Ports[0].Interfaces, s.netInterface)
		}
	}
	wantProblems(device.ProblemPortDown, device.ProblemNoAddress)
	command(t, "ip address add 10.79.0.1/24 dev "+s.netInterface)
	wantProblems(device.ProblemPortDown)
	command(t, "ip link set "+s.netInterface+" up")
	wantProblems()
	command(t, "ip link set "+s.netInterface+" down")
	wantProblems(device.ProblemPortDown)
}

func TestQueryAttributes(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		attr, provider, err := ia.Query()
		want(t, err)
		if provider.ProviderName != ia.Name() {
			t.Errorf("the provider is %q, want %q", provider.ProviderName, ia.Name())
		}
		if attr.MaxRDMAReadIn < attr.MaxRDMAReadPerEPIn || attr.MaxRDMAReadIn == 0 || attr.MaxLMRVirtualAddress == 0 {
			t.Errorf("the limits are %+v", attr)
		}
		named := provider.ProviderSpecificAttr
		d := findDevice(t, attr.AdapterName)
		if named["DAT_IB_DEVICE_NAME"] != attr.AdapterName || named["DAT_IB_NODE_GUID"] != d.NodeGUID.String() {
			t.Errorf("the named attributes are %v", named)
		}
	})
}

// The query of an adapter whose device has gone fails.
func TestQueryAfterRemoval(t *testing.T) {
	if !udattest.InTestbed(t) {
		return
	}
	udattest.Names(t)
	s := addSpare(t)
	command(t, "ip address add 10.79.0.1/24 dev "+s.netInterface)
	command(t, "ip link set "+s.netInterface+" up")
	ia, err := udat.Open("cma:" + s.netInterface)
	want(t, err)
	command(t, "rdma link delete "+s.device)
	defer command(t, "rdma link add "+s.device+" type rxe netdev "+s.netInterface)
	_, _, err = ia.Query()
	want(t, err, udat.ErrInternalError)
	want(t, ia.Close(udat.CloseAbrupt))
}
