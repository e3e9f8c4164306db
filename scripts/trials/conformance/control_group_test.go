//go:build linux

package conformance

import (
	"fmt"
	"os"
	"strings"
	"syscall"

	"github.com/goudat/goudat/udat/udattest"
)

// groups is the folder of the control groups with which the kernel limits a process's objects of an RDMA device.
const groups = "/sys/fs/cgroup"

// limitObjects limits the process to the objects of the device that it has: queue pairs, completion queues, memory
// regions. It returns false if that is not possible. The limit ends when lift is called, or the trial ends.
func (t *trial) limitObjects() (lift func(), ok bool) {
	t.Helper()
	attr, _, err := t.ia.Query()
	t.must(err)
	if !udattest.InTestbed(t) {
		return nil, false
	}
	if _, err := os.Stat(groups + "/cgroup.procs"); err != nil {
		if err := syscall.Mount("cgroup2", groups, "cgroup2", 0, ""); err != nil {
			return nil, false
		}
	}
	if os.WriteFile(groups+"/cgroup.subtree_control", []byte("+rdma"), 0o644) != nil {
		return nil, false
	}
	group := fmt.Sprintf("%s/conformance-%d", groups, os.Getpid())
	t.must(os.MkdirAll(group, 0o755))
	limit := func(most string) error {
		return os.WriteFile(group+"/rdma.max", []byte(attr.AdapterName+" hca_object="+most), 0o644)
	}
	t.must(limit("max"))
	t.must(os.WriteFile(group+"/cgroup.procs", []byte("0"), 0o644))
	t.Cleanup(func() {
		t.must(limit("max"))
		t.must(os.WriteFile(groups+"/cgroup.procs", []byte("0"), 0o644))
	})
	current, err := os.ReadFile(group + "/rdma.current")
	t.must(err)
	objects := 0
	if _, text, found := strings.Cut(string(current), "hca_object="); found {
		_, err := fmt.Sscan(text, &objects)
		t.must(err)
	}
	t.must(limit(fmt.Sprint(objects)))
	return func() { t.must(limit("max")) }, true
}
