package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// host describes a host of the report. The hosts exchange it.
type host struct {
	Facts    []fact // in the order of the page
	Adapters []adapter
	Findings []string // the findings of udatinfo

	Device  string // RDMA device
	Port    int
	Address string // at which the other host reaches the device
	Hidden  hidden

	environment []string // of the programs
}

// fact is a row about a host.
type fact struct{ Name, Value string }

// adapter is one of the report's own entries in dat.conf. The names are the same on both hosts.
type adapter struct {
	Name      string // that programs open it by
	Provider  string // for people
	Opens     bool
	Problem   string
	Attribute map[string]string
}

// providers are the providers of the native stack.
var providers = []struct {
	name, title, library string
	byInterface          bool
	only                 string // the link layer that it needs
}{
	{"report-cma", "CMA", "libdaplofa.so.2", true, ""},
	{"report-scm", "socket CM", "libdaploscm.so.2", false, ""},
	{"report-ucm", "UCM", "libdaploucm.so.2", false, "IBV_LINK_LAYER_INFINIBAND"},
}

// information is the part of udatinfo's output that the report uses.
type information struct {
	Devices []struct {
		Name, Transport, Firmware, Error string
		Ports                            []struct {
			Number            int
			State, LinkLayer  string
			ActiveMTU, MaxMTU int
			Interfaces        []string
			GIDs              []struct{ Type string }
		}
	}
	Adapters []struct {
		Name, Problem, Error string
		Opens                bool
		IA, Provider         map[string]any
		Named                []struct{ Name, Value string }
	}
	Limits   struct{ LockedMemory, OpenFiles *uint64 }
	Findings []struct{ Text string }
}

// describe finds the device and its adapters, which it opens.
func describe(ctx context.Context, s settings, work string) (*host, error) {
	all, err := inform(ctx, s.tools, os.Environ())
	if err != nil {
		return nil, err
	}
	h := &host{Hidden: ownHidden()}
	var layer, netdev string
	if err := h.choose(all, s.device, &layer, &netdev); err != nil {
		return nil, err
	}
	config := filepath.Join(work, "dat.conf")
	var text strings.Builder
	var names []string
	for _, p := range providers {
		if p.only != "" && p.only != layer {
			continue
		}
		instance := fmt.Sprintf("%s %d", h.Device, h.Port)
		if p.byInterface {
			instance = netdev + " 0"
		}
		names = append(names, p.name)
		fmt.Fprintf(&text, "%s u2.0 nonthreadsafe default %s dapl.2.0 \"%s\" \"\"\n", p.name, p.library, instance)
	}
	if err := os.WriteFile(config, []byte(text.String()), 0o600); err != nil {
		return nil, err
	}
	h.environment = append(os.Environ(), "DAT_OVERRIDE="+config, "DAPL_SCM_NETDEV="+netdev, "DAT_DBG_TYPE=0", "DAPL_DBG_TYPE=0")
	opened, err := inform(ctx, s.tools, h.environment, names...)
	if err != nil {
		return nil, err
	}
	h.Adapters, h.Address = adapters(opened)
	for _, f := range opened.Findings {
		h.Findings = append(h.Findings, f.Text)
	}
	h.environment = append(h.environment, "UDAT_TEST_ADDR="+h.Address)
	h.Facts = append(machineFacts(s), h.deviceFacts(all, netdev)...)
	h.Facts = append(h.Facts, fact{"limits", fmt.Sprintf("locked memory %s, open files %s", limit(all.Limits.LockedMemory), limit(all.Limits.OpenFiles))})
	return h, nil
}

// inform runs udatinfo.
func inform(ctx context.Context, tools toolbox, environment []string, names ...string) (*information, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	cmd, err := tools.command(environment, "udatinfo", append([]string{"-json"}, names...)...)
	if err != nil {
		return nil, err
	}
	p, err := start(ctx, cmd)
	if err != nil {
		return nil, err
	}
	ended := p.wait(ctx)
	// libdat2 may print something before the output, and the program may say after it that no adapter opens.
	said := p.said()
	decoder := json.NewDecoder(strings.NewReader(said[max(strings.Index("\n"+said, "\n{"), 0):]))
	decoder.UseNumber() // some need all 64 bits
	var i information
	if err := decoder.Decode(&i); err != nil {
		return nil, fmt.Errorf("udatinfo: %w: %s", errors.Join(ended, err), said)
	}
	return &i, nil
}

// choose finds the device, and the port's kind of link and network interface.
func (h *host) choose(all *information, wanted string, layer, netdev *string) error {
	var problems []string
	device, port, _ := strings.Cut(wanted, "/")
	for _, d := range all.Devices {
		if device != "" && d.Name != device {
			continue
		}
		for _, p := range d.Ports {
			if port != "" && port != strconv.Itoa(p.Number) {
				continue
			}
			switch {
			case d.Error != "":
				problems = append(problems, d.Name+": "+d.Error)
			case p.State != "IBV_PORT_ACTIVE":
				problems = append(problems, fmt.Sprintf("port %d of %s is in the state %s", p.Number, d.Name, p.State))
			default:
				h.Device, h.Port, *layer = d.Name, p.Number, p.LinkLayer
				if len(p.Interfaces) > 0 {
					*netdev = p.Interfaces[0]
				}
				return nil
			}
		}
	}
	switch {
	case len(problems) > 0:
		return errors.New(strings.Join(problems, "; "))
	case wanted != "":
		return fmt.Errorf("there is no RDMA device %s", wanted)
	}
	return errors.New("there is no RDMA device: this machine has none, or its driver is not loaded")
}

