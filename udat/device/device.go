// Package device lists the RDMA devices of this machine, writes entries of dat.conf for them, and
// says what is in the way of using them.
package device

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/goudat/goudat/cgo"
	"github.com/goudat/goudat/udat/internal/machine"
	"github.com/goudat/goudat/udat/internal/problem"
)

//go:generate env GOWORK=off go tool -modfile=../../scripts/tools/go.mod stringer -linecomment -output=enum_string.go -type=PhysState

// Transport is the transport of an RDMA device. RoCE devices have
// TransportInfiniBand, on ports of LinkLayerEthernet.
type Transport int32

// String returns the C name.
func (v Transport) String() string { return cgo.IBVTransportType(v).String() }

// The transports of RDMA devices.
const (
	TransportUnknown     Transport = Transport(cgo.IBVTransportUnknown)     // IBV_TRANSPORT_UNKNOWN
	TransportInfiniBand  Transport = Transport(cgo.IBVTransportIB)          // IBV_TRANSPORT_IB
	TransportIWARP       Transport = Transport(cgo.IBVTransportIWARP)       // IBV_TRANSPORT_IWARP
	TransportUSNIC       Transport = Transport(cgo.IBVTransportUSNIC)       // IBV_TRANSPORT_USNIC
	TransportUSNICUDP    Transport = Transport(cgo.IBVTransportUSNICUDP)    // IBV_TRANSPORT_USNIC_UDP
	TransportUnspecified Transport = Transport(cgo.IBVTransportUnspecified) // IBV_TRANSPORT_UNSPECIFIED
)

// PortState is the logical state of a port. Only an active port transfers data.
type PortState uint32

// String returns the C name.
func (v PortState) String() string { return cgo.IBVPortState(v).String() }

// The states of ports.
const (
	PortNop         PortState = PortState(cgo.IBVPortNop)         // IBV_PORT_NOP
	PortDown        PortState = PortState(cgo.IBVPortDown)        // IBV_PORT_DOWN
	PortInit        PortState = PortState(cgo.IBVPortInit)        // IBV_PORT_INIT
	PortArmed       PortState = PortState(cgo.IBVPortArmed)       // IBV_PORT_ARMED
	PortActive      PortState = PortState(cgo.IBVPortActive)      // IBV_PORT_ACTIVE
	PortActiveDefer PortState = PortState(cgo.IBVPortActiveDefer) // IBV_PORT_ACTIVE_DEFER
)

// PhysState is the physical state of a port, as the InfiniBand specification has
// it. verbs.h has no names for it; these are those of the kernel.
type PhysState uint8

// The physical states of ports.
const (
	PhysNone              PhysState = 0 // none
	PhysSleep             PhysState = 1 // Sleep
	PhysPolling           PhysState = 2 // Polling
	PhysDisabled          PhysState = 3 // Disabled
	PhysTraining          PhysState = 4 // PortConfigurationTraining
	PhysLinkUp            PhysState = 5 // LinkUp
	PhysLinkErrorRecovery PhysState = 6 // LinkErrorRecovery
	PhysTest              PhysState = 7 // Phy Test
)

// LinkLayer is the link layer of a port.
type LinkLayer uint8

// String returns the C name.
func (v LinkLayer) String() string { return cgo.IBVLinkLayer(v).String() }

// The link layers.
const (
	LinkLayerUnspecified LinkLayer = LinkLayer(cgo.IBVLinkLayerUnspecified) // IBV_LINK_LAYER_UNSPECIFIED
	LinkLayerInfiniBand  LinkLayer = LinkLayer(cgo.IBVLinkLayerInfiniBand)  // IBV_LINK_LAYER_INFINIBAND
	LinkLayerEthernet    LinkLayer = LinkLayer(cgo.IBVLinkLayerEthernet)    // IBV_LINK_LAYER_ETHERNET
)

// GIDType says which protocol an entry of a port's table of GIDs is for.
type GIDType uint32

// String returns the C name.
func (v GIDType) String() string { return cgo.IBVGIDType(v).String() }

// The types of GIDs. Those of iWARP devices have GIDTypeIB.
const (
	GIDTypeIB     GIDType = GIDType(cgo.IBVGIDTypeIB)     // IBV_GID_TYPE_IB
	GIDTypeRoCEv1 GIDType = GIDType(cgo.IBVGIDTypeRoCEv1) // IBV_GID_TYPE_ROCE_V1
	GIDTypeRoCEv2 GIDType = GIDType(cgo.IBVGIDTypeRoCEv2) // IBV_GID_TYPE_ROCE_V2
)

// GUID is the world-wide unique identifier of a device.
type GUID [8]byte

// String writes the GUID as four groups of four hexadecimal digits.
func (g GUID) String() string {
	return fmt.Sprintf("%04x:%04x:%04x:%04x", binary.BigEndian.Uint16(g[0:]), binary.BigEndian.Uint16(g[2:]),
		binary.BigEndian.Uint16(g[4:]), binary.BigEndian.Uint16(g[6:]))
}

