package devicetest

import (
	"testing"

	"github.com/goudat/goudat/cgo"
	"github.com/goudat/goudat/udat/udattest"
)

const scmLibrary = "libdaploscm.so.2"

func TestDLOpen(t *testing.T) {
	library, message := cgo.DLOpen("libdaplnone.so.2")
	if library != 0 || message == "" {
		t.Errorf("DLOpen of a file that is not there gave %#x, %q", library, message)
	}
	for name, provider := range map[string]bool{scmLibrary: true, "libdaplofa.so.2": true, "libc.so.6": false} {
		library, message := cgo.DLOpen(name)
		if library == 0 || message != "" {
			t.Fatalf("DLOpen of %s gave %#x, %q", name, library, message)
		}
		if cgo.IsProvider(library) != provider {
			t.Errorf("IsProvider(%s) gave %v", name, !provider)
		}
		cgo.DLClose(library)
	}
}

// The library closes an adapter without an entry in dat.conf, but returns "provider not found".
func TestProviderInit(t *testing.T) {
	udattest.Names(t)
	list, count, errno := cgo.IBVGetDeviceList()
	if errno != 0 || count == 0 {
		t.Fatalf("IBVGetDeviceList gave %d devices, %v", count, errno)
	}
	device := list.Device(0).Name
	cgo.IBVFreeDeviceList(list)

	library, message := cgo.DLOpen(scmLibrary)
	if library == 0 {
		t.Fatal(message)
	}
	defer cgo.DLClose(library)
	info := cgo.ProviderInfo{DaplVersionMajor: cgo.VersionMajor, DaplVersionMinor: cgo.VersionMinor}
	const name = "devicetest"
	copy(info.IAName[:], name)
	if cgo.RegistryKnows(&info) {
		t.Error("RegistryKnows a provider before ProviderInit")
	}
	_, _, r := cgo.IAOpen(name, 8)
	outcome(t, "IAOpen", r, cgo.ProviderNotFound, cgo.NameNotRegistered)
	for range 2 {
		cgo.ProviderInit(library, &info, device+" 1")
		for range 2 {
			if !cgo.RegistryKnows(&info) {
				t.Error("RegistryKnows no provider after ProviderInit")
			}
			ia, _, r := cgo.IAOpen(name, 8)
			success(t, "IAOpen", r)
			outcome(t, "IAClose", cgo.IAClose(ia, cgo.CloseGraceful), cgo.ProviderNotFound, cgo.NameNotRegistered)
			outcome(t, "IAClose", cgo.IAClose(ia, cgo.CloseGraceful), cgo.InvalidHandle, cgo.InvalidHandleIA)
		}
		cgo.ProviderFini(library, &info)
		if cgo.RegistryKnows(&info) {
			t.Error("RegistryKnows a provider after ProviderFini")
		}
	}
}
