package main

import (
	"errors"
	"fmt"
	"net/netip"
	"reflect"
	"syscall"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/device"
)

// report is all that udatinfo prints. Its JSON is the output of -json.
type report struct {
	Devices  []rdmaDevice `json:"devices"`
	Adapters []adapter    `json:"adapters"`
	Native   []native     `json:"native"`
	Limits   limits       `json:"limits"`
	Findings []finding    `json:"findings"`
}

// native is a native library that udatinfo uses.
type native struct {
	Name     string `json:"name"`
	Version  string `json:"version"`
	Revision int    `json:"revision,omitempty"` // of libdat2
	Path     string `json:"path"`
}

type rdmaDevice struct {
	Name      string `json:"name"`
	Transport string `json:"transport"`
	NodeGUID  string `json:"nodeGUID"`
	Firmware  string `json:"firmware"`
	Node      string `json:"node"`
	Error     string `json:"error,omitempty"`
	Ports     []port `json:"ports"`
}

type port struct {
	Number     int      `json:"number"`
	State      string   `json:"state"`
	PhysState  string   `json:"physState"`
	LinkLayer  string   `json:"linkLayer"`
	ActiveMTU  int      `json:"activeMTU"`
	MaxMTU     int      `json:"maxMTU"`
	LID        uint16   `json:"lid"`
	Interfaces []string `json:"interfaces"`
	GIDs       []gid    `json:"gids"`
}

type gid struct {
	Index     int        `json:"index"`
	Addr      netip.Addr `json:"gid"`
	Type      string     `json:"type"`
	Interface string     `json:"interface"`
}

// adapter is the result of an attempt to open an adapter.
type adapter struct {
	Name     string         `json:"name"`
	Entry    bool           `json:"entry"` // of the registry
	Opens    bool           `json:"opens"`
	Problem  string         `json:"problem,omitempty"`
	Error    string         `json:"error,omitempty"`
	IA       map[string]any `json:"ia,omitempty"`
	Provider map[string]any `json:"provider,omitempty"`
	Named    map[string]any `json:"named,omitempty"` // texts

	// SelfTest says why a message to the adapter itself does not arrive, or that it does.
	SelfTest string `json:"selfTest,omitempty"`

	// Stats has the counters after that: see counters.
	Stats map[string]any `json:"stats,omitempty"`

	// Operations says which operations of the InfiniBand extensions the device has.
	Operations map[string]bool `json:"operations,omitempty"`

	err error
}

// limits are the limits of this process; null: none.
type limits struct {
	LockedMemory *uint64 `json:"lockedMemory"` // bytes
	OpenFiles    *uint64 `json:"openFiles"`
}

func newReport(names []string, register int) (*report, error) {
	devices, err := device.List()
	if err != nil {
		return nil, err
	}
	var f findings
	entries, err := udat.Providers()
	if err != nil { // each adapter will say the same
		f.add(err)
	}
	r := &report{Devices: []rdmaDevice{}, Adapters: []adapter{}, Findings: []finding{}, Limits: currentLimits()}
	for _, d := range devices {
		r.Devices = append(r.Devices, newDevice(d))
	}
	isEntry := map[string]bool{}
	for _, e := range entries {
		isEntry[e.IAName] = true
	}
	everything := len(names) == 0
	if everything {
		names = adapterNames(entries, devices)
	}
	f.addDevices(devices)
	for _, name := range names {
		a := tryAdapter(name, register, &f)
		a.Entry = isEntry[name]
		r.Adapters = append(r.Adapters, a)
	}
	f.addAdapters(r.Adapters, everything && err == nil)
	stack, _ := udat.NativeLibrary() // its error is that of Providers
	r.Native = []native{
		{"libdat2", stack.Version, stack.Revision, stack.Path},
		{"libibverbs", stack.VerbsVersion, 0, stack.VerbsPath},
		{"librdmacm", stack.RDMACMVersion, 0, stack.RDMACMPath},
	}
	r.Findings = append(r.Findings, f.list...)
	return r, nil
}

// adapterNames returns the entries of the registry, and the names by which each device opens without an entry.
func adapterNames(entries []udat.ProviderInfo, devices []device.Device) (names []string) {
	seen := map[string]bool{}
	add := func(name string) {
		if !seen[name] {
			seen[name] = true
			names = append(names, name)
		}
	}
	for _, e := range entries {
		add(e.IAName)
	}
	for _, d := range devices {
		if d.Err != nil {
			add(d.Name)
			continue
		}
		for _, p := range d.Ports {
			for _, name := range p.Interfaces {
				add("cma:" + name)
			}
			if d.Transport != device.TransportIWARP {
				add(fmt.Sprintf("scm:%s/%d", d.Name, p.Number))
			}
		}
	}
	return names
}

