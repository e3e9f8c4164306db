//go:build linux && amd64

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/goudat/goudat/scripts/vm/control"
	"github.com/goudat/goudat/scripts/vm/wire"
)

// program is what to run in the machine.
type program struct {
	job     wire.Job
	name    string // as the caller gave it, with the rank of the machine if there are several
	timeout time.Duration
	shell   bool
}

// addresses are the machines', by rank.
func addresses(machines int) (list []string) {
	for rank := range machines {
		list = append(list, fmt.Sprintf("10.77.0.%d", rank+1))
	}
	return list
}

// on gives the program as it runs in one of several machines.
func (p program) on(rank int) program {
	p.name = fmt.Sprintf("%s in machine %d", p.name, rank)
	p.job.Rank = rank
	p.job.Env = slices.DeleteFunc(slices.Clone(p.job.Env), func(e string) bool { return strings.HasPrefix(e, "UDAT_TEST_ADDR=") })
	p.job.Env = append(p.job.Env,
		"UDAT_TEST_ADDR="+p.job.Addresses[rank],
		fmt.Sprintf("UDAT_TEST_RANK=%d", rank),
		"UDAT_TEST_PEERS="+strings.Join(p.job.Addresses, ","),
	)
	return p
}

// unusableProgram is a program that does not start, with the exit code that a shell would give.
type unusableProgram struct {
	name   string
	reason string
	code   int
}

func (e *unusableProgram) Error() string { return fmt.Sprintf("%s: %s", e.name, e.reason) }

// deviceEnvironment is how programs find the device; the guest sets the device up to match. The native library would
// mix its messages with the program's output.
func deviceEnvironment(device control.DeviceKind) []string {
	return []string{
		"DAT_OVERRIDE=/run/goudat/dat.conf",
		"UDAT_TEST_IA=" + strings.Join(device.Adapters(), ","),
		"UDAT_TEST_ADDR=10.77.0.1",
		"DAT_DBG_TYPE=0",
		"DAPL_DBG_TYPE=0",
	}
}

// newProgram finds the program that the options name: in the folder root, unless that is "", and then on the host.
func newProgram(o options, root string) (program, error) {
	dir, err := os.Getwd()
	if err != nil {
		return program{}, fmt.Errorf("find the working folder: %w", err)
	}
	command := o.command
	if o.shell {
		command = []string{"bash", "-i"}
		if _, err := findProgram("bash", os.Getenv("PATH"), root); err != nil {
			command = []string{"/bin/sh", "-i"}
		}
	}
	path, err := findProgram(command[0], os.Getenv("PATH"), root)
	if err != nil {
		return program{}, err
	}
	if err := checkRegistry(os.Getenv("DAT_OVERRIDE"), dir); err != nil {
		return program{}, err
	}
	p := program{
		job: wire.Job{
			Path:   path,
			Args:   command,
			Env:    environment(os.Environ(), o.device),
			Dir:    dir,
			Umask:  umask(),
			Nofile: openFilesLimit(),
			Shares: shares(path, o.shares, os.Getenv("GOCOVERDIR")),

			Addresses: addresses(o.machines),
			System:    o.arch.foreign,
			Device:    o.device,
		},
		name:    command[0],
		timeout: o.timeout,
		shell:   o.shell,
	}
	return p, nil
}

// checkRegistry looks at the file that the caller's DAT_OVERRIDE names, which the native library would not find until a machine
// has booted. Those of the test bed itself are made in the machine.
func checkRegistry(file, dir string) error {
	if file == "" || slices.Contains(wire.DatConf, file) {
		return nil
	}
	path := file
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	if _, err := os.ReadFile(path); err != nil {
		return fmt.Errorf("DAT_OVERRIDE names a file that cannot be read: %w", err)
	}
	return nil
}

// findProgram looks a program up as a shell does, each time in the folder root first unless that is "", and gives its absolute path
// without the root.
func findProgram(name, path, root string) (string, error) {
	if name == "" {
		return "", &unusableProgram{`""`, "not found", exitNotFound}
	}
	candidates := []string{name}
	if !strings.Contains(name, "/") {
		candidates = nil
		for _, dir := range filepath.SplitList(path) {
			candidates = append(candidates, filepath.Join(or(dir, "."), name))
		}
	}
	problem := &unusableProgram{name, "not found", exitNotFound}
	for _, candidate := range candidates {
		info, err := os.Stat(root + candidate)
		if root != "" && err != nil {
			info, err = os.Stat(candidate)
		}
		switch {
		case errors.Is(err, os.ErrPermission):
			problem = &unusableProgram{name, "permission denied", exitCannotExecute}
		case err != nil:
		case info.IsDir():
			problem = &unusableProgram{name, "is a folder", exitCannotExecute}
		case info.Mode()&0o111 == 0:
			problem = &unusableProgram{name, "is not executable", exitCannotExecute}
		default:
			return filepath.Abs(candidate)
		}
	}
	return "", problem
}

// environment adds what the test bed promises to what the caller has.
func environment(caller []string, device control.DeviceKind) []string {
	env := slices.Clone(caller)
	if device != control.NoDevice {
		for _, entry := range deviceEnvironment(device) {
			name, _, _ := strings.Cut(entry, "=")
			if !slices.ContainsFunc(caller, func(e string) bool { return strings.HasPrefix(e, name+"=") }) {
				env = append(env, entry)
			}
		}
	}
	// A second entry of the same name would leave open which one counts.
	env = slices.DeleteFunc(env, func(e string) bool {
		return strings.HasPrefix(e, "UDAT_TESTBED=") || strings.HasPrefix(e, control.KindVariable+"=")
	})
	env = append(env, "UDAT_TESTBED=1")
	if device != control.NoDevice {
		env = append(env, control.KindVariable+"="+string(device))
	}
	return env
}

// goWorkFolder is the part of a path in the go command's work folder that belongs to one package. A test writes its
// coverage and its log of opened files there.
var goWorkFolder = regexp.MustCompile(`^(.*/go-build[0-9]+/b[0-9]+)/`)

// shares lists the folders that the program may write to, outer ones before those that they contain.
func shares(path string, given []string, coverage string) []wire.Share {
	folders := slices.Clone(given)
	if match := goWorkFolder.FindStringSubmatch(path); match != nil {
		folders = append(folders, match[1])
	}
	if coverage != "" {
		// A folder that does not exist, or is not one, is for the program to complain about.
		if absolute, err := shareFolder(coverage); err == nil {
			folders = append(folders, absolute)
		}
	}
	slices.Sort(folders)
	var shares []wire.Share
	for i, folder := range slices.Compact(folders) {
		shares = append(shares, wire.Share{Tag: fmt.Sprintf("share%d", i), Path: folder})
	}
	return shares
}

func umask() int {
	mask := syscall.Umask(0)
	syscall.Umask(mask)
	return mask
}

// openFilesLimit is this process's, or what a program that opens many connections needs.
func openFilesLimit() uint64 {
	const least = 65536
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return least
	}
	// Above this the kernel refuses; the machine's own limit is fs.nr_open's default.
	const most = 1 << 20
	return min(max(limit.Cur, least), most)
}
