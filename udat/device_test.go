//go:build linux

package udat_test

import (
	"encoding/hex"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
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

func sysLine(t *testing.T, elements ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(append([]string{"/sys/class/infiniband"}, elements...)...))
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(text))
}

// What List says is what the kernel says.
func TestDevices(t *testing.T) {
	p := testPlace(t)
	d := p.device
	want(t, d.Err)
	if guid := sysLine(t, d.Name, "node_guid"); d.NodeGUID.String() != guid {
		t.Errorf("the GUID is %v, want %s", d.NodeGUID, guid)
	}
	if firmware := sysLine(t, d.Name, "fw_ver"); firmware != "" && strings.TrimSpace(d.Firmware) != firmware || d.Firmware == "" {
		t.Errorf("the firmware is %q, want %q", d.Firmware, firmware)
	}
	if _, err := os.Stat(d.Node); err != nil {
		t.Error(err)
	}
	// The kernel lists devices without hardware as virtual ones.
	link, err := os.Readlink(filepath.Join("/sys/class/infiniband", d.Name))
	if virtual := strings.Contains(link, "/virtual/"); err != nil || d.Software != virtual {
		t.Errorf("the device is software: %v, but it is at %s, %v", d.Software, link, err)
	}
	ports, err := os.ReadDir(filepath.Join("/sys/class/infiniband", d.Name, "ports"))
	want(t, err)
	if len(d.Ports) != len(ports) {
		t.Errorf("there are %d ports, want %d", len(d.Ports), len(ports))
	}
	for i, port := range d.Ports {
		if port.Number != i+1 {
			t.Errorf("port %d has the number %d", i+1, port.Number)
		}
		folder := []string{d.Name, "ports", fmt.Sprint(port.Number)}
		line := func(elements ...string) string { return sysLine(t, append(folder, elements...)...) }
		if got := fmt.Sprintf("%d: %s", port.State, strings.TrimPrefix(port.State.String(), "IBV_PORT_")); got != line("state") {
			t.Errorf("the state is %q, want %q", got, line("state"))
		}
		if got := fmt.Sprintf("%d: %v", port.PhysState, port.PhysState); got != line("phys_state") {
			t.Errorf("the physical state is %q, want %q", got, line("phys_state"))
		}
		if got := strings.TrimPrefix(port.LinkLayer.String(), "IBV_LINK_LAYER_"); !strings.EqualFold(got, line("link_layer")) {
			t.Errorf("the link layer is %q, want %q", got, line("link_layer"))
		}
		if got := fmt.Sprintf("0x%x", port.LID); got != line("lid") {
			t.Errorf("the LID is %q, want %q", got, line("lid"))
		}
		for _, gid := range port.GIDs {
			index := fmt.Sprint(gid.Index)
			raw := gid.Addr.As16()
			if got := hex.EncodeToString(raw[:]); got != strings.ReplaceAll(line("gids", index), ":", "") {
				t.Errorf("the GID %s is %s, want %s", index, got, line("gids", index))
			}
		}
	}
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
				{Index: 1, Addr: netip.MustParseAddr("::ffff:10.77.0.1"), Type: device.GIDTypeRoCEv2, Interface: "dummy0"},
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
		if provider.IOVOwnershipOnReturn != udat.IOVConsumer || provider.PZSupport != udat.PZUnique || provider.EPCreator != udat.PSPCreatesEPNever {
			t.Errorf("the provider's attributes are %+v", provider)
		}
		const dto, connection = 2, 3 // positions of the bits
		merging := provider.EVDStreamMergingSupported
		if merging[dto][connection] || !merging[dto][dto] {
			t.Errorf("streams merge as %v", merging)
		}
		named := map[string]string{}
		for _, a := range provider.ProviderSpecificAttr {
			named[a.Name] = a.Value
		}
		d := findDevice(t, attr.AdapterName)
		if named["DAT_IB_DEVICE_NAME"] != attr.AdapterName || named["DAT_IB_NODE_GUID"] != d.NodeGUID.String() {
			t.Errorf("the named attributes are %v", named)
		}
	})
}

// Goroutines that query the adapters of a device at the same time get the same.
func TestQueryBeside(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		attr, provider, err := ia.Query()
		want(t, err)
		query := func(ia *udat.IA) func() {
			return func() {
				for range 200 {
					a, p, err := ia.Query()
					if err != nil || !reflect.DeepEqual(a, attr) || !reflect.DeepEqual(p, provider) {
						t.Errorf("the adapter is %+v, its provider %+v, %v", a, p, err)
						return
					}
				}
			}
		}
		another := udattest.Open(t, ia.Name())
		together(query(ia), query(ia), query(another), query(another))
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
