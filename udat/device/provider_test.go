//go:build linux

package device_test

import (
	"errors"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/device"
	"github.com/goudat/goudat/udat/udattest"
)

const (
	cma = "libdaplofa.so.2"
	scm = "libdaploscm.so.2"
)

func providerName(t *testing.T, ia *udat.IA) string {
	t.Helper()
	_, attr, err := ia.Query()
	want(t, err)
	return attr.ProviderName
}

// An adapter that no entry names opens by its device or its interface, and
// transfers.
func TestOpenByDevice(t *testing.T) {
	p := testPlace(t)
	names := map[string]string{p.byCMA(): p.byCMA(), p.device.Name: p.byCMA(), p.netInterface: p.byCMA()}
	if bySCM := p.bySCM(); bySCM != "" {
		names[bySCM], names["scm:"+p.device.Name] = bySCM, bySCM
	}
	for name, full := range names {
		t.Run(name, func(t *testing.T) {
			ia := udattest.Open(t, name)
			if ia.Name() != name || providerName(t, ia) != full {
				t.Errorf("%s is opened as %s, want %s", ia.Name(), providerName(t, ia), full)
			}
			text := name
			if full != name {
				text += " (" + full + ")"
			}
			if ia.String() != text {
				t.Errorf("the adapter is called %q, want %q", ia, text)
			}
			active, passive := udattest.Pair(t, ia, nil)
			want(t, passive.PostRecv(one(passive.Segment(t, 0, 8)), 1, 0))
			want(t, active.PostSend(one(active.Segment(t, 0, 8)), 2, 0))
			event := udattest.Expect(t, passive.Recv, udat.EventDTOCompletion)
			want(t, event.Err())
		})
	}
}

// The socket CM provider opens over iWARP, and would never connect.
func TestOpenSocketProviderOnIWARP(t *testing.T) {
	p := testPlace(t)
	if p.device.Transport != device.TransportIWARP {
		t.Log("not tested: the device does not speak iWARP")
		return
	}
	_, err := udat.Open("scm:" + p.device.Name)
	want(t, err, udat.ErrModelNotSupported, device.ProblemWrongProvider)
	wantDetail(t, err)
	udattest.Pair(t, udattest.Open(t, p.byCMA()), nil)
}

// Without an address an interface does not open: the socket CM provider would connect over another
// network. A device opens with that, and says so.
func TestOpenByDeviceWithoutAddress(t *testing.T) {
	if !udattest.InTestbed(t) {
		return
	}
	udattest.Names(t)
	s := addSpare(t)
	r := child{task: childTask{Open: []string{s.netInterface, s.device}}}.run(t)
	wantProblem(t, r.Opened[0], device.ProblemNoAddress, s.netInterface, "ip address add", "scm:"+s.device+"/1")
	if full := "scm:" + s.device + "/1"; r.Opened[1].Provider != full || !strings.Contains(r.Log, "name="+s.device+" adapter="+full+` reason="no network interface`) {
		t.Errorf("%s is opened as %+v, want %s; the log: %s", s.device, r.Opened[1], full, r.Log)
	}
}

// Without /sys/class, as in some containers, the GIDs tell which interface is the device's.
func TestOpenByDeviceWithoutSys(t *testing.T) {
	if !udattest.InTestbed(t) {
		return
	}
	p := testPlace(t)
	task := childTask{Open: []string{p.device.Name, p.netInterface}, First: []string{"mount -t tmpfs none /sys/class"}}
	for _, o := range (child{task: task, mounts: true}).run(t).Opened {
		if o.Provider != p.byCMA() {
			t.Errorf("%s is opened as %+v", p.device.Name, o)
		}
	}
}

