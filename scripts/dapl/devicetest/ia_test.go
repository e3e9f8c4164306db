package devicetest

import (
	"bytes"
	"strings"
	"syscall"
	"testing"

	"github.com/goudat/goudat/cgo"
	"github.com/goudat/goudat/udat/udattest"
)

func TestIAQuery(t *testing.T) {
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		var attr cgo.IAAttr
		async, r := cgo.IAQuery(a.IAHandle, cgo.IAFieldAll, &attr, cgo.ProviderFieldNone, nil)
		success(t, "IAQuery", r)
		if async != a.async {
			t.Errorf("the asynchronous error EVD is %#x, and was %#x when the adapter was opened", async, a.async)
		}
		if want := extensionOf(a.iwarp); attr.ExtensionSupported != want || attr.ExtensionVersion != cgo.IBExtensionVersion {
			t.Errorf("extensions are %v, version %d, want %v, version %d",
				attr.ExtensionSupported, attr.ExtensionVersion, want, cgo.IBExtensionVersion)
		}
		if !a.address.Addr().IsValid() {
			t.Error("the adapter has no IPv4 address")
		}
	})
}

func TestIAOpenVUnknownName(t *testing.T) {
	for _, name := range []string{"", "no such adapter"} {
		ia, async, r := cgo.IAOpenV(name, 8, 0, cgo.VersionMajor, cgo.VersionMinor, false)
		outcome(t, "IAOpenV", r, cgo.ProviderNotFound, cgo.NameNotRegistered)
		if ia != 0 || async != 0 {
			t.Errorf("IAOpenV gave the handles %#x and %#x though it failed", ia, async)
		}
	}
}

func TestIACloseTwice(t *testing.T) {
	for _, name := range udattest.Names(t) {
		ia, _, r := cgo.IAOpen(name, 8)
		success(t, "IAOpen", r)
		outcome(t, "IAClose", cgo.IAClose(ia, 77), cgo.InvalidParameter, cgo.InvalidArg2)
		success(t, "IAClose", cgo.IAClose(ia, cgo.CloseGraceful))
		outcome(t, "IAClose", cgo.IAClose(ia, cgo.CloseGraceful), cgo.InvalidHandle, cgo.InvalidHandleIA)
	}
}

func TestIACloseInUse(t *testing.T) {
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		a.newPZ(t)
		outcome(t, "IAClose", cgo.IAClose(a.IAHandle, cgo.CloseGraceful), cgo.InvalidState, cgo.InvalidStateIAInUse)
	})
}

func TestGetIAHandle(t *testing.T) {
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		native, r := cgo.GetIAHandle(a.IAHandle)
		success(t, "GetIAHandle", r)
		if native == a.IAHandle {
			t.Errorf("the provider's handle is the registry's, %#x", native)
		}
		number, r := cgo.GetIAHandle(native)
		success(t, "GetIAHandle of the provider's handle", r)
		if number != a.IAHandle {
			t.Errorf("back and forth, %#x became %#x", a.IAHandle, number)
		}
		_, r = cgo.GetIAHandle(0)
		outcome(t, "GetIAHandle(0)", r, cgo.InvalidHandle, cgo.InvalidHandleIA)
	})
}

