//go:build linux

package reliability

import (
	"bufio"
	"fmt"
	"io"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/goudat/goudat/scripts/vm/control"
	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/udattest"
)

// A victim is a process that stops at a stage of a connection's life and is killed there. It runs TestVictim.
type victim struct {
	s     *scene
	cmd   *exec.Cmd
	lines *bufio.Scanner
	in    io.WriteCloser
}

// The environment of a victim, and the prefix of its output.
const (
	stageVariable   = "RELIABILITY_STAGE"
	adapterVariable = "RELIABILITY_ADAPTER"
	serviceVariable = "RELIABILITY_SERVICE" // addresses and qualifiers, for a victim that connects
	victimSays      = "victim: "
)

// The stages at which a victim stops.
const (
	stageRequested   = "requested"   // it has a request, and does not answer it
	stageAccepted    = "accepted"    // it has accepted, and ignores what follows
	stageReceiving   = "receiving"   // it receives messages
	stageEstablished = "established" // it does nothing
	stageConnecting  = "connecting"  // it is connecting

	// These end by themselves, after freeing everything.
	stageReceivingUntilLost = "receiving until lost" // it receives messages until the device is gone
	stageSendingUntilLost   = "sending until lost"   // it sends them
	stageReceivingOne       = "receiving one"
)

func (s *scene) startVictim(stage string, service string) *victim {
	s.Helper()
	// Under this name, users find the program even if they may not enter its folder, such as the one of "go test".
	cmd := exec.Command("/proc/self/exe", "-test.run", "^TestVictim$", "-test.timeout", bound.String())
	cmd.Env = append(os.Environ(), stageVariable+"="+stage, adapterVariable+"="+s.provider, serviceVariable+"="+service)
	if limits[stage].nobody {
		const (
			nobody      = 65534
			readAnyFile = 2 // CAP_DAC_READ_SEARCH: libraries may lie in a folder that only their owner may enter
		)
		cmd.SysProcAttr = &syscall.SysProcAttr{
			Credential:  &syscall.Credential{Uid: nobody, Gid: nobody},
			AmbientCaps: []uintptr{readAnyFile},
		}
	}
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	s.do(err)
	in, err := cmd.StdinPipe()
	s.do(err)
	s.do(cmd.Start())
	v := &victim{s, cmd, bufio.NewScanner(out), in}
	s.Cleanup(v.kill)
	return v
}

// says returns the victim's next line.
func (v *victim) says() string {
	v.s.Helper()
	for v.lines.Scan() {
		if text, found := strings.CutPrefix(v.lines.Text(), victimSays); found {
			return text
		}
		fmt.Println(v.lines.Text())
	}
	v.s.Fatal("the victim has ended by itself")
	return ""
}

func (v *victim) kill() {
	v.cmd.Process.Kill()
	v.cmd.Wait()
}

// TestVictim is the program of a victim, and not a test.
func TestVictim(t *testing.T) {
	stage := os.Getenv(stageVariable)
	if stage == "" {
		return
	}
	say := func(format string, args ...any) { fmt.Printf(victimSays+format+"\n", args...) }
	stop := func() {
		say("stopped")
		select {}
	}
	s := &scene{T: t, provider: os.Getenv(adapterVariable), patience: bound}
	var services []netip.AddrPort
	for text := range strings.FieldsSeq(os.Getenv(serviceVariable)) {
		services = append(services, netip.MustParseAddrPort(text))
	}
	l, limited := limits[stage]
	if limited && l.prepare != nil {
		l.prepare(s)
	}
	s.ia = udattest.Open(t, s.provider)
	s.iwarp = udattest.IWARP(t, s.ia)
	if limited {
		say("%s", s.reach(l, services[0], services[1]))
		return
	}
	e := s.endpoint()
	if len(services) > 0 {
		s.do(e.EP.Connect(services[0].Addr(), udat.ConnQual(services[0].Port()), bound, nil))
	}
	if stage == stageConnecting {
		stop()
	}
	if stage == stageSendingUntilLost {
		udattest.Expect(t, e.Connect, udat.EventConnectionEstablished)
		s.losing = true
		s.outlive(e, say, func() int {
			return s.send(e, untilFailure, map[int]func(){100: func() { say("sending") }}).arrived
		})
		return
	}
	listener := udattest.Listen(t, s.ia)
	say("%d", listener.ConnQual)
	cr := udattest.Expect(t, listener.Requests, udat.EventConnectionRequest).CR()
	if stage == stageRequested {
		stop()
	}
	var r *receiver
	switch stage {
	case stageReceiving, stageReceivingUntilLost:
		r = s.receive(e)
	case stageReceivingOne:
		s.do(e.PostRecv([]udat.Segment{e.Segment(t, 0, 64)}, 1, 0))
	}
	s.do(cr.Accept(e.EP, nil))
	if stage == stageAccepted {
		stop()
	}
	udattest.Expect(t, e.Connect, udat.EventConnectionEstablished)
	switch stage {
	case stageReceivingUntilLost:
		s.outlive(e, say, func() int {
			<-r.done
			return int(r.received.Load())
		})
	case stageReceivingOne:
		s.succeeded(udattest.Wait(t, e.Recv))
	default:
		stop()
	}
}

// startListening starts a victim that listens, and tells the other side its qualifier.
func (s *scene) startListening(stage string) *victim {
	s.Helper()
	v := s.startVictim(stage, "")
	s.meet(v.says())
	return v
}

// expect expects a victim to say something.
func (v *victim) expect(want string) {
	v.s.Helper()
	if got := v.says(); got != want {
		v.s.Fatalf("the victim says %q, want %q", got, want)
	}
}

// A machine that loses its power tells nobody.
func TestMachineKilled(t *testing.T) {
	peers, err := control.Peers()
	names := udattest.Names(t)
	if err == nil && len(peers) < firstVictimRank+len(names) {
		t.Skipf("none of %d machines can be killed: the test needs %d", len(peers), firstVictimRank+len(names))
	}
	for i, name := range names {
		t.Run(name, func(t *testing.T) {
			playOn(t, []string{name}, firstVictimRank+i, "the peer's machine is killed, in the middle of sends", func(s *scene) {
				s.patience = patience
				const n = 1000
				result := s.deliver(s.connect(), n, s.inTheMiddle(func() { s.do(control.Kill(background, s.peer)) }))
				s.gaveUp(result, n)
			})
		})
	}
}
