package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/device"
	"github.com/goudat/goudat/udat/udattest"
)

// childVariable makes the processes that the tests start behave as udatinfo. If it is a number, that is their limit on
// locked memory.
const childVariable = "UDATINFO_TEST_CHILD"

func TestMain(m *testing.M) {
	if text := os.Getenv(childVariable); text != "" {
		if limit, err := strconv.ParseUint(text, 10, 64); err == nil {
			if err := syscall.Setrlimit(8 /* RLIMIT_MEMLOCK */, &syscall.Rlimit{Cur: limit, Max: limit}); err != nil {
				panic(err)
			}
		}
		main()
		return
	}
	udattest.Patience = 2 * time.Minute // for a process that opens all adapters on a busy machine
	udattest.Main(m)
}

// process is how udatinfo is started.
type process struct {
	args      []string
	config    *string // content of its dat.conf; nil: that of this process
	libraries string  // a folder in which the loader looks first
	memlock   string  // limit on locked memory
	nobody    bool    // without any privilege except to read files
}

type result struct {
	stdout, stderr string
	code           int
}

// findings are the lines of the findings.
func (r result) findings() (list []string) {
	for line := range strings.Lines(r.stdout) {
		if text, ok := strings.CutPrefix(line, "finding: "); ok {
			list = append(list, strings.TrimSpace(text))
		}
	}
	return list
}

func (p process) run(t *testing.T) result {
	t.Helper()
	cmd := exec.CommandContext(udattest.Context(t), "/proc/self/exe", p.args...)
	cmd.Dir = "/"
	if p.memlock == "" {
		p.memlock = "unchanged"
	}
	// Else libdat2 complains of a missing dat.conf, on standard output, before the program starts.
	cmd.Env = append(os.Environ(), childVariable+"="+p.memlock, "DAT_DBG_TYPE=0")
	if p.libraries != "" {
		cmd.Env = append(cmd.Env, "LD_LIBRARY_PATH="+p.libraries)
	}
	if p.config != nil {
		cmd.Env = append(cmd.Env, "DAT_OVERRIDE="+configFile(t, *p.config))
	}
	if p.nobody {
		const (
			nobody      = 65534
			readAnyFile = 2 // CAP_DAC_READ_SEARCH: libraries may lie in a folder that only their owner may enter
		)
		cmd.SysProcAttr = &syscall.SysProcAttr{
			Credential:  &syscall.Credential{Uid: nobody, Gid: nobody},
			AmbientCaps: []uintptr{readAnyFile},
		}
	}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) || cmd.ProcessState.ExitCode() < 0 {
		t.Fatalf("udatinfo %v: %v\n%s%s", p.args, err, stdout.String(), stderr.String())
	}
	return result{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()}
}

