package devicetest

import (
	"runtime"
	"testing"

	"github.com/goudat/goudat/cgo"
	"github.com/goudat/goudat/udat/udattest"
)

// The named attributes of an adapter are its own.
func TestAttributeLists(t *testing.T) {
	for _, name := range udattest.Names(t) {
		t.Run(name, func(t *testing.T) {
			file, instance := configEntry(t, name)
			library, message := cgo.DLOpen(file) // for good: its threads may outlive it
			if library == 0 {
				t.Fatal(message)
			}
			another := "another-" + name
			info := &cgo.ProviderInfo{DaplVersionMajor: cgo.VersionMajor, DaplVersionMinor: cgo.VersionMinor, IsThreadSafe: cgo.ThreadSafe}
			copy(info.IAName[:], another)
			cgo.ProviderInit(library, info, instance)
			t.Cleanup(func() { cgo.ProviderFini(library, info) })

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
