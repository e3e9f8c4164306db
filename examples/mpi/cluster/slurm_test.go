//go:build linux

package cluster

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/goudat/goudat/examples/mpi/mpi"
	"github.com/goudat/goudat/udat/udattest"
)

// slurmFolder is on each machine.
const (
	slurmFolder   = "/tmp/slurm"
	slurmVariable = "SLURM_CONF=" + slurmFolder + "/slurm.conf"
)

// slurmConfiguration is for machines that all have the same host name and no control groups.
func slurmConfiguration(name string, hosts []netip.Addr) string {
	text := fmt.Sprintf(`ClusterName=test
SlurmctldHost=%s(%s)
AuthType=auth/munge
AuthInfo=socket=%[3]s/munge.socket
SlurmUser=root
SlurmdUser=root
SlurmctldPidFile=%[3]s/slurmctld.pid
SlurmdPidFile=%[3]s/slurmd.pid
SlurmdSpoolDir=%[3]s/spool
StateSaveLocation=%[3]s/state
SlurmctldLogFile=%[3]s/slurmctld.log
SlurmdLogFile=%[3]s/slurmd.log
SlurmdParameters=config_overrides
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
ReturnToService=2
SelectType=select/linear
SchedulerType=sched/builtin
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
`, name, hosts[0], slurmFolder)
	for i, host := range hosts {
		text += fmt.Sprintf("NodeName=node%d NodeHostname=%s NodeAddr=%s CPUs=4\n", i, name, host)
	}
	return text + "PartitionName=all Nodes=ALL Default=YES State=UP\n"
}

// slurm starts Slurm on machines: the controller on the first, and a daemon on each. All end with the test.
func slurm(t *testing.T, hosts []netip.Addr) {
	t.Helper()
	for _, program := range []string{"munged", "slurmctld", "slurmd", "srun"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("no %s, which Debian's packages munge, slurmctld, slurmd and slurm-client have", program)
		}
	}
	name, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	key := make([]byte, 1024)
	_, _ = rand.Read(key) // has no errors
	on := func(host netip.Addr, line string) {
		t.Helper()
		var out bytes.Buffer
		if code, err := runOn(hosts[0], host, line+" 2>&1", &out); err != nil || code != 0 {
			t.Fatalf("%s: exit code %d, %v\n%s", line, code, err, out.String())
		}
	}
	file := func(host netip.Addr, name string, content []byte) {
		t.Helper()
		on(host, "echo "+base64.StdEncoding.EncodeToString(content)+" | base64 -d >"+slurmFolder+"/"+name)
	}
	t.Cleanup(func() {
		for _, host := range hosts {
			on(host, "cd "+slurmFolder+" && for f in slurmd slurmctld munged; do if [ -f $f.pid ]; then kill $(cat $f.pid); fi; done; true")
		}
		if t.Failed() {
			log, _ := exec.Command("sh", "-c", "tail -n 20 "+slurmFolder+"/*.log").CombinedOutput()
			t.Logf("%s", log)
		}
	})
	for i, host := range hosts {
		on(host, "umask 022; mkdir -p "+slurmFolder+"/spool "+slurmFolder+"/state")
		file(host, "key", key)
		file(host, "slurm.conf", []byte(slurmConfiguration(name, hosts)))
		// The first plugin starts without control groups, but is not used.
		file(host, "cgroup.conf", []byte("CgroupPlugin=cgroup/v1\nCgroupMountpoint="+slurmFolder+"/cgroup\n"))
		on(host, fmt.Sprintf("cd %s && chmod 600 key && munged --force --key-file=$PWD/key --socket=$PWD/munge.socket --pid-file=$PWD/munged.pid --log-file=$PWD/munged.log --seed-file=$PWD/munged.seed", slurmFolder))
		if i == 0 {
			on(host, "slurmctld -f "+slurmFolder+"/slurm.conf >/dev/null")
		}
		on(host, fmt.Sprintf("slurmd -f %s/slurm.conf -N node%d >/dev/null", slurmFolder, i))
	}
	for until := time.Now().Add(patience); ; time.Sleep(100 * time.Millisecond) {
		sinfo := exec.Command("sinfo", "-h", "-t", "idle", "-o", "%D")
		sinfo.Env = append(os.Environ(), slurmVariable)
		out, err := sinfo.CombinedOutput()
		if err == nil && strings.TrimSpace(string(out)) == fmt.Sprint(len(hosts)) {
			return
		}
		if time.Now().After(until) {
			t.Fatalf("the machines do not report to Slurm: %v, %s", err, out)
		}
	}
}

// Slurm's srun starts the ranks on two machines.
func TestSlurm(t *testing.T) {
	hosts := machines(t, 2)[:2]
	slurm(t, hosts)
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	const ranks = 4
	for _, adapter := range udattest.Names(t) {
		t.Run(adapter, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			defer cancel()
			cmd := exec.CommandContext(ctx, "srun", "--mpi=pmi2", "--nodes=2", fmt.Sprintf("--ntasks=%d", ranks), "--chdir=/", program)
			cmd.Env = append(os.Environ(), slurmVariable, taskVariable+"=exchange", mpi.AdapterVariable+"="+adapter)
			cmd.WaitDelay = 10 * time.Second
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			for rank := range ranks {
				if line := done(rank, ranks); strings.Count(string(out), line) != 1 {
					t.Errorf("no %q in\n%s", line, out)
				}
			}
		})
	}
}
