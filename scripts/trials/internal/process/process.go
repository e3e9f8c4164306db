//go:build linux

// Package process has what tests ask of the kernel about their own process.
package process

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"syscall"
)

// Holdings are the process's use of system resources. Memory is in kilobytes.
type Holdings struct{ Descriptors, Threads, Pinned, Resident int }

// Measure returns the holdings of now.
func Measure() (h Holdings, err error) {
	for folder, n := range map[string]*int{"/proc/self/fd": &h.Descriptors, "/proc/self/task": &h.Threads} {
		entries, err := os.ReadDir(folder)
		if err != nil {
			return h, err
		}
		*n = len(entries)
	}
	status, err := os.ReadFile("/proc/self/status")
	for line := range bytes.Lines(status) {
		for prefix, n := range map[string]*int{"VmPin:": &h.Pinned, "VmRSS:": &h.Resident} {
			if rest, found := strings.CutPrefix(string(line), prefix); found {
				fmt.Sscan(rest, n)
			}
		}
	}
	return h, err
}

// groups is the folder of the control groups with which the kernel limits a process's objects of an RDMA device: queue
// pairs, completion queues, memory regions.
const groups = "/sys/fs/cgroup"

// Group is the process's own control group, which counts the objects that it makes after it has entered.
type Group string

// EnterGroup puts the process into a group. It needs to be root, and is for machines of the test bed.
func EnterGroup() (Group, error) {
	if _, err := os.Stat(groups + "/cgroup.procs"); err != nil {
		if err := syscall.Mount("cgroup2", groups, "cgroup2", 0, ""); err != nil {
			return "", err
		}
	}
	if err := os.WriteFile(groups+"/cgroup.subtree_control", []byte("+rdma"), 0o644); err != nil {
		return "", err
	}
	g := Group(fmt.Sprintf("%s/trial-%d", groups, os.Getpid()))
	if err := os.MkdirAll(string(g), 0o755); err != nil {
		return "", err
	}
	return g, os.WriteFile(string(g)+"/cgroup.procs", []byte("0"), 0o644)
}

// Leave puts the process back into the group of all.
func (g Group) Leave() error { return os.WriteFile(groups+"/cgroup.procs", []byte("0"), 0o644) }

// Limit leaves room for a number of further objects of a device, and Lift for any.
func (g Group) Limit(device string, more int) error {
	current, err := os.ReadFile(string(g) + "/rdma.current")
	if err != nil {
		return err
	}
	objects := 0
	if _, text, found := strings.Cut(string(current), "hca_object="); found {
		if _, err := fmt.Sscan(text, &objects); err != nil {
			return err
		}
	}
	return g.allow(device, fmt.Sprint(objects+more))
}

// Lift ends Limit.
func (g Group) Lift(device string) error { return g.allow(device, "max") }

func (g Group) allow(device, most string) error {
	return os.WriteFile(string(g)+"/rdma.max", []byte(device+" hca_object="+most), 0o644)
}

// ReplaceInPage replaces what a page has between two marks.
func ReplaceInPage(file, begin, end string, replace func(old string) string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	head, rest, found := strings.Cut(string(text), begin)
	old, tail, ended := strings.Cut(rest, end)
	if !found || !ended {
		return fmt.Errorf("%s has no place between %q and %q", file, begin, end)
	}
	return os.WriteFile(file, []byte(head+begin+replace(old)+end+tail), 0o644)
}