// passed is the result of a self-test that has passed.
const passed = "passed"

// tryAdapter opens an adapter, registers memory on it, sends a message to itself, and closes it.
func tryAdapter(name string, register int, f *findings) adapter {
	ia, err := udat.Open(name)
	if err != nil {
		return failedAdapter(name, err)
	}
	defer ia.Close(udat.CloseAbrupt)
	ia.EnableStats()
	attr, provider, err := ia.Query()
	if err != nil {
		return failedAdapter(name, err)
	}
	a := adapter{Name: name, Opens: true, IA: fields(attr), Provider: fields(provider), Named: map[string]any{}}
	for _, attrs := range []map[string]string{attr.TransportAttr, attr.VendorAttr, provider.ProviderSpecificAttr} {
		for name, value := range attrs {
			a.Named[name] = value
		}
	}
	a.Operations = map[string]bool{}
	for _, op := range []udat.DTO{udat.DTOIBRDMAWriteImmed, udat.DTOIBFetchAdd, udat.DTOIBCmpSwap} {
		a.Operations[op.String()] = provider.Supports(op)
	}
	if register > 0 {
		if err := registerMemory(ia, register); err != nil {
			f.add(err)
		}
	}
	a.SelfTest = passed
	if err := selfTest(ia, attr.Address); err != nil {
		a.SelfTest = err.Error()
		f.addText(problemOf(err), fmt.Sprintf("%s opens, but a message to itself does not arrive: %v", name, err))
	}
	a.Stats = counters(ia.Stats())
	return a
}

func failedAdapter(name string, err error) adapter {
	return adapter{Name: name, err: err, Error: err.Error(), Problem: problemOf(err).Error()}
}

func registerMemory(ia *udat.IA, size int) error {
	pz, err := udat.CreatePZ(ia)
	if err != nil {
		return err
	}
	_, err = udat.AllocMemory(pz, size, udat.MemPrivLocalRead|udat.MemPrivLocalWrite)
	return err
}

func problemOf(err error) device.Problem {
	var p device.Problem
	errors.As(err, &p)
	return p
}

// fields converts a structure of attributes into values for JSON. Enumerations become their names. It skips named attributes,
// which are elsewhere.
func fields(attributes any) map[string]any {
	values := map[string]any{}
	for i, field := range reflect.VisibleFields(reflect.TypeOf(attributes)) {
		switch value := reflect.ValueOf(attributes).Field(i); {
		case field.Type.Kind() == reflect.Map:
		case field.Type.Implements(reflect.TypeFor[interface{ String() string }]()):
			values[field.Name] = value.Interface().(interface{ String() string }).String()
		default:
			values[field.Name] = value.Interface()
		}
	}
	return values
}

func newDevice(d device.Device) rdmaDevice {
	out := rdmaDevice{Name: d.Name, Transport: d.Transport.String(), NodeGUID: d.NodeGUID.String(), Firmware: d.Firmware, Node: d.Node, Ports: []port{}}
	if d.Err != nil {
		out.Error = d.Err.Error()
	}
	for _, p := range d.Ports {
		newPort := port{
			Number:     p.Number,
			State:      p.State.String(),
			PhysState:  p.PhysState.String(),
			LinkLayer:  p.LinkLayer.String(),
			ActiveMTU:  p.ActiveMTU,
			MaxMTU:     p.MaxMTU,
			LID:        p.LID,
			Interfaces: append([]string{}, p.Interfaces...),
			GIDs:       []gid{},
		}
		for _, g := range p.GIDs {
			newPort.GIDs = append(newPort.GIDs, gid{g.Index, g.Addr, g.Type.String(), g.Interface})
		}
		out.Ports = append(out.Ports, newPort)
	}
	return out
}

func currentLimits() limits {
	const rlimitMemlock = 8 // RLIMIT_MEMLOCK, which package syscall lacks
	return limits{LockedMemory: limit(rlimitMemlock), OpenFiles: limit(syscall.RLIMIT_NOFILE)}
}

func limit(resource int) *uint64 {
	const infinity = ^uint64(0)
	var l syscall.Rlimit
	if syscall.Getrlimit(resource, &l) != nil || l.Cur == infinity {
		return nil
	}
	return &l.Cur
}

func (r *report) anyOpens() bool {
	for _, a := range r.Adapters {
		if a.Opens {
			return true
		}
	}
	return false
}
