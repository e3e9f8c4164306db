package devicetest

import (
	"bytes"
	"syscall"
	"testing"

	"github.com/goudat/goudat/cgo"
)

func TestIBV(t *testing.T) {
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		var attr cgo.IAAttr
		_, r := cgo.IAQuery(a.IAHandle, cgo.IAFieldAll, &attr, cgo.ProviderFieldNone, nil)
		success(t, "IAQuery", r)
		name, _, _ := bytes.Cut(attr.AdapterName[:], []byte{0})

		list, count, errno := cgo.IBVGetDeviceList()
		if errno != 0 {
			t.Fatal(errno)
		}
		defer cgo.IBVFreeDeviceList(list)
		index := -1
		for i := range count {
			if d := list.Device(i); d.Name == string(name) {
				index = i
				if d.GUID == [8]byte{} || d.DevName == "" || d.TransportType == cgo.IBVTransportUnknown {
					t.Errorf("the device is %+v", d)
				}
			}
		}
		if index < 0 {
			t.Fatalf("%s is not in the list", name)
		}
		context, errno := cgo.IBVOpenDevice(list, index)
		if errno != 0 {
			t.Fatal(errno)
		}
		device, errno := cgo.IBVQueryDevice(context)
		if errno != 0 || device.PhysPortCount < 1 || device.FirmwareVersion == "" {
			t.Errorf("the device has the attributes %+v, %v", device, errno)
		}
		port, errno := cgo.IBVQueryPort(context, 1)
		// Soft-iWARP's driver says that the MTU is more than the most.
		if errno != 0 || port.GIDTblLen < 1 || !a.iwarp && port.MaxMTU < port.ActiveMTU || port.ActiveMTU == 0 {
			t.Errorf("the port has the attributes %+v, %v", port, errno)
		}
		if gid, errno := cgo.IBVQueryGID(context, 1, 0); errno != 0 || gid == [16]byte{} {
			t.Errorf("the first GID is %x, %v", gid, errno)
		}
		if _, errno := cgo.IBVQueryPort(context, 99); errno != syscall.EINVAL {
			t.Errorf("a port that does not exist returned %v", errno)
		}
		if errno := cgo.IBVCloseDevice(context); errno != 0 {
			t.Error(errno)
		}
	})
}

func TestNamedAttrs(t *testing.T) {
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		var provider cgo.ProviderAttr
		_, r := cgo.IAQuery(a.IAHandle, cgo.IAFieldNone, nil, cgo.ProviderFieldAll, &provider)
		success(t, "IAQuery", r)
		attrs := cgo.NamedAttrs(provider.ProviderSpecificAttr, provider.NumProviderSpecificAttr)
		if attrs["DAT_IB_PROVIDER_NAME"] == "" {
			t.Errorf("the named attributes are %q", attrs)
		}
		if none := cgo.NamedAttrs(0, 0); len(none) > 0 {
			t.Errorf("no attributes are %q", none)
		}
	})
}
