//go:build linux

package device_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"

	"github.com/goudat/goudat/udat"
)

// make opens an adapter, makes objects on it until that fails, and returns an outcome for
// each kind, and one more for the second adapter of task.Again.
func (task childTask) make(name string) (outcomes []childOutcome) {
	var own childOutcome
	ia, err := udat.Open(name)
	if err == nil {
		defer ia.Close(udat.CloseAbrupt)
		own.failed(errors.Join(runAll(task.Then), task.limit()))
	}
	own.failed(err)
	if own.Text != "" {
		return []childOutcome{own}
	}
	for _, kind := range task.Make {
		var o childOutcome
		o.failed(makeMany(ia, kind))
		outcomes = append(outcomes, o)
	}
	if task.Again {
		outcomes = append(outcomes, task.open(name))
	}
	return outcomes
}

// limit takes from the process what the task says.
func (task childTask) limit() error {
	if task.Drop {
		const nobody = 65534
		if err := syscall.Setuid(nobody); err != nil {
			return err
		}
	}
	if task.MoreSpace == 0 {
		return nil
	}
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return err
	}
	_, text, _ := strings.Cut(string(status), "VmSize:")
	var kilobytes uint64
	if _, err := fmt.Sscan(text, &kilobytes); err != nil {
		return err
	}
	most := kilobytes<<10 + task.MoreSpace
	return syscall.Setrlimit(syscall.RLIMIT_AS, &syscall.Rlimit{Cur: most, Max: most})
}

// makeMany makes a hundred objects of a kind, and frees what was made.
func makeMany(ia *udat.IA, kind string) error {
	pz, err := udat.CreatePZ(ia)
	if err != nil {
		return err
	}
	completions, err := udat.CreateEVD(ia, 100, nil, udat.EVDDTO)
	if err != nil {
		return err
	}
	connection, err := udat.CreateEVD(ia, 100, nil, udat.EVDConnection)
	if err != nil {
		return err
	}
	requests, err := udat.CreateEVD(ia, 100, nil, udat.EVDCR)
	if err != nil {
		return err
	}
	attr, _, err := ia.Query()
	if err != nil {
		return err
	}
	endpoint := func(attr *udat.EPAttr) (freer, error) {
		return udat.CreateEP(ia, pz, completions, completions, connection, attr)
	}
	var made []freer
	for range 100 {
		var o freer
		switch kind {
		case "endpoint", "one endpoint":
			o, err = endpoint(nil)
		case "large endpoint":
			o, err = endpoint(&udat.EPAttr{MaxRequestDTOs: min(largeQueue, attr.MaxDTOPerEP), MaxRequestIOV: attr.MaxIOVSegmentsPerDTO})
		case "notification object":
			o, err = udat.CreateCNO(ia, nil)
		case "zone":
			o, err = udat.CreatePZ(ia)
		case "event dispatcher":
			o, err = udat.CreateEVD(ia, 100, nil, udat.EVDDTO)
		case "shared queue":
			o, err = udat.CreateSRQ(ia, pz, udat.SRQAttr{MaxRecvDTOs: 10, MaxRecvIOV: 1})
		case "shared queue of many segments":
			o, err = udat.CreateSRQ(ia, pz, udat.SRQAttr{MaxRecvDTOs: 10, MaxRecvIOV: attr.MaxIOVSegmentsPerDTO})
		case "memory":
			o, err = udat.AllocMemory(pz, 5000, udat.MemPrivAll)
		case "service point":
			o, err = udat.CreatePSPAny(ia, requests)
		case "chosen service point":
			o, err = udat.CreatePSP(ia, 4711, requests)
		default:
			return fmt.Errorf("what is %s?", kind)
		}
		if err != nil {
			break
		}
		made = append(made, o)
		if kind == "chosen service point" || kind == "one endpoint" {
			break
		}
	}
	for _, o := range append(made, pz, completions, connection, requests) {
		err = errors.Join(err, o.Free())
	}
	return err
}

// largeQueue is as many requests as take well over a hundred megabytes.
const largeQueue = 200_000

type freer interface{ Free() error }

func runAll(commands []string) error {
	for _, c := range commands {
		fields := strings.Fields(c)
		if out, err := exec.Command(fields[0], fields[1:]...).CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w: %s", c, err, out)
		}
	}
	return nil
}

// enterGroup puts the process into a new control group with a limit on its RDMA objects.
func enterGroup(limit string) error {
	const groups = "/sys/fs/cgroup"
	if _, err := os.Stat(groups + "/cgroup.procs"); err != nil {
		if err := syscall.Mount("cgroup2", groups, "cgroup2", 0, ""); err != nil {
			return err
		}
	}
	group := fmt.Sprintf("%s/child-%d", groups, os.Getpid())
	return errors.Join(
		os.WriteFile(groups+"/cgroup.subtree_control", []byte("+rdma"), 0o644),
		os.MkdirAll(group, 0o755),
		os.WriteFile(group+"/rdma.max", []byte(limit), 0o644),
		os.WriteFile(group+"/cgroup.procs", []byte("0"), 0o644),
	)
}