// adapters takes the report's own entries from the output of udatinfo. The address is that of the first adapter that
// opens.
func adapters(info *information) (list []adapter, address string) {
	for _, p := range providers {
		for _, a := range info.Adapters {
			if a.Name != p.name {
				continue
			}
			new := adapter{Name: a.Name, Provider: p.title, Opens: a.Opens, Problem: a.Problem, Attribute: map[string]string{}}
			if a.Problem != "" {
				new.Problem = a.Problem + ": " + a.Error
			}
			for _, values := range []map[string]any{a.IA, a.Provider} {
				for name, value := range values {
					new.Attribute[name] = fmt.Sprint(value)
				}
			}
			for _, n := range a.Named {
				new.Attribute[n.Name] = n.Value
			}
			if address == "" && a.Opens {
				address = new.Attribute["Address"]
			}
			for name := range new.Attribute {
				if identifying.MatchString(name) {
					delete(new.Attribute, name)
				}
			}
			list = append(list, new)
		}
	}
	return list, address
}

// identifying matches the attributes that identify the host, or that the report itself names.
var identifying = regexp.MustCompile(`^(Address|ProviderName)$|GUID|GID|LID|ADDR`)

// opened are the adapters that open.
func (h *host) opened() (list []adapter) {
	for _, a := range h.Adapters {
		if a.Opens {
			list = append(list, a)
		}
	}
	return list
}

func machineFacts(s settings) []fact {
	processor := "unknown"
	virtual := "no"
	if text := read("/proc/cpuinfo"); text != "" {
		if m := regexp.MustCompile(`(?m)^(?:model name|Model|cpu model)\s*:\s*(.*)$`).FindStringSubmatch(text); m != nil {
			processor = m[1]
		}
		if regexp.MustCompile(`(?m)^flags.*\bhypervisor\b`).MatchString(text) || strings.Contains(text, "User Mode Linux") {
			virtual = "yes"
		}
	}
	memory := "unknown"
	if m := regexp.MustCompile(`MemTotal:\s*(\d+) kB`).FindStringSubmatch(read("/proc/meminfo")); m != nil {
		kilobytes, _ := strconv.Atoi(m[1])
		memory = fmt.Sprintf("%.1f GiB", float64(kilobytes)/(1<<20))
	}
	system := "unknown"
	if m := regexp.MustCompile(`(?m)^PRETTY_NAME="?([^"\n]*)`).FindStringSubmatch(read("/etc/os-release")); m != nil {
		system = m[1]
	}
	return []fact{
		{"goudat", s.version},
		{"system", system},
		{"kernel", "Linux " + read("/proc/sys/kernel/osrelease")},
		{"processor", fmt.Sprintf("%s, %d of them, %s", processor, runtime.NumCPU(), runtime.GOARCH)},
		{"virtual machine", virtual},
		{"memory", memory},
		{"Go", runtime.Version()},
		{"C compiler", s.compiler},
		{"native libraries", s.stack},
	}
}

// deviceFacts are about the device, its port and its network interface.
func (h *host) deviceFacts(all *information, netdev string) (facts []fact) {
	add := func(name, format string, values ...any) {
		facts = append(facts, fact{name, strings.Join(strings.Fields(fmt.Sprintf(format, values...)), " ")})
	}
	folder := "/sys/class/infiniband/" + h.Device
	driver := "none"
	if link, err := os.Readlink(folder + "/device/driver"); err == nil {
		driver = filepath.Base(link)
	}
	for _, d := range all.Devices {
		if d.Name != h.Device {
			continue
		}
		add("device", "%s, %s", d.Name, strings.TrimPrefix(d.Transport, "IBV_TRANSPORT_"))
		add("driver", "%s %s", driver, read("/sys/module/"+driver+"/version"))
		add("model", "%s %s %s %s", read(folder+"/hca_type"), read(folder+"/board_id"), read(folder+"/device/vendor"), read(folder+"/device/device"))
		add("firmware", "%s", d.Firmware)
		for _, p := range d.Ports {
			if p.Number != h.Port {
				continue
			}
			types := map[string]bool{}
			var names []string
			for _, g := range p.GIDs {
				if !types[g.Type] {
					types[g.Type] = true
					names = append(names, strings.TrimPrefix(g.Type, "IBV_GID_TYPE_"))
				}
			}
			add("port", "%d, %s, %s, MTU %d of %d, GIDs %s", p.Number, strings.TrimPrefix(p.LinkLayer, "IBV_LINK_LAYER_"),
				read(fmt.Sprintf("%s/ports/%d/rate", folder, p.Number)), p.ActiveMTU, p.MaxMTU, strings.Join(names, " "))
		}
		if len(all.Devices) > 1 {
			add("other devices", "%d", len(all.Devices)-1)
		}
	}
	if netdev != "" {
		add("network interface", "%s, MTU %s, %s Mbit/s", netdev, read("/sys/class/net/"+netdev+"/mtu"), read("/sys/class/net/"+netdev+"/speed"))
	}
	return facts
}

// read returns the text of a small file, without spaces around it, or nothing.
func read(file string) string {
	text, err := os.ReadFile(file)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}

func limit(value *uint64) string {
	if value == nil {
		return "unlimited"
	}
	return strconv.FormatUint(*value, 10)
}

// present reports whether the device is still there.
func (h *host) present() bool {
	_, err := os.Stat("/sys/class/infiniband/" + h.Device)
	return err == nil
}
