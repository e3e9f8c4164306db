package machine

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/goudat/goudat/cgo"
	"github.com/goudat/goudat/udat/internal/problem"
)

// NoRoom looks for the reason why the device or the kernel has no room for an object.
func NoRoom() error {
	return cmp.Or(Credentials(NodesFolder), groupProblem(), MemlockProblem(), fmt.Errorf(
		"%w: ask for shorter queues and fewer segments, or free objects, also in other processes (rdma resource show); "+
			"a limit on memory may be too low (ulimit -v, memory.max of the control group, vm.max_map_count)", problem.NoRoom))
}

// GroupLimit is the problem behind an EAGAIN of the kernel.
func GroupLimit() error {
	return cmp.Or(groupProblem(), fmt.Errorf("%w: a control group of this process (see /proc/self/cgroup) has reached its rdma.max: raise that, "+
		"or free objects, also in other processes of the group", problem.GroupLimit))
}

// groupProblem reports a control group of the process that has as many objects of an RDMA
// device as it may have. The library's codes mostly do not tell.
func groupProblem() error {
	own, _ := os.ReadFile("/proc/self/cgroup")
	for line := range strings.Lines(string(own)) {
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3) // number, controllers, group
		if len(fields) < 3 || fields[1] != "" && fields[1] != "rdma" {
			continue
		}
		top := filepath.Join("/sys/fs/cgroup", fields[1])
		for folder := filepath.Join(top, fields[2]); strings.HasPrefix(folder, top+"/"); folder = filepath.Dir(folder) {
			most := groupCounts(filepath.Join(folder, "rdma.max"))
			for what, n := range groupCounts(filepath.Join(folder, "rdma.current")) {
				if limit, limited := most[what]; limited && n >= limit {
					return fmt.Errorf("%w: the processes of the group have %s=%d: raise that in %s/rdma.max, or free objects", problem.GroupLimit, what, n, folder)
				}
			}
		}
	}
	return nil
}

// groupCounts reads lines like "mlx5_0 hca_handle=2 hca_object=max", without what has no limit.
func groupCounts(file string) map[string]int {
	counts := make(map[string]int)
	text, _ := os.ReadFile(file)
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		for _, field := range fields[min(1, len(fields)):] {
			name, value, _ := strings.Cut(field, "=")
			if n, err := strconv.Atoi(value); err == nil {
				counts[fields[0]+" "+name] = n
			}
		}
	}
	return counts
}

// ThreadProblem reports that the provider could begin no thread. It has two threads for the first
// adapter of its own, one for each other, and one for time-outs.
func ThreadProblem() error {
	if errno := cgo.TryThread(); errno != 0 {
		return fmt.Errorf("%w: the provider needs some of its own: %w: raise the limit on the user's processes (ulimit -u) or that of the container or service (pids.max of the cgroup, TasksMax=)",
			problem.ThreadLimit, errno)
	}
	return nil
}

// MemlockProblem holds a low limit on locked memory for the reason of a failure for which there is
// no better one: the drivers of many devices lock what they share with them.
func MemlockProblem() error {
	const little = 1 << 20
	if limit := lockableMemory(); limit < little || lockedMemory() > limit-little {
		return lockedTooLittle(limit, "")
	}
	return nil
}

// lockedTooLittle has what was wanted in wanted, "" if that is not known.
func lockedTooLittle(limit uint64, wanted string) error {
	return fmt.Errorf("%w: this process may lock %d bytes and has locked %d%s: raise the limit (ulimit -l, memlock in /etc/security/limits.conf, LimitMEMLOCK= of a service)",
		problem.MemlockLimit, limit, lockedMemory(), wanted)
}

// lockedMemory returns the bytes that are registered with devices.
func lockedMemory() uint64 {
	kilobytes, _ := strconv.ParseUint(strings.TrimSuffix(processStatus("VmPin"), " kB"), 10, 64)
	return kilobytes << 10
}
