//go:build linux && amd64

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/goudat/goudat/scripts/vm/wire"
)

const (
	// grace is how long a program has to end after a signal or the time limit.
	grace = 3 * time.Second
	// bootLimit is many times what an emulated boot takes on a busy host.
	bootLimit = 2 * time.Minute
)

// run runs a program in a machine of its own and returns the exit code of the test bed.
func run(p program, config machineConfig, signals <-chan os.Signal, log *progress) int {
	name := filepath.Base(p.name)
	var keyboard *keyboard
	if p.shell {
		keyboard = openKeyboard()
		defer keyboard.restore()
		size := keyboard.size()
		p.job.Terminal = &size
	}
	m, err := startMachine(config, p.job)
	if err != nil {
		fmt.Fprintf(os.Stderr, "testbed: %v\n", err)
		return exitFailure
	}
	defer m.end()
	log.step("the machine is started (%s)", config.accelerator)

	fail := func(reason string) int {
		m.end()
		keyboard.restore()
		fmt.Fprintf(os.Stderr, "testbed: the machine failed, there is no result of %s: %s\n", name, reason)
		showSection("the machine's console", m.console.String())
		return exitFailure
	}
	limit := newTimer(p.timeout)
	boot := newTimer(bootLimit)
	end := newTimer(0) // set once the machine's end is decided
	started := false
	endCode := 0

	for {
		select {
		case f, open := <-m.frames:
			if !open {
				return fail(m.failure())
			}
			switch f.kind {
			case wire.KindStep:
				log.step("%s", f.payload)
			case wire.KindStarted:
				log.step("%s runs", name)
				started = true
				boot = newTimer(0)
				keyboard.connect(m.control)
			case wire.KindKernel:
				showSection("kernel messages while "+name+" ran", string(f.payload))
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
			fmt.Fprintf(os.Stderr, "testbed: %s exceeded its limit of %s\n", name, p.timeout)
			if !started {
				m.end()
				showSection("the machine's console", m.console.String())
				return exitTimeLimit
			}
			m.control.Send(wire.KindSignal, []byte{byte(syscall.SIGQUIT)})
			endCode, end = exitTimeLimit, newTimer(grace)

		case <-boot:
			return fail(fmt.Sprintf("it was not up after %s", bootLimit))

		case <-end:
			if endCode == exitTimeLimit {
				m.end()
				showSection("the machine's console", m.console.String())
			}
			return endCode
		}
	}
}

// newTimer gives a channel that never delivers for 0.
func newTimer(d time.Duration) <-chan time.Time {
	if d == 0 {
		return nil
	}
	return time.After(d)
}

func showSection(title, text string) {
	if text == "" {
		return
	}
	fmt.Fprintf(os.Stderr, "testbed: ---- %s ----\n%s\ntestbed: ---- end of %s ----\n", title, text, title)
}
