//go:build linux

package device_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/goudat/goudat/cgo"
	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/device"
	"github.com/goudat/goudat/udat/mem"
	"github.com/goudat/goudat/udat/udattest"
)

// The library reads its registry and its environment when the program starts, so
// that tests of those start this test program once more, as a child that opens
// adapters, reports the outcome of each, and ends.

// childVariable has what the child is to do: a childTask in JSON.
const childVariable = "UDAT_TEST_CHILD"

type childTask struct {
	Add      []string // names to register with RegisterProvider for the socket provider and the device of AddFor
	AddFor   string   // instance data
	Open     []string // adapters by name
	Register []int    // sizes of memory to register on each, in bytes
	Cache    int      // size of memory to register through a cache, again and again
	MaxLock  uint64   // limit on locked memory in bytes, 0 to leave it
	MaxFiles uint64   // limit on open files, 0 to leave it
	Threads  []int    // open Open[i] with room for Threads[i] more threads, -1 for any
	List     bool     // the registry
	Loaded   bool     // tell which provider libraries are in memory after that
	// Make names kinds of objects to make on each adapter of Open until that fails, most of
	// them a hundred. Each kind has an outcome of its own.
	Make []string
	// First are commands to run before anything is opened, and Then those to run before
	// anything is made.
	First, Then []string
	Group       string // limit of a control group to enter first, as in rdma.max
	Drop        bool   // become another user before anything is made
	MoreSpace   uint64 // bytes of address space to be left when something is made, 0 for no limit
	Again       bool   // open each adapter a second time after all that
	Problems    bool   // list those of all devices
	// Native names adapters to open with a library that is refused: each use of the library
	// has an outcome. Load is a library to load before, and Provider the library of a provider
	// to register instead of listing the registry.
	Native         []string
	Load, Provider string
}

// childResult is what the child says.
type childResult struct {
	Opened    []childOutcome
	Providers []string
	Problems  []string
	Stack     udat.NativeStack
	Loaded    []string
	Log       string
}

// childOutcome is the outcome of one adapter: an error or what Query returns.
type childOutcome struct {
	Return       udat.Return
	Problem      device.Problem
	NoPermission bool // the error matches fs.ErrPermission
	Text         string
	Provider     string
	PrivateData  int
}