// configFile writes a file that any user may read.
func configFile(t *testing.T, content string) string {
	t.Helper()
	folder, err := os.MkdirTemp("", "dat.conf-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(folder) })
	file := filepath.Join(folder, "dat.conf")
	if err := errors.Join(os.Chmod(folder, 0o755), os.WriteFile(file, []byte(content), 0o644)); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestEverything(t *testing.T) {
	names := udattest.Names(t)
	text := process{}.run(t)
	if text.code != 0 {
		t.Fatalf("exit code %d\n%s%s", text.code, text.stdout, text.stderr)
	}
	for _, word := range append(names, "MaxPrivateDataSize", "DAT_IB_NODE_GUID", "locked memory", "open files", "ACTIVE", "self-test passed", "completions: DAT_DTO_SUCCESS ") {
		if !strings.Contains(text.stdout, word) {
			t.Errorf("it does not print %q:\n%s", word, text.stdout)
		}
	}

	out := process{args: []string{"-json"}}.run(t)
	var r report
	if err := json.Unmarshal([]byte(out.stdout), &r); err != nil || out.code != 0 {
		t.Fatalf("exit code %d, %v\n%s%s", out.code, err, out.stdout, out.stderr)
	}
	for _, name := range names {
		i := slices.IndexFunc(r.Adapters, func(a adapter) bool { return a.Name == name })
		if i < 0 || !r.Adapters[i].Opens || !r.Adapters[i].Entry {
			t.Fatalf("%s is not among the adapters %+v", name, r.Adapters)
		}
		a := r.Adapters[i]
		if a.IA["MaxEVDQLen"].(float64) < 1 || a.Provider["ProviderName"] != name {
			t.Errorf("%s has the attributes %v %v", name, a.IA, a.Provider)
		}
		if a.SelfTest != passed || a.Stats["posts"] != 4.0 || a.Stats["completions: DAT_DTO_SUCCESS"] != 4.0 || a.Stats["connects"] != 1.0 {
			t.Errorf("the self-test of %s: %s, with the counters %+v", name, a.SelfTest, a.Stats)
		}
		of := slices.IndexFunc(r.Devices, func(d rdmaDevice) bool { return d.Name == a.IA["AdapterName"] && len(d.Ports) > 0 })
		if of < 0 {
			t.Fatalf("the device of %s is not among %+v", name, r.Devices)
		}
		iwarp := r.Devices[of].Transport == device.TransportIWARP.String()
		if has := a.IA["ExtensionSupported"] == true; has == iwarp {
			t.Errorf("%s has the extension %v", name, a.IA["ExtensionSupported"])
		}
		for _, op := range []udat.DTO{udat.DTOIBRDMAWriteImmed, udat.DTOIBFetchAdd, udat.DTOIBCmpSwap} {
			// An adapter of InfiniBand or RoCE may lack them, too.
			if has, said := a.Operations[op.String()]; has && iwarp || !said {
				t.Errorf("%s has the operations %v, on a device of %s", name, a.Operations, r.Devices[of].Transport)
			}
		}
	}
	if !slices.ContainsFunc(r.Adapters, func(a adapter) bool { return a.Opens && !a.Entry }) {
		t.Errorf("no adapter opens by its device: %+v", r.Adapters)
	}
}

// The providers write messages to standard output; they must not get into the JSON.
func TestMessages(t *testing.T) {
	udattest.Names(t)
	t.Setenv("DAPL_DBG_TYPE", "0xffff")
	out := process{args: []string{"-json"}}.run(t)
	if !json.Valid([]byte(out.stdout)) {
		t.Errorf("it prints %s", out.stdout)
	}
}

// The adapters open with the dat.conf that -config prints.
func TestConfig(t *testing.T) {
	udattest.Names(t)
	out := process{args: []string{"-config"}}.run(t)
	if out.code != 0 {
		t.Fatalf("exit code %d\n%s", out.code, out.stderr)
	}
	again := process{config: &out.stdout, args: []string{"-json"}}.run(t)
	var r report
	if err := json.Unmarshal([]byte(again.stdout), &r); err != nil {
		t.Fatal(err)
	}
	opened := map[string]bool{}
	for _, a := range r.Adapters {
		if a.Entry && a.Opens {
			opened[a.Provider["ProviderName"].(string)[:len("ofa-v2-cma")]] = true
		}
	}
	iwarp := slices.ContainsFunc(r.Devices, func(d rdmaDevice) bool { return d.Transport == device.TransportIWARP.String() })
	if !opened["ofa-v2-cma"] || opened["ofa-v2-scm"] == iwarp {
		t.Errorf("with the file\n%sthe adapters are %+v", out.stdout, r.Adapters)
	}
}

// A report has the limits of the device in words of a shape, and the rest in comments.
func TestReport(t *testing.T) {
	udattest.Names(t)
	out := process{args: []string{"-report"}}.run(t)
	if out.code != 0 {
		t.Fatalf("exit code %d\n%s", out.code, out.stderr)
	}
	values := map[string]string{}
	for line := range strings.Lines(out.stdout) {
		line, _, _ = strings.Cut(line, "#")
		for word := range strings.FieldsSeq(line) {
			key, value, found := strings.Cut(word, "=")
			if !found || value == "" {
				t.Errorf("the report has the word %q", word)
			}
			values[key] = value
		}
	}
	for _, key := range []string{"max_qp_wr", "max_srq_wr", "active_mtu", "gid_tbl_len", "cq_round", "qp_round", "max_inline", "srq_error", "mw_error", "cq_resize_error"} {
		if values[key] == "" {
			t.Errorf("the report does not have %s:\n%s", key, out.stdout)
		}
	}
	if !strings.Contains(out.stdout, "\n# LIBRARY ") {
		t.Errorf("the report does not have the rest:\n%s", out.stdout)
	}
}

func TestArguments(t *testing.T) {
	for _, args := range [][]string{{"-none"}, {"-register", "-1"}, {"-config", "-json"}, {"-config", "rxe0"}, {"-report", "-json"}} {
		if out := (process{args: args}).run(t); out.code != 2 || !strings.Contains(out.stderr, "Usage:") || out.stdout != "" {
			t.Errorf("with %v: exit code %d\n%s%s", args, out.code, out.stdout, out.stderr)
		}
	}
	if out := (process{args: []string{"-h"}}).run(t); out.code != 0 || !strings.HasPrefix(out.stdout, "Usage:") || out.stderr != "" {
		t.Errorf("with -h: exit code %d\n%s%s", out.code, out.stdout, out.stderr)
	}
}

// wantFinding fails the test unless there is exactly one finding with the words.
func wantFinding(t *testing.T, out result, code int, words ...string) {
	t.Helper()
	found := 0
	for _, line := range out.findings() {
		if !slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(line, word) }) {
			found++
		}
	}
	if found != 1 || out.code != code {
		t.Errorf("exit code %d, want %d; findings, one of which should have %q:\n%s\n%s", out.code, code, words, strings.Join(out.findings(), "\n"), out.stderr)
	}
}

