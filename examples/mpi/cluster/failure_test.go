//go:build linux

package cluster

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/goudat/goudat/examples/mpi/mpi"
	"github.com/goudat/goudat/udat/udattest"
	"github.com/goudat/goudat/udat/udattest/control"
)

const (
	// bound is the ranks' Options.Bound.
	bound = 5 * time.Second
	// slack is for machines that are emulated on a busy host.
	slack = 10 * time.Second
	// victimsVariable has the ranks that are going to fail, separated by commas.
	victimsVariable = "CLUSTER_TEST_VICTIMS"
	// reportVariable has the prefix of the file that each rank writes its report to: launchers pass on no output
	// after they have noticed a failure.
	reportVariable = "CLUSTER_TEST_REPORT"
)

func init() { tasks["survive"] = survive }

// survive waits in operations of each kind, with ranks that are going to fail and with others, and reports when all
// operations have failed.
func survive(w *mpi.World) error {
	if err := keepErrors(w); err != nil {
		return err
	}
	if err := mpi.Barrier(w.Comm); err != nil {
		return err
	}
	var victims []int
	for text := range strings.SplitSeq(os.Getenv(victimsVariable), ",") {
		victim, err := strconv.Atoi(text)
		if err != nil {
			return err
		}
		victims = append(victims, victim)
	}
	victim, next := victims[0], (w.Rank()+1)%w.Size()
	if slices.Contains(victims, w.Rank()) {
		victim = 0 // for a rank that is cut off, it is the others that have failed
	}
	long := make([]float64, 1<<18)
	operations := map[string]func() error{
		"a receive from it":      func() error { _, err := mpi.Recv(w.Comm, []int{0}, victim, 1); return err },
		"a receive from any":     func() error { _, err := mpi.Recv(w.Comm, []int{0}, mpi.AnySource, 2); return err },
		"a receive from another": func() error { _, err := mpi.Recv(w.Comm, []int{0}, next, 3); return err },
		"a long send to it":      func() error { return mpi.Send(w.Comm, long, victim, 4) },
		"a long send to another": func() error { return mpi.Send(w.Comm, long, next, 5) },
		"a probe":                func() error { _, err := mpi.Probe(w.Comm, mpi.AnySource, 6); return err },
		"a barrier":              func() error { return mpi.Barrier(w.Comm) },
	}
	if w.Rank()%2 == 1 {
		delete(operations, "a long send to it") // this rank may have no connection with it
		delete(operations, "a barrier")
	}
	results := make(chan error, len(operations))
	for name, do := range operations {
		go func() {
			err := do()
			var e *mpi.RankError
			if !errors.As(err, &e) || !errors.Is(err, mpi.ErrDied) {
				err = fmt.Errorf("%s returns %v", name, err)
			} else if there := slices.Contains(victims, e.Rank); there == slices.Contains(victims, w.Rank()) {
				err = fmt.Errorf("%s blames rank %d: %v", name, e.Rank, err)
			} else {
				err = nil
			}
			results <- err
		}()
	}
	sayReady(w)
	hung := time.AfterFunc(patience/2, func() {
		stacks := make([]byte, 1<<20)
		_ = write(w, fmt.Sprintf("operations do not end:\n%s", stacks[:runtime.Stack(stacks, true)]))
	})
	defer hung.Stop()
	report := ""
	for range operations {
		if err := <-results; err != nil {
			report += err.Error() + "\n"
		}
	}
	heard := time.Now()
	if err := w.Close(); !errors.Is(err, mpi.ErrDied) {
		report += fmt.Sprintf("Close gives %v\n", err)
	}
	if pinned, err := pinnedMemory(); pinned != "0" {
		report += fmt.Sprintf("%s KiB stay pinned, %v\n", pinned, err)
	}
	report += fmt.Sprintf("heard of it at %d\n", heard.UnixMilli())
	return write(w, report)
}

// pinnedMemory returns how many KiB of this process the kernel keeps in place for adapters.
func pinnedMemory() (string, error) {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(status)) {
		if value, found := strings.CutPrefix(line, "VmPin:"); found {
			return strings.Fields(value)[0], nil
		}
	}
	return "", errors.New("no VmPin in /proc/self/status")
}

// write writes the rank's report, at once.
func write(w *mpi.World, report string) error {
	file := os.Getenv(reportVariable) + strconv.Itoa(w.Rank())
	if err := os.WriteFile(file+".new", []byte(report), 0o644); err != nil {
		return err
	}
	return os.Rename(file+".new", file)
}

// keepErrors makes the process write its standard error to a file beside the report: launchers do not pass on what a
// rank prints when it crashes later.
func keepErrors(w *mpi.World) error {
	file, err := os.Create(os.Getenv(reportVariable) + strconv.Itoa(w.Rank()) + ".stderr")
	if err != nil {
		return err
	}
	defer file.Close()
	return syscall.Dup3(int(file.Fd()), int(os.Stderr.Fd()), 0)
}

