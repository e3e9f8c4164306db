//go:build linux

package reliability

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/goudat/goudat/scripts/trials/internal/process"
	"github.com/goudat/goudat/scripts/vm/control"
	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/udattest"
)

// limit is a limit of a process.
type limit struct {
	what         string
	nobody       bool           // root has no such limit
	adapters     bool           // it refuses them
	prepare      func(s *scene) // before there is an adapter
	lower, raise func(s *scene)
}

var limits = map[string]limit{
	"files": {
		what:     "no more files can be opened",
		adapters: true,
		lower:    func(s *scene) { s.setLimit(syscall.RLIMIT_NOFILE, uint64(highestFile(s)+4)) },
		raise:    func(s *scene) { s.setLimit(syscall.RLIMIT_NOFILE, math.MaxUint64) },
	},
	"memory": {
		what:   "no more memory can be locked",
		nobody: true,
		lower:  func(s *scene) { s.setLimit(rlimitMemlock, uint64(holdings(s.T).Pinned+256)<<10) },
		raise:  func(s *scene) { s.setLimit(rlimitMemlock, math.MaxUint64) },
	},
	"queue pairs": {
		what:    "no more queue pairs can be made",
		prepare: (*scene).enterGroup,
		lower:   func(s *scene) { s.do(s.group.Limit(control.Device(), 6)) },
		raise:   func(s *scene) { s.do(s.group.Lift(control.Device())) },
	},
}

// At a limit, the error names it, and existing objects are not disturbed.
func TestLimitReached(t *testing.T) {
	for _, name := range []string{"files", "memory", "queue pairs"} {
		t.Run(name, func(t *testing.T) {
			play(t, limits[name].what+", with two connections alive", func(s *scene) {
				if !s.near() {
					s.serveLimited()
					return
				}
				stream, spare := s.peerService(), s.peerService()
				v := s.startVictim(name, fmt.Sprintf("%v %v", stream, spare))
				s.saw("%s; the existing connections continued", v.says())
				v.wait()
				s.meet("")
				s.reconnect()
			})
		})
	}
}

// The messages on each connection of a victim at a limit.
const limitedMessages = 400

// serveLimited is the peer of a victim at a limit.
func (s *scene) serveLimited() {
	listener, spare := udattest.Listen(s.T, s.ia), udattest.Listen(s.T, s.ia)
	s.tell(int(listener.ConnQual))
	s.tell(int(spare.ConnQual))
	s.acceptAll(spare)
	for range 3 { // connections, the last after the limit
		e := s.endpoint()
		r := s.receive(e)
		s.accept(listener, e)
		defer r.expect(limitedMessages)
	}
	s.meet("")
	s.reconnect()
}

// reach takes a victim to a limit and back.
func (s *scene) reach(l limit, stream, spare netip.AddrPort) string {
	s.Helper()
	first, second := s.connectTo(stream), s.connectTo(stream)
	on := udattest.Options{QueueLength: 4096}.NewEndpoint(s.T, s.ia)
	more := attempts{s: s, on: on, to: spare, refused: map[string]error{}, adapters: l.adapters}
	before := holdings(s.T)
	other := make(chan sent)
	result := s.send(first, limitedMessages, map[int]func(){
		100: func() {
			go func() { other <- s.send(second, limitedMessages, nil) }()
			l.lower(s)
			more.press()
		},
		200: more.round,
		300: func() {
			l.raise(s)
			more.free()
		},
	})
	for _, result := range []sent{result, <-other} {
		if result.acknowledged != limitedMessages {
			s.Errorf("on a connection that was there %s", result.of(limitedMessages))
		}
	}
	before.await(s.T)
	if result := s.send(s.connectTo(stream), limitedMessages, nil); result.acknowledged != limitedMessages {
		s.Errorf("on a connection after that %s", result.of(limitedMessages))
	}
	return more.String()
}

// attempts makes objects of all kinds.
type attempts struct {
	s        *scene
	on       *udattest.Endpoint // shared by endpoints
	to       netip.AddrPort
	made     []freer
	refused  map[string]error // the first of each kind
	adapters bool             // some of these are open, too
}

// press makes one object of each kind again and again, until well after the first refusals.
func (a *attempts) press() {
	a.s.Helper()
	const rounds = 8
	for range rounds {
		a.round()
	}
	if len(a.refused) == 0 {
		a.s.Errorf("nothing is refused though there are %d objects more", len(a.made))
	}
}

func (a *attempts) round() {
	a.try("an event dispatcher", func() (freer, error) { return udat.CreateEVD(a.s.ia, 64, nil, udat.EVDDTO) })
	a.try("memory", func() (freer, error) { return udat.AllocMemory(a.on.PZ, 64<<10, udat.MemPrivAll) })
	var ep *udat.EP
	a.try("an endpoint", func() (_ freer, err error) {
		ep, err = udat.CreateEP(a.s.ia, a.on.PZ, a.on.Recv, a.on.Request, a.on.Connect, nil)
		return ep, err
	})
	if ep != nil {
		a.try("a connection", func() (freer, error) { return nil, a.connect(ep) })
	}
	if a.adapters {
		a.try("an adapter", func() (freer, error) {
			ia, err := udat.Open(a.s.provider)
			return adapter{ia}, err
		})
	}
}