// Unusable entries are findings. The exit code is still 0, since the devices open without them.
func TestFindingsOfEntries(t *testing.T) {
	udattest.Names(t)
	for config, words := range map[string][]string{
		"# none\n": {device.ProblemNoEntry.Error(), "-config"},
		"x u2.0 nonthreadsafe default libdaplnone.so.2 dapl.2.0 \"eth0 0\" \"\"\n":   {device.ProblemNoLibrary.Error(), "libdaplnone.so.2"},
		"x u2.0 nonthreadsafe default libdaplofa.so.2 dapl.2.0 \"none7 0\" \"\"\n":   {device.ProblemWrongInterface.Error(), "none7"},
		"x u2.0 nonthreadsafe default libdaploscm.so.2 dapl.2.0 \"none_7 1\" \"\"\n": {device.ProblemNoDevice.Error(), "none_7"},
	} {
		wantFinding(t, process{config: &config}.run(t), 0, words...)
		wantFinding(t, process{config: &config, args: []string{"x"}}.run(t), 1, words[0])
	}
}

// Many entries for other machines make one finding.
func TestFindingsAreFew(t *testing.T) {
	udattest.Names(t)
	var config strings.Builder
	for i := range 30 {
		config.WriteString("x" + strconv.Itoa(i) + " u2.0 nonthreadsafe default libdaploscm.so.2 dapl.2.0 \"none" + strconv.Itoa(i) + " 1\" \"\"\n")
	}
	text := config.String()
	out := process{config: &text}.run(t)
	wantFinding(t, out, 0, device.ProblemNoDevice.Error(), "30 entries")
	if n := len(out.findings()); n != 2 {
		t.Errorf("there are %d findings: %q", n, out.findings())
	}
}

// No problem of an entry is left out, whichever it is.
func TestFindingsOfAllProblems(t *testing.T) {
	for problem := device.ProblemUnknown; problem <= device.ProblemWrongLibrary; problem++ {
		var f findings
		f.addAdapters([]adapter{{Name: "x", Entry: true, err: problem}}, false)
		if want := []finding{{problem.Error(), problem.Error()}}; !slices.Equal(f.list, want) {
			t.Errorf("the findings are %q, want %q", f.list, want)
		}
	}
}

func command(t *testing.T, line string) {
	t.Helper()
	fields := strings.Fields(line)
	if _, err := exec.LookPath(fields[0]); err != nil {
		t.Fatalf("the test needs the command %s (the package iproute2 has ip and rdma): %v", fields[0], err)
	}
	if out, err := exec.Command(fields[0], fields[1:]...).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", line, err, out)
	}
}

// withoutConnections is the exit code where the RDMA connection manager cannot be used. The socket provider does not
// need it, but cannot use iWARP.
func withoutConnections() int {
	if testbedDevice() == "siw" {
		return 1
	}
	return 0
}

// With a native library that the binding refuses, the devices are there all the same.
func TestFindingWrongLibrary(t *testing.T) {
	udattest.Names(t)
	stack, err := udat.NativeLibrary()
	if err != nil {
		t.Fatal(err)
	}
	library, err := os.ReadFile(stack.Path)
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	other := bytes.ReplaceAll(library, []byte("\x00dat_revision\x00"), []byte("\x00dat_nothing_\x00"))
	if err := os.WriteFile(filepath.Join(folder, "libdat2.so.2"), other, 0o644); err != nil {
		t.Fatal(err)
	}
	out := process{libraries: folder}.run(t)
	wantFinding(t, out, 1, device.ProblemWrongLibrary.Error(), folder, "scripts/native")
	if n := len(out.findings()); n != 1 {
		t.Errorf("there are %d findings: %q", n, out.findings())
	}
	devices, err := device.List()
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range devices {
		if !strings.Contains(out.stdout, d.NodeGUID.String()) {
			t.Errorf("%s is not listed:\n%s", d.Name, out.stdout)
		}
	}
}

