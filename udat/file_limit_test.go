//go:build linux

package udat_test

import (
	"errors"
	"strings"
	"syscall"
	"testing"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/device"
	"github.com/goudat/goudat/udat/udattest"
)

// leaveFiles takes all files that the process can open but a few, until free is called.
func leaveFiles(t *testing.T, left int) (free func()) {
	t.Helper()
	var old syscall.Rlimit
	want(t, syscall.Getrlimit(syscall.RLIMIT_NOFILE, &old))
	want(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: min(old.Cur, 200), Max: old.Max}))
	var taken []int
	for {
		fd, err := syscall.EpollCreate1(syscall.EPOLL_CLOEXEC)
		if err != nil {
			break
		}
		taken = append(taken, fd)
	}
	if len(taken) < left {
		t.Fatalf("only %d files can be opened", len(taken))
	}
	close := func(files []int) {
		for _, fd := range files {
			want(t, syscall.Close(fd))
		}
	}
	close(taken[:left])
	return func() {
		want(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &old))
		close(taken[left:])
	}
}

// Each call that takes a file says that there are none, if it fails for want of that. No other call
// fails.
func TestFullFileTable(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		socket := 0 // which the socket CM provider opens
		if strings.Contains(ia.Name(), "scm") {
			socket = 1
		}
		listener := udattest.Listen(t, ia)
		requests, qual := listener.Requests, listener.ConnQual
		made := func(o interface{ Free() error }, err error) error {
			if err == nil {
				want(t, o.Free())
			}
			return err
		}
		endpoint := func() *udattest.Endpoint { return udattest.NewEndpoint(t, ia, nil) }
		one, other, reserved, asking, asked := endpoint(), endpoint(), endpoint(), endpoint(), endpoint()
		connected, peer := endpoint(), endpoint()
		udattest.ConnectPair(t, listener, connected, peer)
		want(t, asking.EP.Connect(udattest.Address(t, ia), qual, udattest.Patience, nil))
		request := udattest.Wait(t, requests).CR()
		for _, c := range []struct {
			name  string
			files int // that it takes at least
			call  func() error
		}{
			{"CreateCNO", 2, func() error { return made(udat.CreateCNO(ia, nil)) }},
			{"CreatePSP", socket, func() error { return made(udat.CreatePSP(ia, qual+1, requests)) }},
			{"CreatePSPAny", socket, func() error { return made(udat.CreatePSPAny(ia, requests)) }},
			{"CreateRSP", socket, func() error { return made(udat.CreateRSP(ia, qual+2, reserved.EP, requests)) }},
			{"Connect", socket, func() error { return one.EP.Connect(udattest.Address(t, ia), qual+3, udattest.Patience, nil) }},
			{"DupConnect", socket, func() error { return other.EP.DupConnect(connected.EP, udattest.Patience, nil) }},
			{"Open", 2, func() error { return second(udat.Open(ia.Name())) }},
			{"RegisterProvider", 1, func() error { return udat.RegisterProvider("files", "/lib/none.so", "lo 0") }},
			{"List", 4, func() error { return second(device.List()) }},
			{"CreateEP", 1, func() error { return made(udat.CreateEP(ia, one.PZ, nil, nil, one.Connect, nil)) }},
			{"Modify", 1, func() error { return reserved.EP.Modify(udat.EPFieldRecvEVD, &udat.EPParam{}) }},
			{"Accept", 0, func() error { return request.Accept(asked.EP, nil) }},
			{"CreateEVD", 0, func() error { return made(udat.CreateEVD(ia, 8, nil, udat.EVDDTO)) }},
			{"CreatePZ", 0, func() error { return made(udat.CreatePZ(ia)) }},
			{"CreateSRQ", 0, func() error {
				srq, err := udat.CreateSRQ(ia, one.PZ, udat.SRQAttr{MaxRecvDTOs: 4, MaxRecvIOV: 1})
				if errors.Is(err, udat.ErrModelNotSupported) {
					t.Log("not tested: the device has no shared receive queues")
					return nil
				}
				return made(srq, err)
			}},
			{"AllocMemory", 0, func() error { return made(udat.AllocMemory(one.PZ, 64, udat.MemPrivAll)) }},
		} {
			for left := range max(c.files, 1) {
				free := leaveFiles(t, left)
				err := c.call()
				free()
				if c.files > 0 {
					want(t, err, device.ProblemFileLimit, syscall.EMFILE)
				} else {
					want(t, err)
				}
				if t.Failed() {
					t.Fatalf("that was %s with %d files left", c.name, left)
				}
				var e *udat.Error
				if errors.As(err, &e) && e.Return.Type() != udat.ErrInsufficientResources {
					t.Errorf("%s: the code is %v", c.name, e.Return)
				}
			}
		}
		if socket == 0 {
			want(t, udattest.Wait(t, requests).CR().Reject(nil)) // that of DupConnect
		}
	})
}
