package main

import (
	"fmt"
	"os"
	"slices"
	"sync"
	"syscall"

	"github.com/goudat/goudat/scripts/vm/control"
	"github.com/goudat/goudat/scripts/vm/wire"
)

// fleet is the machines of a run. It is nil for a single machine.
type fleet struct {
	ether *ether

	mu       sync.Mutex
	members  []*member
	meetings map[string]*meeting
}

// member is a machine in the fleet.
type member struct {
	machine *machine // nil until it is started
	killed  bool     // killed on request, which is no failure
	gone    bool     // killed, or its program has ended
}

// meeting is a point at which machines wait for each other.
type meeting struct {
	among   []int // the ranks that take part; none: all
	arrived []bool
	values  []string
	replies []func(control.Reply) // replies to those who have arrived
}

func newFleet(machines int, e *ether) *fleet {
	f := &fleet{ether: e, meetings: map[string]*meeting{}}
	for range machines {
		f.members = append(f.members, &member{})
	}
	return f
}

// plug returns the machine's end of the wire, or nil for a single machine.
func (f *fleet) plug(rank int) (*os.File, error) {
	if f == nil {
		return nil, nil
	}
	return f.ether.plug(rank)
}

// started adds a machine.
func (f *fleet) started(rank int, m *machine) {
	if f == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.members[rank].machine = m
}

// ended removes a machine from the meetings.
func (f *fleet) ended(rank int) {
	if f == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.members[rank].gone = true
	f.finishMeetings()
}

func (f *fleet) wasKilled(rank int) bool {
	if f == nil {
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.members[rank].killed
}

// request handles a request from a program in a machine. The reply may come much later.
func (f *fleet) request(from int, payload []byte, reply func(control.Reply)) {
	var r control.Request
	if err := wire.Decode(payload, &r); err != nil {
		return // from the guest, not from the program
	}
	answer := func(a control.Reply) {
		a.ID = r.ID
		reply(a)
	}
	switch {
	case f == nil:
		answer(control.Reply{Error: "there is only one machine: start the test bed with --machines"})
	case r.Verb == control.VerbMeet:
		f.meet(from, r, answer)
	case r.Rank < 0 || r.Rank >= len(f.members):
		answer(control.Reply{Error: fmt.Sprintf("there is no machine %d, their ranks are 0 to %d", r.Rank, len(f.members)-1)})
	default:
		a := control.Reply{}
		if err := f.disturb(r.Verb, r.Rank); err != nil {
			a.Error = err.Error()
		}
		answer(a)
	}
}

// disturb acts on a machine, or on its link.
func (f *fleet) disturb(verb control.Verb, rank int) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	target := f.members[rank]
	if target.machine == nil {
		return fmt.Errorf("machine %d is not up", rank)
	}
	switch verb {
	case control.VerbCut, control.VerbRestore:
		f.ether.setCut(rank, verb == control.VerbCut)
		return nil
	case control.VerbPause:
		return target.machine.processes.signal(syscall.SIGSTOP)
	case control.VerbResume:
		return target.machine.processes.signal(syscall.SIGCONT)
	case control.VerbKill:
		target.killed, target.gone = true, true
		f.finishMeetings()
		return target.machine.processes.signal(syscall.SIGKILL)
	}
	return fmt.Errorf("the test bed knows no request %q", verb)
}

func (f *fleet) meet(from int, r control.Request, reply func(control.Reply)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	m := f.meetings[r.Name]
	if m == nil {
		m = &meeting{among: r.Among, arrived: make([]bool, len(f.members)), values: make([]string, len(f.members))}
		f.meetings[r.Name] = m
	}
	if m.arrived[from] {
		reply(control.Reply{Error: fmt.Sprintf("machine %d is at the meeting %q already", from, r.Name)})
		return
	}
	m.arrived[from], m.values[from] = true, r.Value
	m.replies = append(m.replies, reply)
	f.finishMeetings()
}

// finishMeetings ends the meetings that are complete. The caller holds mu.
func (f *fleet) finishMeetings() {
	for name, m := range f.meetings {
		if f.waitsForAny(m) {
			continue
		}
		for _, reply := range m.replies {
			reply(control.Reply{Values: m.values})
		}
		delete(f.meetings, name)
	}
}

func (f *fleet) waitsForAny(m *meeting) bool {
	for rank, member := range f.members {
		invited := len(m.among) == 0 || slices.Contains(m.among, rank)
		if invited && !m.arrived[rank] && !member.gone {
			return true
		}
	}
	return false
}

// runFleet runs a program in several machines on one network, and returns the largest exit code. The output of the
// machine with the rank plain has no prefix.
func runFleet(p program, machines, plain int, config machineConfig, signals <-chan os.Signal, log *progress) int {
	fleet := newFleet(machines, newEther(machines))
	var forwards []chan os.Signal
	codes := make(chan int)
	for rank := range machines {
		prefix := fmt.Sprintf("[%d] ", rank)
		if rank == plain {
			prefix = ""
		}
		out, err := newPrefixed(os.Stdout, prefix), newPrefixed(os.Stderr, prefix)
		forward := make(chan os.Signal, cap(signals))
		forwards = append(forwards, forward)
		around := surroundings{rank: rank, fleet: fleet, out: programOutput{out, err}}
		go func() {
			code := run(p.on(rank), around, config, forward, log)
			out.close()
			err.close()
			codes <- code
		}()
	}
	worst := 0
	for left := machines; left > 0; {
		select {
		case s := <-signals:
			for _, forward := range forwards {
				forward <- s
			}
		case code := <-codes:
			worst = max(worst, code)
			left--
		}
	}
	return worst
}