func TestFindingNoPermission(t *testing.T) {
	if !udattest.InTestbed(t) {
		return
	}
	for _, node := range []string{"/dev/infiniband/uverbs0", "/dev/infiniband/rdma_cm"} {
		if err := os.Chmod(node, 0o600); err != nil {
			t.Fatal(err)
		}
		out := process{nobody: true}.run(t)
		if err := os.Chmod(node, 0o666); err != nil {
			t.Fatal(err)
		}
		code := 1
		if node == "/dev/infiniband/rdma_cm" {
			code = withoutConnections()
		}
		wantFinding(t, out, code, device.ProblemNoPermission.Error(), node)
		if n := len(out.findings()); n > 2 { // with none of the entries opening
			t.Errorf("it is listed more than once: %q", out.findings())
		}
	}
	if out := (process{nobody: true}).run(t); out.code != 0 || len(out.findings()) > 0 {
		t.Errorf("with permission: exit code %d, findings %q", out.code, out.findings())
	}
}

func TestFindingMemlockLimit(t *testing.T) {
	if !udattest.InTestbed(t) {
		return
	}
	const limit = 256 << 10
	out := process{nobody: true, memlock: strconv.Itoa(limit)}.run(t)
	wantFinding(t, out, 0, device.ProblemMemlockLimit.Error(), strconv.Itoa(limit), "ulimit -l")
	if !strings.Contains(out.stdout, strconv.Itoa(limit)+" bytes") {
		t.Errorf("the limit is not shown:\n%s", out.stdout)
	}
	out = process{nobody: true, memlock: "0", args: []string{"-register", "0"}}.run(t)
	if !strings.Contains(out.stdout, "self-test failed") || !strings.Contains(out.stdout, "a message to itself does not arrive: ") {
		t.Errorf("without any memory: exit code %d\n%s", out.code, out.stdout)
	}
	out = process{nobody: true, memlock: strconv.Itoa(limit), args: []string{"-register", "4096"}}.run(t)
	if out.code != 0 || len(out.findings()) > 0 {
		t.Errorf("with little memory: exit code %d, findings %q", out.code, out.findings())
	}
}

func TestFindingPortDown(t *testing.T) {
	if !udattest.InTestbed(t) {
		return
	}
	command(t, "ip link add dummytest type dummy")
	t.Cleanup(func() { command(t, "ip link delete dummytest") })
	command(t, "ip address add 10.79.0.1/24 dev dummytest")
	command(t, "rdma link add rdmatest type "+testbedDevice()+" netdev dummytest")
	t.Cleanup(func() { command(t, "rdma link delete rdmatest") })
	wantFinding(t, process{}.run(t), 0, device.ProblemPortDown.Error(), "rdmatest", "ip link set dummytest up")
	command(t, "ip link set dummytest up")
	// The device gets its addresses a moment later.
	for deadline := time.Now().Add(udattest.Patience); ; {
		out := process{}.run(t)
		if out.code == 0 && len(out.findings()) == 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("with the port up: exit code %d, findings %q", out.code, out.findings())
		}
	}
}

// testbedDevice is the kind of the machine's device, as the rdma program names it.
func testbedDevice() string { return os.Getenv("UDAT_TESTBED_DEVICE") }

// Without a device nothing opens. This test runs last: the device that is made again is not ready at once.
func TestFindingNoDevice(t *testing.T) {
	if !udattest.InTestbed(t) {
		return
	}
	kind := testbedDevice()
	command(t, "rdma link delete "+kind+"0")
	out := process{}.run(t)
	config := process{args: []string{"-config"}}.run(t)
	command(t, "rdma link add "+kind+"0 type "+kind+" netdev dummy0")
	wantFinding(t, out, 1, "no RDMA device: this machine has none")
	if config.code != 1 || config.stdout != "" || config.stderr == "" {
		t.Errorf("-config: exit code %d\n%s%s", config.code, config.stdout, config.stderr)
	}
	for deadline := time.Now().Add(udattest.Patience); (process{}).run(t).code != 0; {
		if time.Now().After(deadline) {
			t.Fatal("the device that was made again does not open")
		}
	}
}
