//go:build linux

package device_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/device"
	"github.com/goudat/goudat/udat/udattest"
)

// wantProblem fails the test unless the adapter did not open for the reason, and
// the error says each of the words.
func wantProblem(t *testing.T, o childOutcome, problem device.Problem, words ...string) {
	t.Helper()
	if o.Problem != problem || o.Text == "" || o.NoPermission != (problem == device.ProblemNoPermission) {
		t.Errorf("it is %+v, want the problem: %v", o, problem)
	}
	if strings.Contains(o.Text, "\n") {
		t.Errorf("the explanation has more than one line: %q", o.Text)
	}
	for _, word := range words {
		if !strings.Contains(o.Text, word) {
			t.Errorf("the explanation %q does not speak of %q", o.Text, word)
		}
	}
}

// wantRefusal is wantProblem for an error of that type.
func wantRefusal(t *testing.T, o childOutcome, r udat.ReturnType, problem device.Problem, words ...string) {
	t.Helper()
	if wantProblem(t, o, problem, words...); o.Return.Type() != r {
		t.Errorf("the code is %v, want %v", o.Return, r)
	}
}

// Each way in which an entry of dat.conf can be wrong has its explanation.
func TestExplainEntries(t *testing.T) {
	p := testPlace(t)
	for _, c := range []struct {
		line    string // the entry "x"
		r       udat.ReturnType
		problem device.Problem
		words   []string
	}{
		{`y u2.0 nonthreadsafe default ` + cma + ` dapl.2.0 "NET 0" ""`, udat.ErrProviderNotFound, device.ProblemNoEntry, []string{"dat.conf", "y", p.device.Name}},
		{`x u2.0 nonthreadsafe default libdaplnone.so.2 dapl.2.0 "NET 0" ""`, udat.ErrProviderNotFound, device.ProblemNoLibrary, []string{"libdaplnone.so.2", "No such file"}},
		{`x u2.0 nonthreadsafe default libc.so.6 dapl.2.0 "NET 0" ""`, udat.ErrProviderNotFound, device.ProblemNoLibrary, []string{"libc.so.6", "provider"}},
		{`x u2.0 threadsafe default ` + cma + ` dapl.2.0 "NET 0" ""`, udat.ErrProviderNotFound, device.ProblemBadEntry, []string{"nonthreadsafe"}},
		{`x u1.2 nonthreadsafe default ` + cma + ` dapl.2.0 "NET 0" ""`, udat.ErrProviderNotFound, device.ProblemBadEntry, []string{"u2.0"}},
		{`x u2.0 nonthreadsafe default ` + cma + ` dapl.2.0 "NET" ""`, udat.ErrProviderNotFound, device.ProblemBadEntry, []string{"NET", "port"}},
		{`x u2.0 nonthreadsafe nondefault ` + cma + ` dapl.2.0 "NET 0" ""`, udat.ErrProviderNotFound, device.ProblemNoEntry, []string{"no valid entry"}},
		{"# a comment\n\n" + `x u2.0 nonthreadsafe default ` + cma + ` "NET 0" ""`, udat.ErrProviderNotFound, device.ProblemNoEntry, []string{"line 3", "eight fields", "x u2.0"}},
		{`x u2.0 nonthreadsafe default ` + cma + ` dapl.2.0 "none7 0" ""`, udat.ErrInvalidAddress, device.ProblemWrongInterface, []string{"none7", "NET", "dat.conf"}},
		{`x u2.0 nonthreadsafe default ` + cma + ` dapl.2.0 "192.0.2.1 0" ""`, udat.ErrInvalidAddress, device.ProblemWrongInterface, []string{"192.0.2.1", "NET"}},
		{`x u2.0 nonthreadsafe default ` + cma + ` dapl.2.0 "lo 0" ""`, udat.ErrInvalidAddress, device.ProblemWrongInterface, []string{"lo", "NET of DEVICE"}},
		{`x u2.0 nonthreadsafe default ` + scm + ` dapl.2.0 "none7 1" ""`, udat.ErrInternalError, device.ProblemNoDevice, []string{"none7", "DEVICE"}},
		{`x u2.0 nonthreadsafe default ` + scm + ` dapl.2.0 "NET 1" ""`, udat.ErrInternalError, device.ProblemNoDevice, []string{"DEVICE 1"}},
		{`x u2.0 nonthreadsafe default ` + scm + ` dapl.2.0 "DEVICE 77" ""`, udat.ErrInternalError, device.ProblemNoPort, []string{"77"}},
		{`x u2.0 nonthreadsafe default libdaploucm.so.2 dapl.2.0 "none7 1" ""`, udat.ErrProviderNotFound, device.ProblemNoDevice, []string{"none7", "DEVICE"}},
		// The first whose library loads is the one that the library takes.
		{`x u2.0 nonthreadsafe default libdaplnone.so.2 dapl.2.0 "NET 0" ""
x u2.0 nonthreadsafe default ` + scm + ` dapl.2.0 "DEVICE 77" ""`, udat.ErrInternalError, device.ProblemNoPort, nil},
	} {
		replace := strings.NewReplacer("NET", p.netInterface, "DEVICE", p.device.Name)
		config := replace.Replace(c.line) + "\n"
		o := child{task: childTask{Open: []string{"x"}}, config: &config}.run(t).Opened[0]
		for i := range c.words {
			c.words[i] = replace.Replace(c.words[i])
		}
		wantProblem(t, o, c.problem, c.words...)
		if o.Return.Type() != c.r {
			t.Errorf("%s: the code is %v, want %v", config, o.Return, c.r)
		}
	}
}

