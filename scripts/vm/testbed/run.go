package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/goudat/goudat/scripts/vm/control"
	"github.com/goudat/goudat/scripts/vm/wire"
)

// grace is how long a program may take to end after a signal or the time limit. On a busy host it may not be scheduled
// for some seconds.
const grace = 10 * time.Second

// bootedAgain begins the message about a machine that hung.
const bootedAgain = "testbed: the machine is booted again"

// surroundings are what differs between the machines of a run.
type surroundings struct {
	rank  int
	fleet *fleet
	out   programOutput
}

// alone are the surroundings of a single machine.
var alone = surroundings{out: programOutput{os.Stdout, os.Stderr}}

// run runs a program in a machine of its own and returns the test bed's exit code.
func run(p program, around surroundings, config machineConfig, signals <-chan os.Signal, log *progress) int {
	name, stderr := filepath.Base(p.name), around.out.stderr
	defer around.fleet.ended(around.rank)
	var keyboard *keyboard
	if p.shell {
		keyboard = openKeyboard()
		defer keyboard.restore()
		size := keyboard.size()
		p.job.Terminal = &size
	}
	m, err := around.start(config, p.job)
	if err != nil {
		fmt.Fprintf(stderr, "testbed: %v\n", err)
		return exitFailure
	}
	defer func() { m.end() }()
	log.step("the machine is started (%s)", config.accelerator)

	fail := func(reason string) int {
		m.end()
		keyboard.restore()
		fmt.Fprintf(stderr, "testbed: the machine failed, there is no result of %s: %s\n", name, reason)
		showSection(stderr, "the machine's console", m.console.String())
		return exitFailure
	}
	limit := newTimer(0) // set once the program runs
	boots := config.bootLimits
	boot := newTimer(boots[0])
	const noStep = "none"
	lastStep := noStep // of the boot
	end := newTimer(0) // set once the machine's end is decided
	started := false
	endCode := 0

	for {
		select {
		case f, open := <-m.frames:
			switch {
			case !open && around.fleet.wasKilled(around.rank):
				return 0
			case !open:
				return fail(m.failure())
			}
			switch f.kind {
			case wire.KindStep:
				lastStep = string(f.payload)
				log.step("%s", lastStep)
			case wire.KindStarted:
				log.step("%s runs", name)
				started = true
				boot, limit = newTimer(0), newTimer(p.timeout)
				keyboard.connect(m.control)
			case wire.KindRequest:
				around.fleet.request(around.rank, f.payload, func(r control.Reply) { go m.control.SendValue(wire.KindReply, r) })
			case wire.KindKernel:
				showSection(stderr, "kernel messages while "+name+" ran", string(f.payload))
			case wire.KindFailure:
				return fail(string(f.payload))
			case wire.KindExit:
				log.step("%s has ended", name)
				if endCode == exitTimeLimit {
					return exitTimeLimit
				}
				return int(f.payload[0])
			}

		case s := <-signals:
			number := s.(syscall.Signal)
			if endCode != 0 || !started {
				return exitSignalBase + int(number)
			}
			m.control.Send(wire.KindSignal, []byte{byte(number)})
			endCode, end = exitSignalBase+int(number), newTimer(grace)

		case <-limit:
			if endCode != 0 {
				continue
			}
			keyboard.restore()
			fmt.Fprintf(stderr, "testbed: %s exceeded its limit of %s\n", name, p.timeout)
			m.control.Send(wire.KindSignal, []byte{byte(syscall.SIGQUIT)})
			endCode, end = exitTimeLimit, newTimer(grace)

		case <-boot:
			late := fmt.Sprintf("it was not up after %s, its last step was: %s", boots[0], lastStep)
			boots, lastStep = boots[1:], noStep
			switch started := m.abandonBoot(); {
			case around.fleet.wasKilled(around.rank):
				return 0
			case started || len(boots) == 0:
				return fail(late)
			}
			fmt.Fprintf(stderr, "%s: %s\n", bootedAgain, late)
			config.quiet = false // so that its console shows where it hangs
			again, err := around.start(config, p.job)
			if err != nil {
				return fail(err.Error())
			}
			m, boot = again, newTimer(boots[0])
			if around.fleet.wasKilled(around.rank) {
				return 0
			}

		case <-end:
			if endCode == exitTimeLimit {
				m.end()
				showSection(stderr, "the machine's console", m.console.String())
			}
			return endCode
		}
	}
}

// start boots a machine in these surroundings.
func (s surroundings) start(config machineConfig, job wire.Job) (*machine, error) {
	wired, err := s.fleet.plug(s.rank)
	if err != nil {
		return nil, err
	}
	m, err := startMachine(config, job, s.out, wired)
	if err == nil {
		s.fleet.started(s.rank, m)
	}
	return m, err
}

// newTimer returns a timer's channel. For 0 the channel never delivers.
func newTimer(d time.Duration) <-chan time.Time {
	if d == 0 {
		return nil
	}
	return time.After(d)
}

func showSection(out io.Writer, title, text string) {
	if text == "" {
		return
	}
	fmt.Fprintf(out, "testbed: ---- %s ----\n%s\ntestbed: ---- end of %s ----\n", title, text, title)
}
