//go:build linux && amd64

package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/goudat/goudat/scripts/vm/wire"
)

// machineConfig is what all machines of a run have in common.
type machineConfig struct {
	arch        *architecture
	root        string // the folder with the files of a foreign architecture
	emulator    string // of no use to User-Mode Linux, whose kernel is the program
	kernel      string
	initramfs   string
	accelerator string
	memory      string
	processors  int    // 0: as many as the host has, 4 at most
	coarse      bool   // timers expire at clock ticks
	verbose     bool   // the console is shown
	consoleLogs string // the folder for consoles; empty for none

	tscFrequency int // in kHz; 0: the kernel has to find it out

	// bootLimits are how long to wait for a machine, boot after boot.
	bootLimits []time.Duration
	quiet      bool // the kernel keeps its messages from the console; they take a good part of the boot
}

// machine is a running qemu, or kernel of User-Mode Linux.
type machine struct {
	name    string // what the program is called in messages
	control *wire.Conn
	frames  chan frame // closed when the machine has ended, or has to
	console *tail
	errors  *tail // what the program itself has to say
	out     programOutput

	processes processGroup
	ended     chan struct{} // closed when the processes are gone
	state     error         // how the machine ended; valid after ended
	broken    error         // why the frames stopped while it ran; valid after frames
	readers   sync.WaitGroup
}

// programOutput is where a program's output goes.
type programOutput struct{ stdout, stderr io.Writer }

// frame is one that the guest sent.
type frame struct {
	kind    wire.Kind
	payload []byte
}

