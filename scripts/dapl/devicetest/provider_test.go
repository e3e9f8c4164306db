package devicetest

import (
	"os"
	"runtime"
	"strings"
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
		library := load(t, name)
		if cgo.IsProvider(library) != provider {
			t.Errorf("IsProvider(%s) gave %v", name, !provider)
		}
		cgo.DLClose(library)
	}
}

// load loads a library, which stays until it is closed.
func load(t *testing.T, name string) cgo.Library {
	t.Helper()
	library, message := cgo.DLOpen(name)
	if library == 0 || message != "" {
		t.Fatalf("DLOpen of %s gave %#x, %q", name, library, message)
	}
	return library
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

	library := load(t, scmLibrary)
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

// The named attributes of an adapter are its own.
func TestAttributeLists(t *testing.T) {
	for _, name := range udattest.Names(t) {
		t.Run(name, func(t *testing.T) {
			another := "another-" + name
			addProvider(t, name, another)
			lists := map[uintptr]string{}
			for _, name := range []string{name, another} {
				ia, _, r := cgo.IAOpen(name, 8)
				success(t, "IAOpen", r)
				defer cgo.IAClose(ia, cgo.CloseGraceful) // which looks for an entry in dat.conf when it is done
				for range 2 {
					var attr cgo.ProviderAttr
					_, r = cgo.IAQuery(ia, cgo.IAFieldNone, nil, cgo.ProviderFieldAll, &attr)
					success(t, "IAQuery", r)
					if of := lists[attr.ProviderSpecificAttr]; attr.NumProviderSpecificAttr == 0 || of != "" && of != name {
						t.Errorf("%s has the %d attributes of %s", name, attr.NumProviderSpecificAttr, of)
					}
					lists[attr.ProviderSpecificAttr] = name
				}
			}
			if len(lists) != 2 {
				t.Errorf("two adapters have %d lists of attributes", len(lists))
			}
		})
	}
}

// The list keeps the device's name, whatever becomes of the memory that a query has filled.
func TestAttributeListKeepsName(t *testing.T) {
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		attr, provider := new(cgo.IAAttr), new(cgo.ProviderAttr)
		_, r := cgo.IAQuery(a.IAHandle, cgo.IAFieldAll, attr, cgo.ProviderFieldAll, provider)
		success(t, "IAQuery", r)
		*attr = cgo.IAAttr{}
		list := cgo.NamedAttrs(provider.ProviderSpecificAttr, provider.NumProviderSpecificAttr)
		if list["DAT_IB_DEVICE_NAME"] != a.device {
			t.Errorf("the list of %s is %v", a.device, list)
		}
		runtime.KeepAlive(attr)
	})
}

// configEntry returns the library and the instance data of an entry of dat.conf.
func configEntry(t *testing.T, name string) (library, instance string) {
	t.Helper()
	file := os.Getenv("DAT_OVERRIDE")
	if file == "" {
		file = "/etc/dat.conf"
	}
	conf, err := os.ReadFile(file)
	do(t, err)
	for line := range strings.Lines(string(conf)) {
		// name, version, thread safety, default, library, version, "instance", ""
		fields, quoted := strings.Fields(line), strings.Split(line, `"`)
		if len(fields) > 6 && len(quoted) > 1 && fields[0] == name {
			return fields[4], quoted[1]
		}
	}
	t.Fatalf("%s has no entry %s", file, name)
	panic("not reached")
}

// addProvider adds another name of an adapter to the registry, until the test ends. The library stays loaded, as its threads
// may outlive it.
func addProvider(t *testing.T, name, another string) {
	t.Helper()
	file, instance := configEntry(t, name)
	library := load(t, file)
	info := &cgo.ProviderInfo{DaplVersionMajor: cgo.VersionMajor, DaplVersionMinor: cgo.VersionMinor, IsThreadSafe: cgo.ThreadSafe}
	copy(info.IAName[:], another)
	cgo.ProviderInit(library, info, instance)
	t.Cleanup(func() { cgo.ProviderFini(library, info) })
}

// For endpoints without receive and request EVDs the provider has a queue of its own, which it destroys when the last
// adapter closes. A provider that was added to the registry stays, and makes another queue when it is opened again.
func TestOpenAgainWithoutEVDs(t *testing.T) {
	for _, name := range udattest.Names(t) {
		t.Run(name, func(t *testing.T) {
			added := "added-" + name
			addProvider(t, name, added)
			for range 3 {
				a := (&adapter{name: added}).openAgain(t)
				pz := a.createPZ(t)
				ep, r := cgo.EPCreate(a.IAHandle, pz, 0, 0, 0, bareAttr())
				success(t, "EPCreate", r)
				success(t, "EPFree", cgo.EPFree(ep))
				success(t, "PZFree", cgo.PZFree(pz))
				// The adapter is closed. Only then does the library look for the entry in dat.conf.
				outcome(t, "IAClose", cgo.IAClose(a.IAHandle, cgo.CloseGraceful), cgo.ProviderNotFound, cgo.NameNotRegistered)
			}
		})
	}
}