// A child does its task before TestMain, which knows nothing of it.
func init() {
	text := os.Getenv(childVariable)
	if text == "" {
		return
	}
	var task childTask
	err := json.Unmarshal([]byte(text), &task)
	if err == nil {
		err = task.run()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func (task childTask) run() error {
	for resource, limit := range map[int]uint64{8 /* RLIMIT_MEMLOCK */ : task.MaxLock, syscall.RLIMIT_NOFILE: task.MaxFiles} {
		if limit > 0 {
			if err := syscall.Setrlimit(resource, &syscall.Rlimit{Cur: limit, Max: limit}); err != nil {
				return err
			}
		}
	}
	if task.Group != "" {
		if err := enterGroup(task.Group); err != nil {
			return err
		}
	}
	if err := runAll(task.First); err != nil {
		return err
	}
	var result childResult
	var log strings.Builder
	udat.SetLogHandler(slog.NewTextHandler(&log, nil))
	if task.Native != nil {
		var err error
		if result.Opened, result.Stack, err = task.useNative(); err != nil {
			return err
		}
	}
	for _, name := range task.Add {
		if err := udat.RegisterProvider(name, scm, task.AddFor); err != nil {
			return err
		}
	}
	for i, name := range task.Open {
		if task.Threads != nil {
			if err := limitThreads(task.Threads[i]); err != nil {
				return err
			}
		}
		if len(task.Make) > 0 {
			result.Opened = append(result.Opened, task.make(name)...)
			continue
		}
		result.Opened = append(result.Opened, task.open(name))
	}
	if task.Loaded {
		maps, err := os.ReadFile("/proc/self/maps")
		if err != nil {
			return err
		}
		for _, library := range []string{cma, scm} {
			if strings.Contains(string(maps), "/"+library) {
				result.Loaded = append(result.Loaded, library)
			}
		}
	}
	if task.Problems {
		devices, err := device.List()
		if err != nil {
			return err
		}
		for _, d := range devices {
			for _, err := range d.Problems() {
				result.Problems = append(result.Problems, err.Error())
			}
		}
	}
	if task.List {
		infos, err := udat.Providers()
		if err != nil {
			return err
		}
		for _, info := range infos {
			result.Providers = append(result.Providers, info.IAName)
		}
	}
	udat.SetLogHandler(nil)
	result.Log = log.String()
	return json.NewEncoder(os.Stdout).Encode(result)
}

// useNative returns an outcome of each use of the native library.
func (task childTask) useNative() (outcomes []childOutcome, stack udat.NativeStack, err error) {
	if task.Load != "" {
		if library, message := cgo.DLOpen(task.Load); library == 0 {
			return nil, stack, errors.New(message)
		}
	}
	add := func(err error) {
		var o childOutcome
		o.failed(err)
		outcomes = append(outcomes, o)
	}
	for _, name := range task.Native {
		_, err := udat.Open(name)
		add(err)
	}
	if task.Provider != "" {
		add(udat.RegisterProvider("mine", task.Provider, "lo 0"))
		return outcomes, stack, nil
	}
	add(udat.RegisterProvider("mine", cma, "lo 0"))
	_, err = udat.Providers()
	add(err)
	stack, err = udat.NativeLibrary()
	add(err)
	return outcomes, stack, nil
}

// limitThreads leaves room for that many threads of the native library, or for any number if it is
// negative. Go needs none after that: it has idle ones.
func limitThreads(more int) error {
	const rlimitNPROC = 6 // which package syscall lacks
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(rlimitNPROC, &limit); err != nil {
		return err
	}
	limit.Cur = limit.Max
	if more >= 0 {
		if err := haveIdleThreads(); err != nil {
			return err
		}
		threads, err := os.ReadDir("/proc/self/task")
		if err != nil {
			return err
		}
		limit.Cur = uint64(len(threads) + more)
	}
	return syscall.Setrlimit(rlimitNPROC, &limit)
}

// haveIdleThreads has Go make threads, which it keeps.
func haveIdleThreads() error {
	const enough = 16
	var pipe [2]int
	if err := syscall.Pipe(pipe[:]); err != nil {
		return err
	}
	var group sync.WaitGroup
	for range enough {
		group.Add(1)
		go func() {
			defer group.Done()
			var b [1]byte
			_, _ = syscall.Read(pipe[0], b[:]) // blocks its thread
		}()
	}
	for {
		threads, err := os.ReadDir("/proc/self/task")
		if err != nil {
			return err
		}
		if len(threads) > enough {
			break
		}
		runtime.Gosched()
	}
	err := syscall.Close(pipe[1])
	group.Wait()
	return errors.Join(err, syscall.Close(pipe[0]))
}

func (task childTask) open(name string) (outcome childOutcome) {
	err := func() error {
		ia, err := udat.Open(name)
		if err != nil {
			return err
		}
		defer ia.Close(udat.CloseAbrupt)
		_, attr, err := ia.Query()
		if err != nil {
			return err
		}
		outcome.Provider, outcome.PrivateData = attr.ProviderName, attr.MaxPrivateDataSize
		pz, err := udat.CreatePZ(ia)
		for _, size := range task.Register {
			if err == nil {
				_, err = udat.AllocMemory(pz, size, udat.MemPrivLocalRead)
			}
		}
		if err == nil && task.Cache > 0 {
			err = fillCache(pz, task.Cache)
		}
		return err
	}()
	outcome.failed(err)
	return outcome
}

func (o *childOutcome) failed(err error) {
	if err == nil {
		return
	}
	o.Text = err.Error()
	o.NoPermission = errors.Is(err, fs.ErrPermission)
	var e *udat.Error
	if errors.As(err, &e) {
		o.Return = e.Return
	}
	errors.As(err, &o.Problem)
}

// command makes the command that starts the child.
func (task childTask) command(t *testing.T) *exec.Cmd {
	t.Helper()
	text, err := json.Marshal(task)
	if err != nil {
		t.Fatal(err)
	}
	// Another user may not be allowed into the folder of the program.
	cmd := exec.Command("/proc/self/exe")
	cmd.Dir = "/"
	cmd.Env = append(os.Environ(), childVariable+"="+string(text), "DAT_DBG_TYPE=0", "DAPL_DBG_TYPE=0",
		// It opens what its task has, and nothing else. Leaks are looked for in the
		// parent: with few files, or none left, that cannot be done.
		"UDAT_TEST_IA=", "ASAN_OPTIONS=detect_leaks=0:"+os.Getenv("ASAN_OPTIONS"))
	return cmd
}

// child is how a child is started.
type child struct {
	task   childTask
	config *string // content of its dat.conf, nil for that of this process
	env    []string
	nobody bool // without any privilege but to read files
	netns  bool // in a network namespace of its own, and one of mounts
	mounts bool // in a namespace of mounts of its own
}

func (c child) run(t *testing.T) childResult {
	t.Helper()
	cmd := c.task.command(t)
	if c.config != nil {
		cmd.Env = append(cmd.Env, "DAT_OVERRIDE="+writeConfigFile(t, *c.config))
	}
	cmd.Env = append(cmd.Env, c.env...)
	if c.nobody {
		const (
			nobody      = 65534
			readAnyFile = 2 // CAP_DAC_READ_SEARCH: libraries may lie in a folder that only their owner may enter
		)
		cmd.SysProcAttr = &syscall.SysProcAttr{
			Credential:  &syscall.Credential{Uid: nobody, Gid: nobody},
			AmbientCaps: []uintptr{readAnyFile},
		}
	}
	if c.netns {
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET | syscall.CLONE_NEWNS}
	}
	if c.mounts {
		cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	stdout, err := cmd.Output()
	if err != nil {
		t.Fatalf("the child: %v\n%s%s", err, stdout, stderr.Bytes())
	}
	var result childResult
	if err := json.Unmarshal(stdout, &result); err != nil {
		t.Fatalf("the child says %q: %v", stdout, err)
	}
	return result
}

// writeConfigFile writes a file that any user may read.
func writeConfigFile(t *testing.T, content string) string {
	t.Helper()
	folder, err := os.MkdirTemp("", "dat.conf-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(folder) })
	file := filepath.Join(folder, "dat.conf")
	want(t, os.Chmod(folder, 0o755))
	want(t, os.WriteFile(file, []byte(content), 0o644))
	return file
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

// spare is a device beside that of the tests, on an interface that is down and
// has no address.
type spare struct{ device, netInterface string }

// addSpare makes a device, which the end of the test removes.
func addSpare(t *testing.T) spare {
	t.Helper()
	s := spare{"rxetest", "dummytest"}
	command(t, "ip link add "+s.netInterface+" type dummy")
	t.Cleanup(func() { command(t, "ip link delete "+s.netInterface) })
	command(t, "rdma link add "+s.device+" type rxe netdev "+s.netInterface)
	t.Cleanup(func() { command(t, "rdma link delete "+s.device) })
	want(t, os.Chmod(findDevice(t, s.device).Node, 0o666))
	return s
}

// When there is no room for a registration, the cache gives up what is idle.
func TestRegistrationCacheMakesRoom(t *testing.T) {
	if !udattest.InTestbed(t) {
		return
	}
	task := childTask{Open: udattest.Names(t), Cache: 1 << 20, MaxLock: 4 << 20}
	for _, o := range (child{task: task, nobody: true}).run(t).Opened {
		if o.Text != "" {
			t.Error(o.Text)
		}
	}
}

// fillCache registers memory again and again, with a limit on locked memory that has room for some
// of it.
func fillCache(pz *udat.PZ, size int) error {
	cache, err := mem.CreateRegistrationCache(pz, mem.RegistrationCacheLimits{})
	if err != nil {
		return err
	}
	for range 20 {
		r, err := cache.Register(make([]byte, size), udat.MemPrivAll)
		if err != nil {
			return err
		}
		if err := r.Release(); err != nil {
			return err
		}
	}
	if s := cache.Stats(); s.Evictions == 0 || s.Misses != 20 {
		return fmt.Errorf("without room the counters are %+v", s)
	}
	var registrations []*mem.Registration
	for {
		r, err := cache.Register(make([]byte, size), udat.MemPrivAll)
		if errors.Is(err, udat.ErrInsufficientResources) {
			break
		}
		if err != nil {
			return err
		}
		registrations = append(registrations, r)
	}
	if len(registrations) == 0 {
		return errors.New("there is no room for any memory")
	}
	var errs []error
	for _, r := range registrations {
		errs = append(errs, r.Release())
	}
	return errors.Join(append(errs, cache.Free())...)
}

// countFiles returns how many files the process has open.
func countFiles() (int, error) {
	files, err := os.ReadDir("/proc/self/fd")
	return len(files), err
}

// openFiles is countFiles for a test.
func openFiles(t *testing.T) int {
	t.Helper()
	n, err := countFiles()
	want(t, err)
	return n
}