// Device is an RDMA device of this machine.
type Device struct {
	Name      string    // the kernel's name, mlx5_0 for example
	Transport Transport // TransportUnknown where libibverbs has no driver, or cannot see the Node
	NodeGUID  GUID
	Firmware  string // version of the firmware
	Node      string // device file through which programs use it, "" for none
	Software  bool   // it is a program of the kernel, such as soft-RoCE or soft-iWARP
	Ports     []Port

	// Err says why the device cannot be used, with a Problem in it. Then
	// Firmware and Ports are missing.
	Err error
}

// Port is a port of a Device.
type Port struct {
	Number    int // the first is 1
	State     PortState
	PhysState PhysState
	LinkLayer LinkLayer
	ActiveMTU int    // bytes of payload in a packet
	MaxMTU    int    // bytes
	LID       uint16 // local identifier in an InfiniBand subnet, else 0
	GIDs      []GID
	// Interfaces names the network interfaces that belong to the port, in the
	// order of their GIDs.
	Interfaces []string
}

// GID is a used entry of a port's table of GIDs. On RoCE there is one for each
// address of the interface and each version of the protocol.
type GID struct {
	Index     int // position in the table
	Addr      netip.Addr
	Type      GIDType
	Interface string // network interface that it belongs to, where there is one
}

const sysVerbs = "/sys/class/infiniband_verbs"

// List lists the RDMA devices of this machine by name, whether the registry
// has an entry for them or not. One that cannot be used is in the list with the
// reason. Without any, the list is empty and err nil.
func List() (devices []Device, err error) {
	if !cgo.Available {
		return nil, ErrNoNativeLibrary
	}
	if err := machine.FileLimit(machine.FilesOfList); err != nil { // the library says that there is no device
		return nil, err
	}
	list, count, errno := cgo.IBVGetDeviceList()
	switch errno {
	case 0:
		defer cgo.IBVFreeDeviceList(list)
	case syscall.ENOSYS: // a kernel without RDMA, or without the devices' files
	default:
		return nil, os.NewSyscallError("ibv_get_device_list", errno)
	}
	for i := range count {
		devices = append(devices, describeDevice(list, i))
	}
	entries, err := os.ReadDir(machine.SysDevices)
	if err := machine.TooManyFiles(err, "the list of devices needs one more"); err != nil {
		return nil, err
	}
	for _, entry := range entries {
		if name := entry.Name(); !slices.ContainsFunc(devices, func(d Device) bool { return d.Name == name }) {
			devices = append(devices, leftOut(name))
		}
	}
	slices.SortFunc(devices, func(a, b Device) int { return strings.Compare(a.Name, b.Name) })
	return devices, nil
}

// leftOut describes a device that libibverbs leaves out: it lacks the device's file, or a driver.
func leftOut(name string) Device {
	d := Device{Name: name, Transport: TransportUnknown}
	files, _ := filepath.Glob(sysVerbs + "/*/ibdev")
	for _, file := range files {
		if readLine(file) == name {
			d.Node = filepath.Join(machine.NodesFolder, filepath.Base(filepath.Dir(file)))
		}
	}
	if d.Node == "" {
		d.Err = fmt.Errorf("%w: the kernel has made none for the device %s: load the kernel module ib_uverbs; or the device belongs to another network namespace", problem.NoNode, name)
		return d
	}
	if _, err := os.Stat(d.Node); err != nil { // libibverbs looks no further, either
		d.Err = machine.NodeProblem(d.Node)
	}
	d.Err = cmp.Or(d.Err, fmt.Errorf("%w of the device %s: install the package ibverbs-providers, or the vendor's library for libibverbs; "+
		"a program of one file uses no driver but those inside it: build it without the tag goudat_static; or the device belongs to another network namespace", problem.NoDriver, name))
	return d
}

func describeDevice(list cgo.IBVDeviceList, i int) Device {
	raw := list.Device(i)
	d := Device{Name: raw.Name, Transport: Transport(raw.TransportType), NodeGUID: raw.GUID, Node: filepath.Join(machine.NodesFolder, raw.DevName), Software: machine.IsSoftware(raw.Name)}
	context, errno := cgo.IBVOpenDevice(list, i)
	if errno != 0 {
		// The library returns ENOENT if the node may not be opened.
		d.Err = machine.NodeProblem(d.Node)
		if d.Err == nil && errno == syscall.EAGAIN {
			d.Err = machine.GroupLimit()
		}
		if d.Err == nil {
			d.Err = fmt.Errorf("%w: the device %s: %w", problem.Unknown, d.Name, os.NewSyscallError("ibv_open_device", errno))
		}
		return d
	}
	defer cgo.IBVCloseDevice(context)
	attr, errno := cgo.IBVQueryDevice(context)
	if errno != 0 {
		d.Err = fmt.Errorf("%w: the device %s: %w", problem.Unknown, d.Name, os.NewSyscallError("ibv_query_device", errno))
		return d
	}
	d.Firmware = attr.FirmwareVersion
	for number := 1; number <= attr.PhysPortCount; number++ {
		port, err := describePort(d, context, number)
		if err != nil {
			d.Err = fmt.Errorf("%w: the port %d of the device %s: %w", problem.Unknown, number, d.Name, err)
			d.Ports = nil
			return d
		}
		d.Ports = append(d.Ports, port)
	}
	return d
}