func TestExplainMissingFile(t *testing.T) {
	udattest.Names(t)
	const file = "/nonexistent/dat.conf"
	for _, o := range (child{task: childTask{Open: []string{"x"}}, env: []string{"DAT_OVERRIDE=" + file}}).run(t).Opened {
		wantProblem(t, o, device.ProblemNoEntry, file, "no such file")
	}
}

// The socket provider's address comes from an interface that the environment
// names. An open without one leaves nothing to the next attempt.
func TestExplainSocketAddress(t *testing.T) {
	p := testPlace(t)
	name := "scm:" + p.device.Name
	task := childTask{Add: []string{"mine"}, AddFor: p.device.Name + " 1", Open: []string{name, name, "mine", "mine"}}
	for _, o := range (child{task: task, env: []string{"DAPL_SCM_NETDEV=none7"}}).run(t).Opened {
		wantProblem(t, o, device.ProblemNoAddress, "DAPL_SCM_NETDEV", "none7")
	}
}

func TestExplainNoAddress(t *testing.T) {
	if !udattest.InTestbed(t) {
		return
	}
	udattest.Names(t)
	s := addSpare(t)
	o := child{task: childTask{Open: []string{"cma:" + s.netInterface}}}.run(t).Opened[0]
	wantProblem(t, o, device.ProblemNoAddress, s.netInterface, "ip address add")
}

// An IPv6 address is of no use while the kernel is looking for a duplicate.
func TestExplainUnsettledAddress(t *testing.T) {
	if !udattest.InTestbed(t) {
		return
	}
	udattest.Names(t)
	p := testPlace(t)
	settings := "/proc/sys/net/ipv6/conf/" + p.netInterface
	for setting, value := range map[string]string{"accept_dad": "1", "dad_transmits": "60"} {
		file := filepath.Join(settings, setting)
		before, err := os.ReadFile(file)
		want(t, err)
		t.Cleanup(func() { want(t, os.WriteFile(file, before, 0)) })
		want(t, os.WriteFile(file, []byte(value), 0))
	}
	const address = "fd00:79::5"
	command(t, "ip address add "+address+"/64 dev "+p.netInterface)
	t.Cleanup(func() { command(t, "ip address delete "+address+"/64 dev "+p.netInterface) })
	o := child{task: childTask{Open: []string{"cma:" + address}}}.run(t).Opened[0]
	wantProblem(t, o, device.ProblemNoAddress, address, "looking for", p.netInterface)
}

