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
		var provider cgo.ProviderAttr
		async := must(cgo.IAQuery(a.IAHandle, cgo.IAFieldAll, &attr, cgo.ProviderFieldAll, &provider))(t)
		check(t, async == a.async, "the asynchronous error EVD is %#x, and was %#x when the adapter was opened", async, a.async)
		same(t, "the extension", attr.ExtensionSupported, extensionOf(a.iwarp))
		same(t, "its version", attr.ExtensionVersion, cgo.IBExtensionVersion)
		check(t, a.address.Addr().IsValid(), "the adapter has no address")
		attrs := cgo.NamedAttrs(provider.ProviderSpecificAttr, provider.NumProviderSpecificAttr)
		check(t, attrs["DAT_IB_PROVIDER_NAME"] != "", "the named attributes are %q", attrs)
		same(t, "attributes of none", len(cgo.NamedAttrs(0, 0)), 0)
	})
}

func TestIAOpenVUnknownName(t *testing.T) {
	for _, name := range []string{"", "no such adapter"} {
		ia, async, r := cgo.IAOpenV(name, 8, 0, cgo.VersionMajor, cgo.VersionMinor, false)
		outcome(t, "IAOpenV", r, cgo.ProviderNotFound, cgo.NameNotRegistered)
		check(t, ia == 0 && async == 0, "IAOpenV gave the handles %#x and %#x though it failed", ia, async)
	}
}

func TestIAClose(t *testing.T) {
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		other := openAdapter(lasting{t}, a.name)
		outcome(t, "IAClose", cgo.IAClose(other.IAHandle, 77), cgo.InvalidParameter, cgo.InvalidArg2)
		success(t, "IAClose", cgo.IAClose(other.IAHandle, cgo.CloseGraceful))
		outcome(t, "IAClose", cgo.IAClose(other.IAHandle, cgo.CloseGraceful), cgo.InvalidHandle, cgo.InvalidHandleIA)
		a.newPZ(t)
		outcome(t, "IAClose", cgo.IAClose(a.IAHandle, cgo.CloseGraceful), cgo.InvalidState, cgo.InvalidStateIAInUse)
	})
}

func TestGetIAHandle(t *testing.T) {
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		native := must(cgo.GetIAHandle(a.IAHandle))(t)
		check(t, native != a.IAHandle, "the provider's handle is the registry's, %#x", native)
		number := must(cgo.GetIAHandle(native))(t)
		check(t, number == a.IAHandle, "back and forth, %#x became %#x", a.IAHandle, number)
		_, r := cgo.GetIAHandle(0)
		outcome(t, "GetIAHandle(0)", r, cgo.InvalidHandle, cgo.InvalidHandleIA)
	})
}

func TestContextAndTypeOfHandles(t *testing.T) {
	_, r := cgo.GetHandleType(0)
	outcome(t, "GetHandleType", r, cgo.InvalidHandle, cgo.InvalidHandle1)
	_, r = cgo.GetConsumerContext(0)
	outcome(t, "GetConsumerContext", r, cgo.InvalidHandle, cgo.InvalidHandle1)
	outcome(t, "SetConsumerContext", cgo.SetConsumerContext(0, 1), cgo.InvalidHandle, cgo.InvalidHandle1)
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		l, e, caller := a.listen(t), a.newEndpoint(t), a.newEndpoint(t)
		rsp := a.reserveAt(t, &listener{qual: l.qual + 1, requests: l.requests}, e)
		defer func() { success(t, "RSPFree", cgo.RSPFree(rsp)) }()
		cr := a.ask(t, l, caller)
		defer reject(t, cr, caller)
		for kind, handle := range map[cgo.HandleType]cgo.Handle{
			cgo.HandleTypeIA:  cgo.Handle(a.IAHandle),
			cgo.HandleTypePZ:  cgo.Handle(e.pz),
			cgo.HandleTypeEVD: cgo.Handle(e.recv.EVDHandle),
			cgo.HandleTypeEP:  cgo.Handle(e.EPHandle),
			cgo.HandleTypeLMR: cgo.Handle(e.memory.LMRHandle),
			cgo.HandleTypePSP: cgo.Handle(l.PSPHandle),
			cgo.HandleTypeRSP: cgo.Handle(rsp),
			cgo.HandleTypeCR:  cgo.Handle(cr),
			cgo.HandleTypeCNO: cgo.Handle(e.recv.cno),
			cgo.HandleTypeSRQ: cgo.Handle(a.newSRQ(t, e.pz).SRQHandle),
		} {
			t.Run(kind.String(), func(t *testing.T) {
				same(t, "GetHandleType", must(cgo.GetHandleType(handle))(t), kind)
				for _, want := range []uint64{0, 0x0123456789abcdef} { // a new object has none
					same(t, "the context", must(cgo.GetConsumerContext(handle))(t), want)
					success(t, "SetConsumerContext", cgo.SetConsumerContext(handle, 0x0123456789abcdef))
				}
			})
		}
	})
}

