package main

import (
	"cmp"
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

// program is the program to run in the machine.
type program struct {
	job     wire.Job
	name    string // as the caller named it, with the rank of the machine if there are several
	timeout time.Duration
	shell   bool
}

// addresses are the addresses of the machines, by rank.
func addresses(machines int, ipv6 bool) (list []string) {
	format := "10.77.0.%d"
	if ipv6 {
		format = "fd00:77::%d"
	}
	for rank := range machines {
		list = append(list, fmt.Sprintf(format, rank+1))
	}
	return list
}

// on returns the program for one of several machines.
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

// unusableProgram is the error of a program that does not start, with a shell's exit code for it.
type unusableProgram struct {
	name   string
	reason string
	code   int
}

func (e *unusableProgram) Error() string { return fmt.Sprintf("%s: %s", e.name, e.reason) }

// deviceEnvironment tells programs where the device is; the guest sets up the device to match. It also silences the
// native library, whose messages would mix with the program's output.
func deviceEnvironment(device control.DeviceKind, ipv6 bool) []string {
	return []string{
		"DAT_OVERRIDE=/run/goudat/dat.conf",
		"UDAT_TEST_IA=" + strings.Join(device.Adapters(), ","),
		"UDAT_TEST_ADDR=" + addresses(1, ipv6)[0],
		"DAT_DBG_TYPE=0",
		"DAPL_DBG_TYPE=0",
	}
}

// newProgram finds the program that the options name: in the folder root, if not "", and then on the host.
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
	p := program{
		job: wire.Job{
			Path:   path,
			Args:   command,
			Env:    environment(os.Environ(), o.device, o.ipv6),
			Dir:    dir,
			Umask:  umask(),
			Nofile: openFilesLimit(),
			Shares: shares(path, o.shares, os.Getenv("GOCOVERDIR")),

			Addresses: addresses(o.machines, o.ipv6),
			System:    o.arch.foreign,
			Device:    o.device,
		},
		name:    command[0],
		timeout: o.timeout,
		shell:   o.shell,
	}
	return p, nil
}

// findProgram looks up a program as a shell does, in the folder root first, if not "". It returns the absolute path
// without the root.
func findProgram(name, path, root string) (string, error) {
	if name == "" {
		return "", &unusableProgram{`""`, "not found", exitNotFound}
	}
	candidates := []string{name}
	if !strings.Contains(name, "/") {
		candidates = nil
		for _, dir := range filepath.SplitList(path) {
			candidates = append(candidates, filepath.Join(cmp.Or(dir, "."), name))
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

// environment adds the test bed's variables to the caller's environment.
func environment(caller []string, device control.DeviceKind, ipv6 bool) []string {
	env := slices.Clone(caller)
	if device != control.NoDevice {
		for _, entry := range deviceEnvironment(device, ipv6) {
			name, _, _ := strings.Cut(entry, "=")
			if !slices.ContainsFunc(caller, func(e string) bool { return strings.HasPrefix(e, name+"=") }) {
				env = append(env, entry)
			}
		}
	}
	// With two entries of the same name, it would be open which one counts.
	env = slices.DeleteFunc(env, func(e string) bool {
		return strings.HasPrefix(e, "UDAT_TESTBED=") || strings.HasPrefix(e, control.KindVariable+"=")
	})
	env = append(env, "UDAT_TESTBED=1")
	if device != control.NoDevice {
		env = append(env, control.KindVariable+"="+string(device))
	}
	return env
}

// goWorkFolder matches the part of a path in the go command's work folder that belongs to one package. A test writes
// its coverage and its log of opened files there.
var goWorkFolder = regexp.MustCompile(`^(.*/go-build[0-9]+/b[0-9]+)/`)

// shares lists the folders that the program may write to, outer folders before inner ones.
func shares(path string, given []string, coverage string) []wire.Share {
	folders := slices.Clone(given)
	if match := goWorkFolder.FindStringSubmatch(path); match != nil {
		folders = append(folders, match[1])
	}
	if coverage != "" {
		// If a folder does not exist, or is a file, the program complains.
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

// openFilesLimit is this process's limit, or at least what a program with many connections needs.
func openFilesLimit() uint64 {
	const least = 65536
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return least
	}
	// The kernel refuses more: the machine's limit is the default of fs.nr_open.
	const most = 1 << 20
	return min(max(limit.Cur, least), most)
}