// An address that no adapter can have, or that more than one interface has, is named.
func TestExplainAddresses(t *testing.T) {
	if !udattest.InTestbed(t) {
		return
	}
	udattest.Names(t)
	p, s := testPlace(t), addSpare(t)
	const local = "fe80::abc:5"
	for _, name := range []string{p.netInterface, s.netInterface} {
		command(t, "ip address add "+local+"/64 dev "+name+" nodad")
	}
	t.Cleanup(func() { command(t, "ip address delete "+local+"/64 dev "+p.netInterface) })
	for name, says := range map[string]string{
		"::1":                          "no adapter has the address ::1",
		"fd00:79::5%" + p.netInterface: "only a link-local address",
		local + "%nowhere":             "none with that address",
	} {
		o := child{task: childTask{Open: []string{"cma:" + name}}}.run(t).Opened[0]
		wantProblem(t, o, device.ProblemWrongInterface, says)
	}
	// The library takes the first interface that has the address, which may be one without a
	// device.
	command(t, "ip address add "+local+"/64 dev lo nodad")
	t.Cleanup(func() { command(t, "ip address delete "+local+"/64 dev lo") })
	if o := (child{task: childTask{Open: []string{"cma:" + local}}}).run(t).Opened[0]; o.Provider == "" {
		wantProblem(t, o, device.ProblemWrongInterface, "name its zone", local+"%")
	}
	name := "scm:" + p.device.Name
	for named, says := range map[string]string{"::1": "no adapter has the address", "": "no address of this machine"} {
		o := child{task: childTask{Open: []string{name}}, env: []string{"DAPL_SCM_NETDEV=" + named}}.run(t).Opened[0]
		if o.Problem != device.ProblemWrongInterface && o.Problem != device.ProblemNoAddress || !strings.Contains(o.Text, says) {
			t.Errorf("with DAPL_SCM_NETDEV=%q %s says %+v", named, name, o)
		}
	}
}

// The address of an adapter has gone although another interface has it.
func TestAddressGoneFromInterface(t *testing.T) {
	if !udattest.InTestbed(t) {
		return
	}
	udattest.Names(t)
	p, s := testPlace(t), addSpare(t)
	const local = "fe80::abc:6"
	for _, name := range []string{p.netInterface, s.netInterface} {
		command(t, "ip address add "+local+"/64 dev "+name+" nodad")
	}
	ia := udattest.Open(t, "cma:"+local+"%"+p.netInterface)
	command(t, "ip address delete "+local+"/64 dev "+p.netInterface)
	evd, err := udat.CreateEVD(ia, 8, nil, udat.EVDCR)
	want(t, err)
	t.Cleanup(func() { want(t, evd.Free()) })
	_, err = udat.CreatePSP(ia, udattest.ConnQual(), evd)
	want(t, err, udat.ErrInvalidAddress, device.ProblemAddressGone)
}

// A user who may not use a device file learns which.
func TestExplainNoPermission(t *testing.T) {
	if !udattest.InTestbed(t) {
		return
	}
	p := testPlace(t)
	task := childTask{Open: slices.Concat(udattest.Names(t), p.names(), []string{p.device.Name})}
	for _, o := range (child{task: task, nobody: true}).run(t).Opened {
		if o.Text != "" {
			t.Fatalf("an ordinary user cannot open an adapter: %+v", o)
		}
	}
	forbid(t, p.device.Node)
	for _, o := range (child{task: task, nobody: true}).run(t).Opened {
		wantProblem(t, o, device.ProblemNoPermission, p.device.Node)
	}
}

func TestExplainNoPermissionForCMA(t *testing.T) {
	if !udattest.InTestbed(t) {
		return
	}
	p := testPlace(t)
	const node = "/dev/infiniband/rdma_cm"
	forbid(t, node)
	task := childTask{Open: p.names()}
	opened := child{task: task, nobody: true}.run(t).Opened
	wantProblem(t, opened[0], device.ProblemNoPermission, node)
	for _, o := range opened[1:] {
		if o.Text != "" {
			t.Errorf("the socket provider needs no %s, and gives %+v", node, o)
		}
	}
}

// forbid takes a device file from all but root, until the test ends.
func forbid(t *testing.T, node string) {
	t.Helper()
	want(t, os.Chmod(node, 0o600))
	t.Cleanup(func() { want(t, os.Chmod(node, 0o666)) })
}

func TestExplainNoNode(t *testing.T) {
	if !udattest.InTestbed(t) {
		return
	}
	p := testPlace(t)
	const node = "/dev/infiniband/rdma_cm"
	moveAway(t, node, node+".away")
	o := child{task: childTask{Open: []string{"cma:" + p.netInterface}}}.run(t).Opened[0]
	wantProblem(t, o, device.ProblemNoNode, node, "rdma_ucm")
}

// libibverbs leaves out a device without its file, as in a container that was not given that.
func TestExplainNoNodeOfDevice(t *testing.T) {
	if !udattest.InTestbed(t) {
		return
	}
	p := testPlace(t)
	task := childTask{Open: append(p.names(), p.device.Name)}
	moveAway(t, p.device.Node, p.device.Node+".away")
	for _, o := range (child{task: task}).run(t).Opened {
		wantProblem(t, o, device.ProblemNoNode, p.device.Node, "container")
	}
	if d := findDevice(t, p.device.Name); d.Node != p.device.Node || !errors.Is(d.Err, device.ProblemNoNode) {
		t.Errorf("the device is %+v", d)
	}
}