// handles returns an object of each kind.
func (a *adapter) handles(t *testing.T) map[cgo.HandleType]cgo.Handle {
	l, e := a.listen(t), a.newEndpoint(t)
	rsp, r := cgo.RSPCreate(a.IAHandle, l.qual+1, e.EPHandle, l.requests.EVDHandle)
	success(t, "RSPCreate", r)
	t.Cleanup(func() { success(t, "RSPFree", cgo.RSPFree(rsp)) })
	srq, r := cgo.SRQCreate(a.IAHandle, e.pz, &cgo.SRQAttr{MaxRecvDTOs: 4, MaxRecvIOV: 1})
	success(t, "SRQCreate", r)
	t.Cleanup(func() { success(t, "SRQFree", cgo.SRQFree(srq)) })
	caller := a.newEndpoint(t)
	cr := a.ask(t, l, caller)
	t.Cleanup(func() {
		reject(t, cr, caller)
	})
	return map[cgo.HandleType]cgo.Handle{
		cgo.HandleTypeIA:  cgo.Handle(a.IAHandle),
		cgo.HandleTypePZ:  cgo.Handle(e.pz),
		cgo.HandleTypeEVD: cgo.Handle(e.recv.EVDHandle),
		cgo.HandleTypeEP:  cgo.Handle(e.EPHandle),
		cgo.HandleTypeLMR: cgo.Handle(e.memory.LMRHandle),
		cgo.HandleTypePSP: cgo.Handle(l.PSPHandle),
		cgo.HandleTypeRSP: cgo.Handle(rsp),
		cgo.HandleTypeCR:  cgo.Handle(cr),
		cgo.HandleTypeCNO: cgo.Handle(e.recv.cno),
		cgo.HandleTypeSRQ: cgo.Handle(srq),
	}
}

func TestContextAndTypeOfHandles(t *testing.T) {
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		for kind, handle := range a.handles(t) {
			t.Run(kind.String(), func(t *testing.T) {
				got, r := cgo.GetHandleType(handle)
				success(t, "GetHandleType", r)
				if got != kind {
					t.Errorf("GetHandleType gave %v, want %v", got, kind)
				}
				context, r := cgo.GetConsumerContext(handle)
				success(t, "GetConsumerContext", r)
				if context != 0 {
					t.Errorf("the context of a new object is %#x, want 0", context)
				}
				const value = 0x0123456789abcdef
				success(t, "SetConsumerContext", cgo.SetConsumerContext(handle, value))
				context, r = cgo.GetConsumerContext(handle)
				success(t, "GetConsumerContext", r)
				if context != value {
					t.Errorf("the context is %#x, want %#x", context, uint64(value))
				}
			})
		}
	})
}

func TestNullHandle(t *testing.T) {
	_, r := cgo.GetHandleType(0)
	outcome(t, "GetHandleType", r, cgo.InvalidHandle, cgo.InvalidHandle1)
	_, r = cgo.GetConsumerContext(0)
	outcome(t, "GetConsumerContext", r, cgo.InvalidHandle, cgo.InvalidHandle1)
	outcome(t, "SetConsumerContext", cgo.SetConsumerContext(0, 1), cgo.InvalidHandle, cgo.InvalidHandle1)
}

func TestRegistryListProviders(t *testing.T) {
	names := udattest.Names(t)
	n, r := cgo.RegistryListProviders(nil)
	outcome(t, "RegistryListProviders without room", r, cgo.InvalidParameter, cgo.InvalidArg1)
	infos := make([]cgo.ProviderInfo, n)
	n, r = cgo.RegistryListProviders(infos)
	success(t, "RegistryListProviders", r)
	listed := map[string]bool{}
	for _, info := range infos[:n] {
		name, _, _ := bytes.Cut(info.IAName[:], []byte{0})
		listed[string(name)] = true
	}
	for _, name := range names {
		if !listed[name] {
			t.Errorf("the registry does not list %s, only %v", name, listed)
		}
	}
}

func TestRegistryAddAndRemoveProvider(t *testing.T) {
	// All functions of this provider are null: it must not be opened.
	_, address := newPage(t)
	provider := cgo.Provider(address)
	info := &cgo.ProviderInfo{DaplVersionMajor: cgo.VersionMajor, DaplVersionMinor: cgo.VersionMinor}
	copy(info.IAName[:], "provider-without-functions")

	outcome(t, "RegistryAddProvider(0)", cgo.RegistryAddProvider(0, info), cgo.InvalidParameter, cgo.InvalidArg1)
	success(t, "RegistryAddProvider", cgo.RegistryAddProvider(provider, info))
	outcome(t, "RegistryAddProvider", cgo.RegistryAddProvider(provider, info), cgo.ProviderAlreadyRegistered, cgo.NoSubtype)
	success(t, "RegistryRemoveProvider", cgo.RegistryRemoveProvider(provider, info))
	outcome(t, "RegistryRemoveProvider", cgo.RegistryRemoveProvider(provider, info), cgo.ProviderNotFound, cgo.NameNotRegistered)
}

