// Command guest is PID 1 of the test bed's machine. It makes the host's root file system and the RDMA device
// available, runs one program and reports its exit code; the host then ends the machine.
package main

import (
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/goudat/goudat/scripts/vm/wire"
)

func main() {
	if os.Getpid() != 1 {
		fmt.Fprintln(os.Stderr, "guest: this is the init of a test bed's machine and runs nowhere else")
		os.Exit(2)
	}
	conn, err := setUpControl()
	if err != nil {
		// Only the console can be told. A panic of the kernel then ends the machine.
		fmt.Printf("testbed init: %v\n", err)
		os.Exit(1)
	}
	if err := serve(conn); err != nil {
		conn.Send(wire.KindFailure, []byte(err.Error()))
	}
	// The host ends the machine as soon as it has the last frame. Init must not return: that would panic the kernel.
	for {
		time.Sleep(time.Hour)
	}
}

// setUpControl does what is needed to talk to the host.
func setUpControl() (*wire.Conn, error) {
	if err := mountKernelFilesystems(); err != nil {
		return nil, err
	}
	if err := loadModules("/modules.root"); err != nil {
		return nil, err
	}
	open := openPort
	if userMode {
		open = openControlTerminal
	}
	port, err := open()
	if err != nil {
		return nil, err
	}
	return wire.NewConn(port), nil
}

// serve runs the machine's one job.
func serve(conn *wire.Conn) error {
	if err := conn.Send(wire.KindReady, nil); err != nil {
		return fmt.Errorf("tell the host that the machine is up: %w", err)
	}
	kind, payload, err := conn.Receive()
	if err != nil {
		return fmt.Errorf("receive the job: %w", err)
	}
	if kind != wire.KindJob {
		return fmt.Errorf("the first frame is of kind %d, not a job", kind)
	}
	var job wire.Job
	if err := wire.Decode(payload, &job); err != nil {
		return fmt.Errorf("decode the job: %w", err)
	}
	step := func(format string, args ...any) {
		conn.Send(wire.KindStep, fmt.Appendf(nil, format, args...))
	}
	step("got the job")
	at, err := newPlace(job)
	if err != nil {
		return err
	}

	if err := loadDeviceModules(job.Device); err != nil {
		return err
	}
	if err := assembleRoot(job); err != nil {
		return err
	}
	step("root file system is mounted")
	if err := enterRoot(); err != nil {
		return err
	}
	if err := writeConfiguration(at, job.Device); err != nil {
		return err
	}
	if job.CPUInfo != "" {
		if err := replaceCPUInfo(job.CPUInfo); err != nil {
			return err
		}
	}
	if err := os.Setenv("PATH", wire.ToolPath); err != nil {
		return err
	}
	if err := setUpNetwork(at); err != nil {
		return err
	}
	if err := attachDevice(job.Device); err != nil {
		return err
	}
	step("device is ready")
	if err := setLimits(job); err != nil {
		return err
	}
	requests, err := listenForRequests(conn)
	if err != nil {
		return err
	}
	code, err := runProgram(conn, job, requests)
	if err != nil {
		return err
	}
	// Only after this is the program's output to a share on the host.
	syscall.Sync()
	if err := unmountShares(job.Shares); err != nil {
		return err
	}
	return conn.Send(wire.KindExit, []byte{byte(code)})
}

func setLimits(job wire.Job) error {
	const unlimited = ^uint64(0)
	const memlock = 8 // RLIMIT_MEMLOCK, which package syscall lacks
	for _, limit := range []struct {
		what  int
		value uint64
		// A core file would take long to write, and vanish with the machine.
	}{{memlock, unlimited}, {syscall.RLIMIT_CORE, 0}, {syscall.RLIMIT_NOFILE, job.Nofile}} {
		err := syscall.Setrlimit(limit.what, &syscall.Rlimit{Cur: limit.value, Max: limit.value})
		if err != nil {
			return fmt.Errorf("set resource limit %d to %d: %w", limit.what, limit.value, err)
		}
	}
	syscall.Umask(job.Umask)
	return nil
}