func moveAway(t *testing.T, from, to string) {
	t.Helper()
	want(t, os.Rename(from, to))
	t.Cleanup(func() { want(t, os.Rename(to, from)) })
}

// A device for which libibverbs has no driver is not one that is missing.
func TestExplainNoDriver(t *testing.T) {
	if !udattest.InTestbed(t) {
		return
	}
	p := testPlace(t)
	kind := strings.TrimRight(p.device.Name, "0123456789")
	driver := filepath.Join(driversFolder(t), kind+".driver")
	if _, err := os.Stat(driver); err != nil {
		t.Logf("not tested: this machine's libibverbs has its drivers elsewhere: %v", err)
		return
	}
	moveAway(t, driver, "/etc/"+kind+".driver") // every file in the folder counts
	task := childTask{Open: []string{"scm:" + p.device.Name, "cma:" + p.netInterface, p.device.Name}}
	for _, o := range (child{task: task}).run(t).Opened {
		wantProblem(t, o, device.ProblemNoDriver, p.device.Name, "ibverbs-providers")
	}
}

// driversFolder returns the folder in which the libibverbs of this process finds
// its drivers: that of the system, or one beside a library built from source.
func driversFolder(t *testing.T) string {
	t.Helper()
	maps, err := os.ReadFile("/proc/self/maps")
	want(t, err)
	for line := range strings.Lines(string(maps)) {
		if _, library, found := strings.Cut(strings.TrimSpace(line), " /"); found && strings.HasPrefix(filepath.Base(library), "libibverbs.so") {
			folder := filepath.Join("/", filepath.Dir(filepath.Dir(library)), "etc/libibverbs.d")
			if _, err := os.Stat(folder); err == nil {
				return folder
			}
		}
	}
	return "/etc/libibverbs.d"
}

// An adapter opens with a limit on locked memory that memory does not fit in.
func TestExplainMemlockLimit(t *testing.T) {
	if !udattest.InTestbed(t) {
		return
	}
	const limit = 64 << 10
	for _, c := range []struct {
		sizes []int
		fit   bool
	}{
		{[]int{limit / 2}, true},
		{[]int{limit + 1}, false},
		{[]int{1 << 20}, false},
		{[]int{limit / 2, limit/2 + 1}, false},
	} {
		task := childTask{Open: udattest.Names(t), Register: c.sizes, MaxLock: limit}
		for _, o := range (child{task: task, nobody: true}).run(t).Opened {
			if c.fit {
				if o.Text != "" {
					t.Errorf("%d bytes do not fit in %d: %+v", c.sizes, limit, o)
				}
				continue
			}
			wantProblem(t, o, device.ProblemMemlockLimit, "65536 bytes", fmt.Sprint(c.sizes[len(c.sizes)-1], " more were wanted"), "ulimit -l")
			if o.Return.Type() != udat.ErrInsufficientResources || o.Return.Subtype() != udat.ResourceMemoryRegion {
				t.Errorf("the code is %v", o.Return)
			}
		}
	}
}

// With too few files left an open fails, and says so.
func TestExplainFileLimit(t *testing.T) {
	names := udattest.Names(t)
	for limit := uint64(7); limit < 70; limit += 3 {
		for _, o := range (child{task: childTask{Open: names, MaxFiles: limit}}).run(t).Opened {
			if o.Text == "" {
				continue
			}
			if limit > 64 {
				t.Errorf("no adapter opens with a limit of %d files: %v", limit, o.Text)
			}
			wantRefusal(t, o, udat.ErrInsufficientResources, device.ProblemFileLimit, "ulimit -n", syscall.EMFILE.Error())
		}
	}
}