// Adapters open and close in any order, several at once and again, with both
// providers, and leave nothing behind.
func TestOpenByDeviceAgain(t *testing.T) {
	p := testPlace(t)
	names := append(p.names(), p.device.Name)
	files := 0
	for round := range 6 {
		var ias []*udat.IA
		for range 2 {
			for _, name := range names {
				ia, err := udat.Open(name)
				if err != nil {
					t.Fatal(err)
				}
				ias = append(ias, ia)
			}
		}
		if round%2 == 0 {
			for i, j := 0, len(ias)-1; i < j; i, j = i+1, j-1 {
				ias[i], ias[j] = ias[j], ias[i]
			}
		}
		for _, ia := range ias {
			want(t, ia.Close(udat.CloseGraceful))
			want(t, ia.Close(udat.CloseGraceful), udat.ErrClosed)
		}
		switch n := openFiles(t); {
		case round == 0: // the libraries and what they keep are there now
			files = n
		case n != files:
			t.Fatalf("after round %d there are %d open files, before it %d", round, n, files)
		}
	}
}

// Goroutines open, query and close adapters of all names at once.
func TestOpenByDeviceConcurrently(t *testing.T) {
	p := testPlace(t)
	names := slices.Concat(udattest.Names(t), p.names(), []string{p.device.Name, p.netInterface})
	var group sync.WaitGroup
	for _, name := range names {
		group.Add(1)
		go func() {
			defer group.Done()
			for range 5 {
				ia, err := udat.Open(name)
				if err != nil {
					t.Error(err)
					return
				}
				if _, attr, _ := ia.Query(); len(attr.ProviderSpecificAttr) == 0 {
					t.Errorf("%s has no named attributes", name)
				}
				want(t, ia.Close(udat.CloseGraceful))
				_, err = device.List()
				want(t, err)
			}
		}()
	}
	group.Wait()
}

// The registry comes before devices: a name of both is that of the entry.
func TestEntryHidesDevice(t *testing.T) {
	p := testPlace(t)
	config := `DEVICE u2.0 nonthreadsafe default ` + scm + ` dapl.2.0 "DEVICE 1" ""
cma:NET u2.0 nonthreadsafe default ` + scm + ` dapl.2.0 "DEVICE 1" ""
`
	replace := strings.NewReplacer("DEVICE", p.device.Name, "NET", p.netInterface)
	config = replace.Replace(config)
	names := []string{p.device.Name, "cma:" + p.netInterface, p.netInterface}
	opened := child{task: childTask{Open: names}, config: &config}.run(t).Opened
	for i, o := range opened[:2] {
		if p.bySCM() == "" { // the entry opens an adapter that would not connect
			wantProblem(t, o, device.ProblemWrongProvider)
		} else if o.Provider != names[i] || o.PrivateData != 68 {
			t.Errorf("%s is opened as %+v, want the entry for the socket provider", names[i], o)
		}
	}
	// The interface has the entry's name, which is for another provider.
	if o := opened[2]; o.Provider != "cma:"+p.netInterface {
		t.Errorf("%s is opened as %+v", p.netInterface, o)
	}
}

func TestRegisterProvider(t *testing.T) {
	p := testPlace(t)
	libraries := map[string]string{"my cma": cma, "my scm": scm}
	if p.bySCM() == "" {
		delete(libraries, "my scm")
	}
	for name, library := range libraries {
		instance := p.netInterface + " 0"
		if library == scm {
			instance = p.device.Name + " 1"
		}
		want(t, udat.RegisterProvider(name, library, instance))
		if !registered(t, name) {
			t.Errorf("%q is not listed", name)
		}
		want(t, udat.RegisterProvider(name, library, instance), udat.ErrProviderAlreadyRegistered)
		ia, err := udat.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		if full := providerName(t, ia); full != name {
			t.Errorf("%q is opened as %q", name, full)
		}
		again, err := udat.Open(name)
		want(t, err)
		want(t, again.Close(udat.CloseGraceful))
		want(t, udat.UnregisterProvider(name), udat.ErrProviderInUse)
		udattest.Pair(t, ia, nil) // it has suffered no harm
		want(t, ia.Close(udat.CloseAbrupt))
		want(t, udat.UnregisterProvider(name))
		want(t, udat.UnregisterProvider(name), udat.ErrProviderNotFound)
		if registered(t, name) {
			t.Errorf("%q is still listed", name)
		}
		_, err = udat.Open(name)
		want(t, err, udat.ErrProviderNotFound, device.ProblemNoEntry)

		want(t, udat.RegisterProvider(name, library, instance))
		ia, err = udat.Open(name)
		want(t, err)
		want(t, ia.Close(udat.CloseGraceful))
		want(t, udat.UnregisterProvider(name))
	}
}