func TestStrerror(t *testing.T) {
	code := cgo.ClassError | cgo.Return(cgo.InvalidState) | cgo.Return(cgo.InvalidStateEPConnected)
	major, minor, r := cgo.Strerror(code)
	success(t, "Strerror", r)
	if major != "DAT_INVALID_STATE" || minor != "DAT_INVALID_STATE_EP_CONNECTED" {
		t.Errorf("Strerror gave %q and %q", major, minor)
	}
	major, _, r = cgo.Strerror(0x3ffe0000)
	outcome(t, "Strerror of an unknown type", r, cgo.InvalidParameter, cgo.NoSubtype)
	if !strings.Contains(major, "unknown") {
		t.Errorf("Strerror gave %q for an unknown type", major)
	}
}

func TestIBV(t *testing.T) {
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		attr := queryIA(t, a.IAHandle)
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

// What needs more memory than there can be is refused, and nothing is written beyond it.
func TestLengthsBeyondMemory(t *testing.T) {
	for _, name := range udattest.Names(t) {
		for _, length := range []int32{1 << 30, 1<<30 + 1, 1<<31 - 1} {
			_, _, r := cgo.IAOpen(name, length)
			outcome(t, "IAOpen", r, cgo.InsufficientResources, cgo.ResourceMemory)
		}
	}
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		e := a.newEndpoint(t)
		for _, length := range []int32{-1 << 31, -1, 0, 1 << 30, 1<<31 - 1} {
			_, r := cgo.SRQCreate(a.IAHandle, e.pz, &cgo.SRQAttr{MaxRecvDTOs: length, MaxRecvIOV: 1})
			outcome(t, "SRQCreate", r, cgo.InvalidParameter, cgo.InvalidArg3)
		}
		_, r := cgo.SRQCreate(a.IAHandle, e.pz, &cgo.SRQAttr{MaxRecvDTOs: 8, MaxRecvIOV: -1})
		outcome(t, "SRQCreate", r, cgo.InvalidParameter, cgo.InvalidArg3)
		for _, length := range []int32{-1 << 31, -1, 1 << 30, 1<<31 - 1} {
			for _, attr := range []cgo.EPAttr{{MaxRecvDTOs: length, MaxRequestDTOs: 1}, {MaxRecvDTOs: 1, MaxRequestDTOs: length}} {
				attr.ServiceType, attr.MaxRecvIOV, attr.MaxRequestIOV = cgo.ServiceTypeRC, 1, 1
				_, r := cgo.EPCreate(a.IAHandle, e.pz, e.recv.EVDHandle, e.request.EVDHandle, e.connect.EVDHandle, &attr)
				outcome(t, "EPCreate", r, cgo.InvalidParameter, cgo.InvalidArg6)
			}
		}
	})
}

// The adapter says what the device has, and fills all attributes of its provider.
func TestSharedQueueAttributes(t *testing.T) {
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		var attr cgo.IAAttr
		provider := cgo.ProviderAttr{EPRecvInfoSupported: 1, SRQSupported: 7}
		_, r := cgo.IAQuery(a.IAHandle, cgo.IAFieldAll, &attr, cgo.ProviderFieldAll, &provider)
		success(t, "IAQuery", r)
		if attr.MaxSRQs < 1 || attr.MaxEPPerSRQ != attr.MaxEPs || attr.MaxRecvPerSRQ < 1 || provider.SRQSupported != 1 || provider.EPRecvInfoSupported != 0 {
			t.Errorf("the attributes are %+v and %+v", attr, provider)
		}
		srq, r := cgo.SRQCreate(a.IAHandle, a.newPZ(t), &cgo.SRQAttr{MaxRecvDTOs: 8, MaxRecvIOV: 1})
		success(t, "SRQCreate", r)
		outcome(t, "SRQResize", cgo.SRQResize(srq, attr.MaxRecvPerSRQ+1), cgo.InvalidParameter, cgo.InvalidArg2)
		success(t, "SRQFree", cgo.SRQFree(srq))
	})
}