// The system's table can be full, too, for all but root.
func TestExplainSystemFileLimit(t *testing.T) {
	if !udattest.InTestbed(t) {
		return
	}
	p := testPlace(t)
	const setting = "/proc/sys/fs/file-max"
	before, err := os.ReadFile(setting)
	want(t, err)
	counts, err := os.ReadFile("/proc/sys/fs/file-nr") // those of all processes come first
	want(t, err)
	want(t, os.WriteFile(setting, []byte(strings.Fields(string(counts))[0]), 0o644))
	t.Cleanup(func() { want(t, os.WriteFile(setting, before, 0o644)) })
	for _, name := range p.names() {
		kinds := []string{"notification object"}
		if name == p.bySCM() {
			kinds = append(kinds, "service point", "chosen service point")
		}
		opened := child{task: childTask{Open: []string{name}, Drop: true, Make: kinds, Again: true}}.run(t).Opened
		for _, o := range opened {
			wantRefusal(t, o, udat.ErrInsufficientResources, device.ProblemFileLimit, "fs.file-max", syscall.ENFILE.Error())
		}
		if len(opened) != len(kinds)+1 {
			t.Errorf("the outcomes are %+v", opened)
		}
	}
}

// Without room for the provider's threads the error names the limits. Socket CM has two, and keeps
// the first.
func TestExplainThreadLimit(t *testing.T) {
	if !udattest.InTestbed(t) {
		return
	}
	for _, name := range udattest.Names(t) {
		rooms := []int{0}
		if strings.Contains(name, "scm") {
			rooms = []int{0, 1}
		}
		for _, room := range rooms {
			task := childTask{Open: []string{name, name, name}, Threads: []int{room, 0, -1}}
			opened := child{task: task, nobody: true}.run(t).Opened
			for _, o := range opened[:2] {
				wantRefusal(t, o, udat.ErrInsufficientResources, device.ProblemThreadLimit, "ulimit -u", "pids.max")
			}
			if last := opened[2]; last.Text != "" {
				t.Errorf("with room for all threads, %s does not open: %+v", name, last)
			}
		}
	}
}

func TestProblemMatches(t *testing.T) {
	want(t, device.ProblemNoPermission, fs.ErrPermission)
	if errors.Is(device.ProblemNoNode, fs.ErrPermission) || errors.Is(device.ProblemNoPermission, fs.ErrNotExist) {
		t.Error("a problem matches an error of another kind")
	}
}

// In another network namespace the device is there, and its interface is not, though one
// there may have its name.
func TestExplainNetworkNamespace(t *testing.T) {
	if !udattest.InTestbed(t) {
		return
	}
	p := testPlace(t)
	if len(p.port.GIDs) == 0 || p.port.GIDs[0].Interface == "" {
		t.Log("not tested: the GIDs of the device do not tell its interface")
		return
	}
	add := "ip link add " + p.netInterface + " type dummy"
	for _, commands := range [][]string{
		nil,
		{add},
		{add, "ip address add 10.77.0.99/24 dev " + p.netInterface, "ip link set " + p.netInterface + " up"},
	} {
		task := childTask{First: commands, Open: []string{udattest.Names(t)[0], p.byCMA()}, Problems: true}
		if len(commands) != 1 { // without an address, this is the socket CM provider on the device
			task.Open = append(task.Open, p.netInterface)
		}
		result := child{task: task, netns: true}.run(t)
		for _, o := range result.Opened {
			wantProblem(t, o, device.ProblemWrongInterface, "another network namespace", p.netInterface, p.device.Name)
		}
		if len(result.Problems) != 1 || !strings.Contains(result.Problems[0], "another network namespace") {
			t.Errorf("after %q the problems are %q", commands, result.Problems)
		}
	}
}

// The kernel can keep a device in the network namespace of its interface.
func TestExplainDeviceOfOtherNamespace(t *testing.T) {
	if !udattest.InTestbed(t) {
		return
	}
	p := testPlace(t)
	set := func(mode string) {
		// The kernel refuses it as long as it takes the children's namespaces down, and nothing
		// tells their end.
		await(t, "network namespaces still have devices of their own", func() bool {
			return exec.Command("rdma", "system", "set", "netns", mode).Run() == nil
		})
	}
	set("exclusive")
	t.Cleanup(func() { set("shared") })
	task := childTask{Open: p.names()}
	task.First = []string{"mount --make-rprivate /", "mount -t sysfs sysfs /sys"} // as in a container
	for _, o := range (child{task: task, netns: true}).run(t).Opened {
		wantProblem(t, o, device.ProblemNoDevice, "another network namespace")
	}
	// A /sys that was mounted in the namespace of the device still has it.
	task = childTask{Open: p.names()[1:]}
	for _, o := range (child{task: task, netns: true}).run(t).Opened {
		wantProblem(t, o, device.ProblemNoDriver, "another network namespace")
	}
}
