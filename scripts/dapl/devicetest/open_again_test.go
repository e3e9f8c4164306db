package devicetest

import (
	"os"
	"strings"
	"testing"

	"github.com/goudat/goudat/cgo"
	"github.com/goudat/goudat/udat/udattest"
)

// configEntry returns the library and the instance data of an entry of dat.conf.
func configEntry(t *testing.T, name string) (library, instance string) {
	t.Helper()
	file := os.Getenv("DAT_OVERRIDE")
	if file == "" {
		file = "/etc/dat.conf"
	}
	conf, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
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

// For endpoints without receive and request EVDs the provider has a queue of its own, which it destroys when the last
// adapter closes. A provider that was added to the registry stays, and makes another queue when it is opened again.
func TestOpenAgainWithoutEVDs(t *testing.T) {
	for _, name := range udattest.Names(t) {
		t.Run(name, func(t *testing.T) {
			file, instance := configEntry(t, name)
			library, message := cgo.DLOpen(file) // for good: its threads may outlive it
			if library == 0 {
				t.Fatal(message)
			}
			added := "added-" + name
			info := &cgo.ProviderInfo{DaplVersionMajor: cgo.VersionMajor, DaplVersionMinor: cgo.VersionMinor, IsThreadSafe: cgo.ThreadSafe}
			copy(info.IAName[:], added)
			cgo.ProviderInit(library, info, instance)
			t.Cleanup(func() { cgo.ProviderFini(library, info) })

			attr := endpointAttr()
			attr.MaxRecvDTOs, attr.MaxRecvIOV, attr.MaxRequestDTOs, attr.MaxRequestIOV = 0, 0, 0, 0
			for range 3 {
				ia, _, r := cgo.IAOpen(added, 64)
				success(t, "IAOpen", r)
				pz, r := cgo.PZCreate(ia)
				success(t, "PZCreate", r)
				ep, r := cgo.EPCreate(ia, pz, 0, 0, 0, attr)
				success(t, "EPCreate", r)
				success(t, "EPFree", cgo.EPFree(ep))
				success(t, "PZFree", cgo.PZFree(pz))
				// The adapter is closed. Only then does the library look for the entry in dat.conf.
				outcome(t, "IAClose", cgo.IAClose(ia, cgo.CloseGraceful), cgo.ProviderNotFound, cgo.NameNotRegistered)
			}
		})
	}
}