// A name that was opened by its device is free again once its adapters are closed.
func TestRegisterOpenedName(t *testing.T) {
	p := testPlace(t)
	name := p.byCMA()
	instance := p.netInterface + " 0"
	ia, err := udat.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	want(t, udat.RegisterProvider(name, cma, instance), udat.ErrProviderAlreadyRegistered)
	want(t, ia.Close(udat.CloseGraceful))
	want(t, udat.RegisterProvider(name, cma, instance))
	want(t, udat.UnregisterProvider(name))
}

// A provider's threads may run on for a moment after its last adapter is closed.
func TestLibraryStaysLoaded(t *testing.T) {
	result := child{task: childTask{Open: udattest.Names(t), Loaded: true}}.run(t)
	for _, o := range result.Opened {
		if o.Text != "" {
			t.Errorf("an adapter does not open: %s", o.Text)
		}
	}
	if want := []string{cma, scm}[:len(udattest.Names(t))]; !slices.Equal(result.Loaded, want) {
		t.Errorf("after the last close %v are loaded, want %v", result.Loaded, want)
	}
}

func registered(t *testing.T, name string) bool {
	t.Helper()
	infos, err := udat.Providers()
	want(t, err)
	for _, info := range infos {
		if info.IAName == name {
			return true
		}
	}
	return false
}

func TestRegisterProviderRefuses(t *testing.T) {
	p := testPlace(t)
	for _, c := range []struct {
		name, library, instance string
		errors                  []error
	}{
		{"", cma, "eth0 0", []error{udat.ErrInvalidParameter, udat.InvalidArg1}},
		{strings.Repeat("n", 256), cma, "eth0 0", []error{udat.ErrInvalidParameter, udat.InvalidArg1}},
		{"a\x00b", cma, "eth0 0", []error{udat.ErrInvalidParameter, udat.InvalidArg1}},
		{"n", "", "eth0 0", []error{udat.ErrInvalidParameter, udat.InvalidArg2}},
		{"n", "a\x00b", "eth0 0", []error{udat.ErrInvalidParameter, udat.InvalidArg2}},
		{"n", cma, "", []error{udat.ErrInvalidParameter, udat.InvalidArg3}},
		{"n", cma, "eth0", []error{udat.ErrInvalidParameter, udat.InvalidArg3}},
		{"n", cma, "eth0 ", []error{udat.ErrInvalidParameter, udat.InvalidArg3}},
		{"n", cma, " 0", []error{udat.ErrInvalidParameter, udat.InvalidArg3}},
		{"n", cma, "eth0 0\x00", []error{udat.ErrInvalidParameter, udat.InvalidArg3}},
		{"n", "libdaplnone.so.2", "eth0 0", []error{udat.ErrProviderNotFound, device.ProblemNoLibrary}},
		{"n", "libc.so.6", "eth0 0", []error{udat.ErrProviderNotFound, device.ProblemNoLibrary}},
		{udattest.Names(t)[0], cma, p.netInterface + " 0", []error{udat.ErrProviderAlreadyRegistered}},
	} {
		err := udat.RegisterProvider(c.name, c.library, c.instance)
		want(t, err, c.errors...)
		if registered(t, "n") {
			t.Fatalf("after %v it is registered", err)
		}
	}
	for _, name := range []string{"", "n", udattest.Names(t)[0]} {
		want(t, udat.UnregisterProvider(name), udat.ErrProviderNotFound)
	}
}

