package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"github.com/goudat/goudat/scripts/vm/wire"
)

// machineConfig is the common configuration of all machines of a run.
type machineConfig struct {
	arch        *architecture
	root        string // the folder with the files of a foreign architecture
	emulator    string // not for User-Mode Linux, whose kernel is the program
	kernel      string
	initramfs   string
	accelerator string
	memory      string
	processors  int    // 0: as many as the host has, 4 at most
	coarse      bool   // timers expire at clock ticks
	verbose     bool   // show the console
	consoleLogs string // the folder for console logs; "": none
	claims      string // the folder in which machines of User-Mode Linux claim processors of the host

	// bootLimits are how long to wait for a machine at each boot.
	bootLimits []time.Duration
	quiet      bool // the kernel does not log to the console, which takes a good part of the boot
}

// machine is a running qemu, or kernel of User-Mode Linux.
type machine struct {
	name    string // the program's name in messages
	control *wire.Conn
	frames  chan frame // closed when the machine has ended, or must end
	console *tail
	errors  *tail // output of qemu or the kernel itself
	out     programOutput

	processes processGroup
	ended     chan struct{} // closed when the processes are gone
	state     error         // how the machine ended; valid after ended
	broken    error         // why the frames stopped while it ran; valid after frames
	readers   sync.WaitGroup
}

// programOutput is the destination of a program's output.
type programOutput struct{ stdout, stderr io.Writer }

// frame is a frame from the guest.
type frame struct {
	kind    wire.Kind
	payload []byte
}