// connect connects, and returns an error unless the event is a success.
func (a *attempts) connect(ep *udat.EP) error {
	if err := ep.Connect(a.to.Addr(), udat.ConnQual(a.to.Port()), bound, nil); err != nil {
		return err
	}
	event := udattest.Wait(a.s.T, a.on.Connect)
	return event.Err()
}

func (a *attempts) try(what string, do func() (freer, error)) {
	a.s.Helper()
	o, err := do()
	if err == nil {
		if o != nil {
			a.made = append(a.made, o)
		}
		return
	}
	if a.refused[what] == nil {
		a.refused[what] = err
	}
	if !errors.Is(err, udat.ErrInsufficientResources) {
		a.s.Errorf("%s is refused with: %v", what, err)
	}
}

func (a *attempts) free() {
	a.s.Helper()
	for _, o := range slices.Backward(a.made) {
		a.s.do(o.Free())
	}
}

// String returns what was refused.
func (a *attempts) String() string {
	var texts []string
	for _, what := range slices.Sorted(maps.Keys(a.refused)) {
		text := a.refused[what].Error()
		var refusal *udat.Error
		if errors.As(a.refused[what], &refusal) {
			text = refusal.Return.String()
		}
		texts = append(texts, fmt.Sprintf("%s is refused with %s", what, text))
	}
	return strings.Join(texts, "; ")
}

type freer interface{ Free() error }

// adapter has a Free that closes it.
type adapter struct{ *udat.IA }

func (a adapter) Free() error { return a.Close(udat.CloseGraceful) }

// highestFile returns the highest descriptor that is open.
func highestFile(s *scene) int {
	s.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	s.do(err)
	highest := 0
	for _, entry := range entries {
		n, err := strconv.Atoi(entry.Name())
		s.do(err)
		highest = max(highest, n)
	}
	return highest
}

const rlimitMemlock = 8 // which package syscall lacks

// setLimit sets the soft limit of a resource, up to the hard limit.
func (s *scene) setLimit(resource int, to uint64) {
	s.Helper()
	var limit syscall.Rlimit
	s.do(syscall.Getrlimit(resource, &limit))
	limit.Cur = min(to, limit.Max)
	s.do(syscall.Setrlimit(resource, &limit))
}

// enterGroup is for limits of the device's objects.
func (s *scene) enterGroup() {
	s.Helper()
	var err error
	s.group, err = process.EnterGroup()
	s.do(err)
}

// Requests to a process that can open no more files get an answer or an event, at the latest when it can open files
// again. The listener keeps working.
func TestListenerWithoutFiles(t *testing.T) {
	play(t, "requests come to a listener whose process can open no more files", func(s *scene) {
		if s.near() {
			s.requestWithoutFiles()
		} else {
			s.listenWithoutFiles()
		}
		s.reconnect()
	})
}

// stepRefilled is the meeting at which the listener can open files again.
const stepRefilled = "refilled"

func (s *scene) listenWithoutFiles() {
	s.Helper()
	listener := udattest.Listen(s.T, s.ia)
	stop := s.acceptAll(listener)
	s.tell(int(listener.ConnQual))
	// The meeting's file is opened first. Only the process's files show that.
	before := holdings(s.T).Descriptors
	met := make(chan error, 1)
	go func() {
		_, err := s.meetAt(stepRefilled, bound, "")
		met <- err
	}()
	s.eventually("the meeting begins", func() bool { return holdings(s.T).Descriptors != before })
	s.meet("")
	giveBack := s.takeFiles()
	err := <-met
	giveBack()
	s.do(err)
	s.meet("")
	stop()
}

func (s *scene) requestWithoutFiles() {
	s.Helper()
	const requests = 8
	qual := udat.ConnQual(s.tell(0))
	var all []*udattest.Endpoint
	for range requests {
		all = append(all, udattest.NewEndpoint(s.T, s.ia, nil))
	}
	s.meet("")
	for _, e := range all {
		s.do(e.EP.Connect(s.peerAddress(), qual, bound, nil))
	}
	waiting, established, refused := all, 0, 0
	// take takes the results that arrive in time.
	take := func(limit time.Duration) {
		ctx, cancel := context.WithTimeout(context.Background(), limit)
		defer cancel()
		var still []*udattest.Endpoint
		for _, e := range waiting {
			switch event, err := e.Connect.Wait(ctx); {
			case err != nil:
				still = append(still, e)
			case event.Number == udat.EventConnectionEstablished:
				established++
			default:
				refused++
			}
		}
		waiting = still
	}
	take(time.Second)
	s.saw("%d of %d were established within a second", established, requests)
	_, err := s.meetAt(stepRefilled, bound, "")
	s.do(err)
	take(bound)
	if len(waiting) > 0 {
		s.Errorf("%d requests have no outcome", len(waiting))
	}
	s.saw("%d once there were files again, %d were refused", established, refused)
	for _, e := range all {
		s.do(e.EP.Free())
	}
	s.meet("")
}

// takeFiles opens all files that the limit allows, until giveBack.
func (s *scene) takeFiles() (giveBack func()) {
	s.Helper()
	s.setLimit(syscall.RLIMIT_NOFILE, uint64(highestFile(s)+1))
	var files []int
	for {
		fd, err := syscall.Open(os.DevNull, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
		if err != nil {
			break
		}
		files = append(files, fd)
	}
	return func() {
		s.setLimit(syscall.RLIMIT_NOFILE, math.MaxUint64)
		for _, fd := range files {
			syscall.Close(fd)
		}
	}
}