// Adapters that do not open leave nothing behind.
func TestOpenFailsAgain(t *testing.T) {
	p := testPlace(t)
	const name = "no such port"
	want(t, udat.RegisterProvider(name, scm, p.device.Name+" 99"))
	files := openFiles(t)
	for range 3 {
		for _, c := range []struct {
			name   string
			errors []error
		}{
			{name, []error{udat.ErrInvalidParameter, udat.InvalidArg1, device.ProblemNoPort}},
			{"scm:" + p.device.Name + "/99", []error{udat.ErrInvalidParameter, udat.InvalidArg1, device.ProblemNoPort}},
			{"scm:none/1", []error{udat.ErrInternalError, device.ProblemNoDevice}},
			{"cma:none", []error{udat.ErrInvalidAddress, device.ProblemWrongInterface}},
		} {
			_, err := udat.Open(c.name)
			want(t, err, c.errors...)
		}
	}
	if n := openFiles(t); n > files+5 { // what the two libraries have for themselves, once
		t.Errorf("adapters that did not open leave %d files open", n-files)
	}
	want(t, udat.UnregisterProvider(name))
}

func TestOpenRefusesNames(t *testing.T) {
	udattest.Names(t)
	for _, name := range []string{
		"", "a\x00b", strings.Repeat("n", 256), "cma:", "cma:a b", "cma:a/1", "scm:", "scm:/1", "scm:a b", "scm:a/", "scm:a/0", "scm:a/-1",
		"scm:a/256", "scm:a/x", "scm:a/1/2",
	} {
		_, err := udat.Open(name)
		want(t, err, udat.ErrInvalidParameter, udat.InvalidArg1)
		var e *udat.Error
		if errors.As(err, &e) && e.Detail == "" {
			t.Errorf("the name %q is refused without a reason", name)
		}
	}
	for _, name := range []string{"none", "ucm:rxe0/1", "cma"} {
		_, err := udat.Open(name)
		want(t, err, udat.ErrProviderNotFound, device.ProblemNoEntry)
	}
}

// Connections use the GID of the adapter's address, or with socket CM the one that a variable
// names. The link-local one at index 0 cannot be used here.
func TestGID(t *testing.T) {
	if !udattest.InTestbed(t) {
		return
	}
	udattest.Names(t)
	s := addSpare(t)
	command(t, "ip link set "+s.netInterface+" up")
	command(t, "ip address add 10.79.0.1/24 dev "+s.netInterface)
	command(t, "ip -6 address flush dev "+s.netInterface)
	hasAddress := func(g device.GID) bool { return g.Addr.Unmap().String() == "10.79.0.1" }
	for deadline := time.Now().Add(udattest.Patience); !slices.ContainsFunc(findDevice(t, s.device).Ports[0].GIDs, hasAddress); {
		if time.Now().After(deadline) { // the kernel makes a GID of the address a moment later
			t.Fatalf("%s has no GID of its address", s.device)
		}
	}
	t.Setenv("DAPL_SCM_NETDEV", s.netInterface)
	gidOf := func(ia *udat.IA) netip.Addr {
		_, provider, err := ia.Query()
		want(t, err)
		return netip.MustParseAddr(provider.ProviderSpecificAttr["DAT_IB_GID"]).Unmap()
	}
	for _, name := range []string{"cma:" + s.netInterface, "scm:" + s.device} {
		ia := udattest.Open(t, name)
		if got := gidOf(ia); got.String() != "10.79.0.1" {
			t.Errorf("%s has the GID %v", name, got)
		}
		udattest.Pair(t, ia, nil)
		want(t, ia.Close(udat.CloseAbrupt))
	}

	t.Setenv("DAPL_SCM_GID_INDEX", "0")
	ia, err := udat.Open("scm:" + s.device)
	want(t, err)
	if got := gidOf(ia); !got.IsLinkLocalUnicast() {
		t.Errorf("the GID at index 0 is %v", got)
	}
	want(t, ia.Close(udat.CloseGraceful))
	for _, none := range []string{"200", "256", "-1", "4294967296", "eth0", "0 1", ""} {
		t.Setenv("DAPL_SCM_GID_INDEX", none)
		_, err = udat.Open("scm:" + s.device)
		want(t, err, udat.ErrInvalidAddress, device.ProblemNoGID)
		if err != nil && !strings.Contains(err.Error(), "DAPL_SCM_GID_INDEX names "+strconv.Quote(none)) {
			t.Errorf("the error is %v", err)
		}
	}
}