// startMachine boots a machine and sends it its job. wired is its end of the wire, or nil for a single machine. The
// caller must end the machine.
func startMachine(config machineConfig, job wire.Job, out programOutput, wired *os.File) (*machine, error) {
	if wired != nil {
		defer wired.Close()
	}
	console, consoleEnd, err := socketPair("console", syscall.SOCK_STREAM)
	if err != nil {
		return nil, err
	}
	defer consoleEnd.Close()
	control, controlEnd, err := socketPair("control", syscall.SOCK_STREAM)
	if err != nil {
		console.Close()
		return nil, err
	}
	defer controlEnd.Close()

	var shown []io.Writer
	if config.verbose {
		shown = append(shown, out.stderr)
	}
	var consoleLog *os.File
	if config.consoleLogs != "" {
		if consoleLog, err = os.CreateTemp(config.consoleLogs, fmt.Sprintf("%s-%d-*.log", filepath.Base(job.Path), job.Rank)); err != nil {
			console.Close()
			control.Close()
			return nil, fmt.Errorf("the file for the console: %w", err)
		}
		shown = append(shown, consoleLog)
	}

	cmd, name := exec.Command(config.emulator, machineArguments(config, job)...), "qemu"
	var claimed *claimedProcessors
	if config.accelerator == acceleratorUML {
		cmd, name = umlCommand(config, job), "User-Mode Linux"
		claimed = claimProcessors(config.claims, max(config.processors, 1))
	}
	m := &machine{
		name:    name,
		control: wire.NewConn(control),
		frames:  make(chan frame),
		console: &tail{copyTo: io.MultiWriter(shown...)},
		errors:  &tail{},
		out:     out,
		ended:   make(chan struct{}),
	}
	cmd.ExtraFiles = []*os.File{consoleEnd, controlEnd}
	if wired != nil {
		cmd.ExtraFiles = append(cmd.ExtraFiles, wired)
	}
	if config.accelerator == acceleratorUML {
		// It begins with errors before there is a console, such as what the host lacks.
		cmd.Stdout, cmd.Stderr = consoleEnd, consoleEnd
	} else {
		cmd.Stderr = m.errors
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{
		// Whatever ends this process ends the machine.
		Pdeathsig: syscall.SIGKILL,
		// A signal from the terminal goes to this process only, which passes it on.
		Setpgid: true,
	}
	started := make(chan error)
	go func() {
		// The death signal is tied to the thread that started the process, not to this process.
		// It also keeps the processors for itself: the thread ends with this goroutine.
		runtime.LockOSThread()
		claimed.bindThread()
		err := cmd.Start()
		if err != nil {
			claimed.release()
			started <- err
			return
		}
		m.processes.leader = cmd.Process.Pid
		started <- nil
		m.processes.awaitEnd()
		m.state = cmd.Wait()
		claimed.release()
		close(m.ended)
	}()
	if err := <-started; err != nil {
		console.Close()
		control.Close()
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	m.readers.Add(1)
	go func() {
		defer m.readers.Done()
		defer console.Close()
		size, _ := io.Copy(m.console, console)
		if consoleLog != nil {
			consoleLog.Close()
			if size == 0 {
				os.Remove(consoleLog.Name())
			}
		}
	}()
	go func() {
		defer close(m.frames)
		defer control.Close()
		m.broken = m.receive(job)
	}()
	return m, nil
}

// receive sends a machine its job once it is up, writes the program's output and passes on all other frames, until the
// machine ends. It writes the output here to keep the order. A reader that does not read stops the program, but not
// signals or the time limit.
func (m *machine) receive(job wire.Job) error {
	for {
		kind, payload, err := m.control.Receive()
		// A machine that ends with unread data resets the connection.
		if err == io.EOF || errors.Is(err, syscall.ECONNRESET) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("receive from the machine: %w", err)
		}
		switch kind {
		case wire.KindReady:
			// If the machine is gone already, the missing next frame shows it.
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

// abandonBoot ends a machine that is not up, and reports whether its program was started after all.
func (m *machine) abandonBoot() (started bool) {
	m.end()
	for f := range m.frames {
		started = started || f.kind == wire.KindStarted
	}
	return started
}

// failure ends a machine whose frames have stopped, and returns the reason.
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

// kernelArguments mostly turn off what a boot would wait for. Each architecture adds some.
var kernelArguments = []string{
	// A kernel that panics must end the machine, with the reason on the console.
	"panic=-1", "oops=panic",
	"mitigations=off", "nowatchdog", "rcupdate.rcu_cpu_stall_suppress=1", "audit=0", "apparmor=0", "cryptomgr.notests",
}

// emulatedArguments turn off features that take a third to a half of an emulated machine's processor time, and that
// programs do not notice. The emulator caches translated code by its virtual address: with libraries at random
// addresses, it would translate them again for each process. The other arguments turn off hardening of the kernel.
var emulatedArguments = []string{
	"norandmaps", "init_on_alloc=0", "hardened_usercopy=off", "randomize_kstack_offset=off", "rodata=off", "lsm=",
}

// mostByDefault is the most processors of a machine unless the options ask for more: emulated processors slow each
// other down.
const mostByDefault = 4

// machineArguments returns qemu's command line. The console, the control port and the wire are its descriptors 3, 4 and
// 5.
func machineArguments(config machineConfig, job wire.Job) []string {
	args := []string{
		"-nodefaults", "-no-user-config", "-display", "none", "-no-reboot",
		"-m", config.memory,
		"-kernel", config.kernel, "-initrd", config.initramfs,
	}
	args = append(args, config.arch.board...)
	processors := fmt.Sprint(cmp.Or(config.processors, min(runtime.NumCPU(), mostByDefault)))
	kernel := append(slices.Clone(config.arch.kernel), kernelArguments...)
	switch config.accelerator {
	case acceleratorKVM:
		kernel = append(kernel, "tsc=reliable")
		args = append(args, "-accel", "kvm", "-cpu", "host", "-smp", processors)
	case acceleratorCount:
		kernel = append(kernel, "tsc=reliable", "tsc_early_khz=1000000") // a tick is a nanosecond
		args = append(args, "-accel", "tcg,thread=single", "-icount", "shift=0", "-cpu", config.arch.processor, "-smp", "1")
	default:
		if config.arch == amd64 {
			// On a busy host, the kernel would measure a wrong frequency of the time-stamp counter, and all its clocks
			// would be wrong by that factor.
			kernel = append(kernel, "notsc")
		}
		args = append(args, "-accel", "tcg,thread=multi", "-cpu", config.arch.processor, "-smp", processors)
	}
	if config.accelerator != acceleratorKVM {
		kernel = append(kernel, emulatedArguments...)
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
		// No ROM: the machine does not boot from the network.
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

// sharedFolder shares a folder with the machine over 9p. The security model "none" also works for a caller who is not
// root: it ignores changes of owner instead of refusing them.
func sharedFolder(tag, path, access string) []string {
	escaped := strings.ReplaceAll(path, ",", ",,")
	return []string{
		"-fsdev", "local,id=" + tag + ",path=" + escaped + ",security_model=none,multidevs=remap" + access,
		"-device", "virtio-9p-pci,fsdev=" + tag + ",mount_tag=" + tag,
	}
}

// socketPair makes two connected sockets. The second is for another process.
func socketPair(name string, kind int) (ours, theirs *os.File, err error) {
	fds, err := syscall.Socketpair(syscall.AF_UNIX, kind|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("make the %s socket: %w", name, err)
	}
	// Close can interrupt a read only then.
	if err := syscall.SetNonblock(fds[0], true); err != nil {
		return nil, nil, err
	}
	return os.NewFile(uintptr(fds[0]), name), os.NewFile(uintptr(fds[1]), name), nil
}

// processGroup is a machine's processes: the leader, whose number is the group's, and its children. User-Mode Linux has
// a process for each address space of the machine.
type processGroup struct {
	leader int

	mu    sync.Mutex
	ended bool // the leader's number may now be another process's
}

// signal sends a signal to all processes of the group. It fails when the leader has ended.
func (g *processGroup) signal(s syscall.Signal) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.ended {
		return os.ErrProcessDone
	}
	return syscall.Kill(-g.leader, s)
}

// awaitEnd returns when the leader has ended and the others have been killed. The caller must still wait for the
// leader.
func (g *processGroup) awaitEnd() {
	const (
		pid    = 1         // P_PID of <sys/wait.h>
		noWait = 0x1000000 // WNOWAIT
	)
	var info [128]byte // siginfo_t
	for errno := syscall.EINTR; errno == syscall.EINTR; {
		_, _, errno = syscall.Syscall6(syscall.SYS_WAITID, pid, uintptr(g.leader), uintptr(unsafe.Pointer(&info)),
			syscall.WEXITED|noWait, 0, 0)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.ended = true
	syscall.Kill(-g.leader, syscall.SIGKILL)
}