// startMachine boots a machine and hands it its job. wired is its end of the wire, nil for a machine alone. The caller
// must end it.
func startMachine(config machineConfig, job wire.Job, out programOutput, wired *os.File) (*machine, error) {
	if wired != nil {
		defer wired.Close()
	}
	console, consoleEnd, err := socketPair("console")
	if err != nil {
		return nil, err
	}
	defer consoleEnd.Close()
	control, controlEnd, err := socketPair("control")
	if err != nil {
		console.Close()
		return nil, err
	}
	defer controlEnd.Close()

	consoleLog, err := createConsoleLog(config.consoleLogs, job)
	if err != nil {
		console.Close()
		control.Close()
		return nil, err
	}

	cmd, name := exec.Command(config.emulator, machineArguments(config, job)...), "qemu"
	if config.accelerator == acceleratorUML {
		cmd, name = umlCommand(config, job), "User-Mode Linux"
	}
	m := &machine{
		name:    name,
		control: wire.NewConn(control),
		frames:  make(chan frame),
		console: &tail{},
		errors:  &tail{},
		out:     out,
		ended:   make(chan struct{}),
	}
	var shown io.Writer
	if config.verbose {
		shown = out.stderr
	}
	m.console.copyTo = consoleLog.with(shown)
	cmd.ExtraFiles = []*os.File{consoleEnd, controlEnd}
	if wired != nil {
		cmd.ExtraFiles = append(cmd.ExtraFiles, wired)
	}
	if config.accelerator == acceleratorUML {
		// It begins with what the host lacks, before there is a console.
		cmd.Stdout, cmd.Stderr = consoleEnd, consoleEnd
	} else {
		cmd.Stderr = m.errors
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{
		// Whatever ends this process ends the machine.
		Pdeathsig: syscall.SIGKILL,
		// A signal from the terminal is for this process only, which passes it on.
		Setpgid: true,
	}
	started := make(chan error)
	go func() {
		// The death signal is tied to the thread that started the process, not to this process.
		runtime.LockOSThread()
		err := cmd.Start()
		if err == nil {
			m.processes.leader = cmd.Process.Pid
		}
		started <- err
		if err != nil {
			return
		}
		m.processes.awaitEnd()
		m.state = cmd.Wait()
		close(m.ended)
	}()
	if err := <-started; err != nil {
		console.Close()
		control.Close()
		consoleLog.close()
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	m.readers.Add(1)
	go func() {
		defer m.readers.Done()
		defer console.Close()
		defer consoleLog.close()
		io.Copy(m.console, console)
	}()
	go func() {
		defer close(m.frames)
		defer control.Close()
		m.broken = m.receive(job)
	}()
	return m, nil
}

// receive hands a machine that is up its job, writes the program's output and passes everything else on, until the machine
// ends. It writes here, so that the order is kept, and a reader who does not read stops the program but neither signals nor
// the time limit.
func (m *machine) receive(job wire.Job) error {
	for {
		kind, payload, err := m.control.Receive()
		// A machine that ends with something unread resets the connection.
		if err == io.EOF || errors.Is(err, syscall.ECONNRESET) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("receive from the machine: %w", err)
		}
		switch kind {
		case wire.KindReady:
			// A machine that is gone already is noticed by the next frame, which does not come.
			m.control.SendValue(wire.KindJob, job)
		case wire.KindStdout:
			_, err = m.out.stdout.Write(payload)
		case wire.KindStderr:
			_, err = m.out.stderr.Write(payload)
		default:
			m.frames <- frame{kind, payload}
		}
		if err != nil {
			return fmt.Errorf("pass on the program's output: %w", err)
		}
	}
}

// end ends the machine, if it has not ended.
func (m *machine) end() {
	m.processes.signal(syscall.SIGKILL)
	<-m.ended
	m.readers.Wait()
}

// abandonBoot ends a machine that is not up, and tells whether its program has been started after all.
func (m *machine) abandonBoot() (started bool) {
	m.end()
	for f := range m.frames {
		started = started || f.kind == wire.KindStarted
	}
	return started
}

// failure ends a machine whose frames have stopped, and says why they did.
func (m *machine) failure() string {
	m.end()
	if m.broken != nil {
		return m.broken.Error()
	}
	if complaint := lastLine(m.errors.String()); complaint != "" {
		return m.name + ": " + complaint
	}
	if m.state != nil {
		return m.name + ": " + m.state.Error()
	}
	return "the machine stopped by itself"
}

// kernelArguments are mostly about what a boot need not wait for. Each architecture has some more.
var kernelArguments = []string{
	// A kernel that has gone wrong must end the machine, with the reason on the console.
	"panic=-1", "oops=panic",
	"mitigations=off", "nowatchdog", "rcupdate.rcu_cpu_stall_suppress=1", "audit=0", "apparmor=0", "cryptomgr.notests",
}

// emulatedArguments spare emulated machines what takes a third to a half of their processors' time, and what programs do
// not notice. The emulator keeps the code that it has translated by its address in the program: where libraries lie
// elsewhere in each process, each process has them translated again. The others are the kernel's hardenings.
var emulatedArguments = []string{
	"norandmaps", "init_on_alloc=0", "hardened_usercopy=off", "randomize_kstack_offset=off", "lsm=",
}

// mostByDefault is how many processors a machine has at most unless more are asked for: emulated ones get in each other's way.
const mostByDefault = 4

// machineArguments is qemu's command line. The console, the control port and the wire are its files 3, 4 and 5.
func machineArguments(config machineConfig, job wire.Job) []string {
	args := []string{
		"-nodefaults", "-no-user-config", "-display", "none", "-no-reboot",
		"-m", config.memory,
		"-kernel", config.kernel, "-initrd", config.initramfs,
	}
	args = append(args, config.arch.board...)
	processors := fmt.Sprint(cmp.Or(config.processors, min(runtime.NumCPU(), mostByDefault)))
	switch config.accelerator {
	case acceleratorKVM:
		args = append(args, "-accel", "kvm", "-cpu", "host", "-smp", processors)
	case acceleratorCount:
		args = append(args, "-accel", "tcg,thread=single", "-icount", "shift=0", "-cpu", config.arch.processor, "-smp", "1")
	default:
		args = append(args, "-accel", "tcg,thread=multi", "-cpu", config.arch.processor, "-smp", processors)
	}
	kernel := append(slices.Clone(config.arch.kernel), kernelArguments...)
	if config.accelerator != acceleratorKVM {
		kernel = append(kernel, emulatedArguments...)
	}
	if config.tscFrequency != 0 {
		kernel = append(kernel, fmt.Sprintf("tsc_early_khz=%d", config.tscFrequency))
	}
	if config.coarse {
		kernel = append(kernel, "highres=off", "nohz=off")
	}
	if config.quiet {
		kernel = append(kernel, "quiet")
	}
	args = append(args,
		"-append", strings.Join(kernel, " "),
		"-chardev", "socket,id=console,fd=3", "-serial", "chardev:console",
		"-chardev", "socket,id=control,fd=4", "-device", "virtio-serial-pci,max_ports=2",
		"-device", "virtserialport,chardev=control,name="+wire.PortName,
	)
	if len(job.Addresses) > 1 {
		// No ROM: nothing is booted from the network.
		args = append(args, "-netdev", "socket,id=wire,fd=5", "-device", "virtio-net-pci,netdev=wire,host_mtu=9000,romfile=")
	}
	args = append(args, sharedFolder("root", "/", ",readonly=on")...)
	if config.root != "" {
		args = append(args, sharedFolder(wire.SystemTag, config.root, ",readonly=on")...)
	}
	for _, share := range job.Shares {
		args = append(args, sharedFolder(share.Tag, share.Path, "")...)
	}
	return args
}

// sharedFolder gives the machine a folder over 9p. With the security model "none" a caller who is not root can use
// it too: changes of owner are not made then, instead of refused.
func sharedFolder(tag, path, access string) []string {
	escaped := strings.ReplaceAll(path, ",", ",,")
	return []string{
		"-fsdev", "local,id=" + tag + ",path=" + escaped + ",security_model=none,multidevs=remap" + access,
		"-device", "virtio-9p-pci,fsdev=" + tag + ",mount_tag=" + tag,
	}
}

// socketPair makes a stream whose second end is for another process.
func socketPair(name string) (ours, theirs *os.File, err error) {
	return connectedSockets(name, syscall.SOCK_STREAM)
}

func connectedSockets(name string, kind int) (ours, theirs *os.File, err error) {
	fds, err := syscall.Socketpair(syscall.AF_UNIX, kind|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("make the %s socket: %w", name, err)
	}
	// Only then can a read be interrupted by Close.
	if err := syscall.SetNonblock(fds[0], true); err != nil {
		return nil, nil, err
	}
	return os.NewFile(uintptr(fds[0]), name), os.NewFile(uintptr(fds[1]), name), nil
}
