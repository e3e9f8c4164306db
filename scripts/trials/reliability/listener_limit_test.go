//go:build linux

package reliability

import (
	"context"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/udattest"
)

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
	for deadline := time.Now().Add(bound); holdings(s.T).Descriptors == before; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			s.Fatal("the meeting does not begin")
		}
	}
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
	s.lowerLimit(syscall.RLIMIT_NOFILE, uint64(highestFile(s)+1))
	var files []int
	for {
		fd, err := syscall.Open(os.DevNull, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
		if err != nil {
			break
		}
		files = append(files, fd)
	}
	return func() {
		s.raiseLimit(syscall.RLIMIT_NOFILE)
		for _, fd := range files {
			syscall.Close(fd)
		}
	}
}