func sayReady(w *mpi.World) { fmt.Printf("rank %d is ready, process %d\n", w.Rank(), os.Getpid()) }

// job is a job that is running.
type job struct {
	t     *testing.T
	cmd   *exec.Cmd
	lines chan string
	text  bytes.Buffer
	hosts []netip.Addr
	files string // the prefix of the names of the reports
	pids  []int  // the processes of the ranks
}

// begin starts a task, and waits until all ranks are ready.
func begin(t *testing.T, hosts []netip.Addr, ranks int, adapter, task string, victims []int) *job {
	t.Helper()
	return beginCommand(t, hosts, ranks, adapter, task, victims, func(program string) []string { return []string{program} })
}

// beginCommand is begin for ranks that are started by a command with the program.
func beginCommand(t *testing.T, hosts []netip.Addr, ranks int, adapter, task string, victims []int, command func(program string) []string) *job {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	cmd := mpiexec(t, ctx, hosts, ranks, adapter, task)
	files := fmt.Sprintf("/tmp/%s-%d-", strings.ReplaceAll(t.Name(), "/", "-"), time.Now().UnixNano())
	last := len(cmd.Args) - 1
	cmd.Args = append(cmd.Args[:last], command(cmd.Args[last])...)
	// The remaining ranks end by themselves.
	cmd.Args = slices.Insert(cmd.Args, 1, "-disable-auto-cleanup")
	cmd.Env = append(cmd.Env, victimsVariable+"="+strings.Trim(strings.ReplaceAll(fmt.Sprint(victims), " ", ","), "[]"),
		boundVariable+"="+bound.String(), reportVariable+"="+files)
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr = writer, writer
	err = cmd.Start()
	writer.Close()
	if err != nil {
		t.Fatal(err)
	}
	j := &job{t: t, cmd: cmd, lines: make(chan string, 1000), hosts: hosts, files: files}
	go j.read(reader)
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	j.pids = make([]int, ranks)
	for range ranks {
		var rank, pid int
		j.expect(patience, "a rank is ready", func(line string) bool {
			n, _ := fmt.Sscanf(line, "rank %d is ready, process %d", &rank, &pid)
			return n == 2
		})
		j.pids[rank] = pid
	}
	return j
}

func (j *job) read(from io.ReadCloser) {
	defer from.Close()
	for scanner := bufio.NewScanner(from); scanner.Scan(); {
		j.lines <- scanner.Text()
	}
	close(j.lines)
}

// expect waits until the job prints a line.
func (j *job) expect(limit time.Duration, what string, is func(line string) bool) {
	j.t.Helper()
	timer := time.After(limit)
	for {
		select {
		case line, open := <-j.lines:
			if !open {
				j.t.Fatalf("the job ended without %s\n%s", what, j.text.String())
			}
			fmt.Fprintln(&j.text, line)
			if is(line) {
				return
			}
		case <-timer:
			j.t.Fatalf("after %v there is no %s\n%s", limit, what, j.text.String())
		}
	}
}

// expectReports waits for the reports of the ranks on some machines, and checks that they have noticed the failure in
// time.
func (j *job) expectReports(since time.Time, ranks ...int) {
	j.t.Helper()
	var longest time.Duration
	for _, rank := range ranks {
		var at int64
		text := j.report(rank)
		if n, _ := fmt.Sscanf(text, "heard of it at %d", &at); n != 1 {
			j.t.Errorf("rank %d: %s", rank, text)
			continue
		}
		longest = max(longest, time.UnixMilli(at).Sub(since))
	}
	j.t.Logf("the last rank has noticed it after %v", longest)
	if longest > bound+slack {
		j.t.Errorf("it took %v, but the bound is %v", longest, bound)
	}
}

// report waits for the report of a rank.
func (j *job) report(rank int) string {
	j.t.Helper()
	file := j.files + strconv.Itoa(rank)
	for limit := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		_, alive := j.run(rank, fmt.Sprintf("kill -0 %d", j.pids[rank]))
		if text, there := j.run(rank, "cat "+file); there {
			return text
		}
		if late := time.Now().After(limit); late || !alive {
			text, _ := j.run(rank, "cat "+file+".stderr")
			j.readOn()
			j.t.Fatalf("rank %d makes no report; its process lives: %v\n%s\n%s", rank, alive, text, j.text.String())
		}
	}
}

// readOn takes what the job has printed since expect.
func (j *job) readOn() {
	for {
		select {
		case line, open := <-j.lines:
			if !open {
				return
			}
			fmt.Fprintln(&j.text, line)
		default:
			return
		}
	}
}