func TestRegistryListProviders(t *testing.T) {
	names := udattest.Names(t)
	n, r := cgo.RegistryListProviders(nil)
	outcome(t, "RegistryListProviders without room", r, cgo.InvalidParameter, cgo.InvalidArg1)
	infos := make([]cgo.ProviderInfo, n)
	n = must(cgo.RegistryListProviders(infos))(t)
	listed := map[string]bool{}
	for _, info := range infos[:n] {
		name, _, _ := bytes.Cut(info.IAName[:], []byte{0})
		listed[string(name)] = true
	}
	for _, name := range names {
		check(t, listed[name], "the registry does not list %s, only %v", name, listed)
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
	check(t, major == "DAT_INVALID_STATE" && minor == "DAT_INVALID_STATE_EP_CONNECTED", "Strerror gave %q and %q", major, minor)
	major, _, r = cgo.Strerror(0x3ffe0000)
	outcome(t, "Strerror of an unknown type", r, cgo.InvalidParameter, cgo.NoSubtype)
	check(t, strings.Contains(major, "unknown"), "Strerror gave %q for an unknown type", major)
}

func TestIBV(t *testing.T) {
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		list, count, errno := cgo.IBVGetDeviceList()
		check(t, errno == 0, "%v", errno)
		defer cgo.IBVFreeDeviceList(list)
		index := -1
		for i := range count {
			if d := list.Device(i); d.Name == a.device {
				index = i
				check(t, d.GUID != [8]byte{} && d.DevName != "" && d.TransportType != cgo.IBVTransportUnknown, "the device is %+v", d)
			}
		}
		check(t, index >= 0, "%s is not in the list", a.device)
		context, errno := cgo.IBVOpenDevice(list, index)
		check(t, errno == 0, "%v", errno)
		device, errno := cgo.IBVQueryDevice(context)
		check(t, errno == 0 && device.PhysPortCount >= 1 && device.FirmwareVersion != "", "the device has the attributes %+v, %v", device, errno)
		port, errno := cgo.IBVQueryPort(context, 1)
		// Soft-iWARP's driver says that the MTU is more than the most.
		check(t, errno == 0 && port.GIDTblLen >= 1 && (a.iwarp || port.MaxMTU >= port.ActiveMTU) && port.ActiveMTU != 0,
			"the port has the attributes %+v, %v", port, errno)
		gid, errno := cgo.IBVQueryGID(context, 1, 0)
		check(t, errno == 0 && gid != [16]byte{}, "the first GID is %x, %v", gid, errno)
		_, errno = cgo.IBVQueryPort(context, 99)
		same(t, "a port that does not exist", errno, syscall.EINVAL)
		same(t, "IBVCloseDevice", cgo.IBVCloseDevice(context), 0)
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
		must(cgo.IAQuery(a.IAHandle, cgo.IAFieldAll, &attr, cgo.ProviderFieldAll, &provider))(t)
		check(t, attr.MaxSRQs >= 1 && attr.MaxEPPerSRQ == attr.MaxEPs && attr.MaxRecvPerSRQ >= 1 && provider.SRQSupported == 1 && provider.EPRecvInfoSupported == 0,
			"the attributes are %+v and %+v", attr, provider)
		srq := a.newSRQ(t, a.newPZ(t)).SRQHandle
		outcome(t, "SRQResize", cgo.SRQResize(srq, attr.MaxRecvPerSRQ+1), cgo.InvalidParameter, cgo.InvalidArg2)
	})
}