func describePort(d Device, context cgo.IBVContext, number int) (Port, error) {
	attr, errno := cgo.IBVQueryPort(context, uint8(number))
	if errno != 0 {
		return Port{}, os.NewSyscallError("ibv_query_port", errno)
	}
	p := Port{
		Number:    number,
		State:     PortState(attr.State),
		PhysState: PhysState(attr.PhysState),
		LinkLayer: LinkLayer(attr.LinkLayer),
		ActiveMTU: bytesOfMTU(attr.ActiveMTU),
		MaxMTU:    bytesOfMTU(attr.MaxMTU),
		LID:       attr.LID,
	}
	folder := filepath.Join(machine.SysDevices, d.Name, "ports", fmt.Sprint(number), "gid_attrs")
	roce := attr.LinkLayer == cgo.IBVLinkLayerEthernet && d.Transport == TransportInfiniBand
	for index := range attr.GIDTblLen {
		raw, errno := cgo.IBVQueryGID(context, uint8(number), index)
		if errno != 0 || raw == [16]byte{} {
			continue // an unused entry
		}
		gid := GID{
			Index:     index,
			Addr:      netip.AddrFrom16(raw),
			Type:      gidType(roce, readLine(filepath.Join(folder, "types", fmt.Sprint(index)))),
			Interface: readLine(filepath.Join(folder, "ndevs", fmt.Sprint(index))),
		}
		p.GIDs = append(p.GIDs, gid)
		if gid.Interface != "" && !slices.Contains(p.Interfaces, gid.Interface) {
			p.Interfaces = append(p.Interfaces, gid.Interface)
		}
	}
	if len(p.Interfaces) == 0 {
		p.Interfaces = interfacesBySys(d, number)
	}
	if len(p.Interfaces) == 0 { // there is no /sys/class
		interfaces, _ := net.Interfaces()
		for _, i := range interfaces {
			if slices.ContainsFunc(p.GIDs, gidsOf(&i)) {
				p.Interfaces = append(p.Interfaces, i.Name)
			}
		}
	}
	return p, nil
}

// gidsOf returns whether the kernel may have made a GID for a network interface of Ethernet: of its
// hardware address, or of one of its IP addresses.
func gidsOf(i *net.Interface) func(GID) bool {
	mac := i.HardwareAddr
	if len(mac) != 6 {
		return func(GID) bool { return false }
	}
	id := []byte{mac[0] ^ 2, mac[1], mac[2], 0xff, 0xfe, mac[3], mac[4], mac[5]} // RFC 4291, appendix A
	addresses := machine.Addresses(i)
	return func(gid GID) bool {
		raw := gid.Addr.As16()
		return bytes.HasSuffix(raw[:], id) || bytes.HasPrefix(raw[:], mac) || slices.Contains(addresses, gid.Addr.Unmap())
	}
}

// bytesOfMTU turns an enum ibv_mtu, of which 1 is 256 bytes, into bytes.
func bytesOfMTU(mtu uint32) int {
	if mtu < 1 || mtu > 5 {
		return 0
	}
	return 128 << mtu
}

// gidType reads what the kernel says of a GID: "RoCE v2" or "IB/RoCE v1".
func gidType(roce bool, text string) GIDType {
	switch {
	case !roce:
		return GIDTypeIB
	case text == "RoCE v2":
		return GIDTypeRoCEv2
	}
	return GIDTypeRoCEv1
}

// interfacesBySys finds the network interfaces of a port whose GIDs name none:
// those of the same hardware (IPoIB, iWARP), or the one that a software device
// stands on.
func interfacesBySys(d Device, port int) []string {
	folder := filepath.Join(machine.SysDevices, d.Name)
	if parent := readLine(filepath.Join(folder, "parent")); parent != "" {
		return []string{parent}
	}
	var names []string
	entries, _ := os.ReadDir(filepath.Join(folder, "device/net"))
	for _, entry := range entries {
		name := entry.Name()
		// The ports of an interface's hardware count from 0.
		if devPort := readLine(filepath.Join("/sys/class/net", name, "dev_port")); devPort == fmt.Sprint(port-1) || len(entries) == 1 {
			names = append(names, name)
		}
	}
	return names
}

// readLine returns "" for a file that cannot be read: reading an unused entry of a table
// of GIDs fails with EINVAL.
func readLine(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}