// run runs a shell command on the machine of a rank. It returns the output, and whether the command succeeded.
func (j *job) run(rank int, command string) (output string, succeeded bool) {
	j.t.Helper()
	var out bytes.Buffer
	code, err := runOn(j.hosts[0], j.hosts[rank%len(j.hosts)], command, &out)
	if err != nil {
		j.t.Fatal(err)
	}
	return out.String(), code == 0
}

// ranksOn returns the ranks on a machine: they are assigned in turn.
func ranksOn(machine, machines int) []int { return []int{machine, machine + machines} }

// outlived returns a command that runs a program, and does not end before it is killed. Hydra's mpiexec ends, and with
// it all ranks, if it finds a connection closed before it has read that the last process of a machine has ended.
func outlived(program string) []string { return []string{"sh", "-c", `"$0"; exec sleep 1000`, program} }

// The death of a process is noticed at once.
func TestProcessKilled(t *testing.T) {
	for _, adapter := range udattest.Names(t) {
		t.Run(adapter, func(t *testing.T) {
			hosts := machines(t, 2)[:2]
			// It is alone on its machine, because the launcher would kill others there.
			const victim = 1
			j := beginCommand(t, hosts, 3, adapter, "survive", []int{victim}, outlived)
			since := time.Now()
			if code, err := callShell(hosts[1].String(), fmt.Sprintf("kill -9 %d", j.pids[victim]), io.Discard); err != nil || code != 0 {
				t.Fatal(code, err)
			}
			j.expectReports(since, 0, 2)
		})
	}
}

// The failure of a machine's link is noticed within the bound, also by the ranks on that machine, which lose the
// others.
func TestLinkCut(t *testing.T) {
	for _, adapter := range udattest.Names(t) {
		t.Run(adapter, func(t *testing.T) {
			hosts := machines(t, 3)[:3]
			ctx := context.Background()
			j := begin(t, hosts, 6, adapter, "survive", ranksOn(2, 3))
			since := time.Now()
			if err := control.Cut(ctx, 2); err != nil {
				t.Fatal(err)
			}
			restored := false
			restore := func() {
				if !restored {
					restored = true
					if err := control.Restore(ctx, 2); err != nil {
						t.Error(err)
					}
				}
			}
			defer restore()
			j.expectReports(since, 0, 1, 3, 4)
			// The ranks behind the link have noticed it by now.
			time.Sleep(time.Until(since.Add(bound + slack)))
			restore()
			j.expectReports(since, 2, 5)
		})
	}
}

// The failure of a machine's power is noticed within the bound.
func TestMachineKilled(t *testing.T) {
	peers := machines(t, 4)
	for i, adapter := range udattest.Names(t) {
		t.Run(adapter, func(t *testing.T) {
			victim := 3 - i // fewer machines remain each time
			hosts := peers[:victim+1]
			j := begin(t, hosts, 2*len(hosts), adapter, "survive", ranksOn(victim, len(hosts)))
			since := time.Now()
			if err := control.Kill(context.Background(), victim); err != nil {
				t.Fatal(err)
			}
			var others []int
			for rank := range 2 * len(hosts) {
				if rank%len(hosts) != victim {
					others = append(others, rank)
				}
			}
			j.expectReports(since, others...)
		})
	}
}

// When the launcher is killed, no process of the job remains.
func TestLauncherKilled(t *testing.T) {
	for _, adapter := range udattest.Names(t) {
		t.Run(adapter, func(t *testing.T) {
			hosts := machines(t, 2)[:2]
			j := begin(t, hosts, 4, adapter, "survive", []int{0})
			if err := j.cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			until := time.Now().Add(bound + slack)
			for _, host := range hosts {
				for {
					var out bytes.Buffer
					line := "for f in $(grep -lz ^PMI_RANK= /proc/[0-9]*/environ 2>/dev/null); do cat $(dirname $f)/comm; done | wc -l"
					// The launcher's own processes have no rank.
					if _, err := runOn(hosts[0], host, line, &out); err != nil {
						t.Fatal(err)
					}
					if strings.TrimSpace(out.String()) == "0" {
						break
					}
					if time.Now().After(until) {
						t.Fatalf("on %v %s processes remain", host, strings.TrimSpace(out.String()))
					}
					time.Sleep(100 * time.Millisecond)
				}
			}
		})
	}
}

// runOn runs a shell line on a machine; on this one it needs no remote shell.
func runOn(here, host netip.Addr, line string, out io.Writer) (int, error) {
	if host != here {
		return callShell(host.String(), line, out)
	}
	cmd := exec.Command("sh", "-c", line)
	cmd.Stdout = out
	err := cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.ExitCode(), nil
	}
	return 0, err
}
