//go:build linux

package udat_test

import (
	"errors"
	"fmt"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/udattest"
)

// An event loop that has descriptors of its own waits for events of uDAPL with them.
func ExampleCNO_SyscallConn() {
	l := newLine() // two connected endpoints
	defer l.close()
	memory := must(udat.AllocMemory(l.pz, 4096, udat.MemPrivLocalRead|udat.MemPrivLocalWrite))
	check(l.server.PostRecv([]udat.Segment{must(memory.Segment(0, 64))}, 1, udat.CompletionDefault))

	cno := must(udat.CreateCNO(l.ia, nil))
	check(l.received.ModifyCNO(cno))
	loop := must(syscall.EpollCreate1(syscall.EPOLL_CLOEXEC))
	defer syscall.Close(loop)
	check(must(cno.SyscallConn()).Control(func(fd uintptr) {
		check(syscall.EpollCtl(loop, syscall.EPOLL_CTL_ADD, int(fd), &syscall.EpollEvent{Events: syscall.EPOLLIN, Fd: int32(fd)}))
	}))

	check(l.client.PostSend([]udat.Segment{must(memory.Segment(64, 5))}, 2, udat.CompletionDefault))
	for received := 0; received < 1; {
		if _, err := syscall.EpollWait(loop, make([]syscall.EpollEvent, 1), -1); err != nil && err != syscall.EINTR {
			check(err)
		}
		for { // until nothing has triggered the notification object
			evd, err := cno.Trigger()
			if errors.Is(err, udat.ErrQueueEmpty) {
				break
			}
			check(err)
			for { // until the event dispatcher is empty
				event, err := evd.Dequeue()
				if errors.Is(err, udat.ErrQueueEmpty) {
					break
				}
				check(err)
				check(event.Err())
				fmt.Println("received", event.Length, "bytes")
				received++
			}
		}
	}
	// Output: received 5 bytes
}

// readable reports whether poll finds a descriptor readable within a time.
func readable(t *testing.T, conn syscall.RawConn, within time.Duration) bool {
	t.Helper()
	type pollFD struct {
		fd              int32
		events, revents int16
	}
	const pollIn = 1
	p := pollFD{events: pollIn}
	timeout := syscall.NsecToTimespec(int64(within))
	var errno syscall.Errno
	want(t, conn.Control(func(fd uintptr) {
		p.fd = int32(fd)
		for errno = syscall.EINTR; errno == syscall.EINTR; {
			_, _, errno = syscall.Syscall6(syscall.SYS_PPOLL, uintptr(unsafe.Pointer(&p)), 1, uintptr(unsafe.Pointer(&timeout)), 0, 0, 0)
		}
	}))
	if errno != 0 {
		t.Fatal(errno)
	}
	return p.revents&pollIn != 0
}

// The descriptor says whether Trigger would return an EVD, for loops that look for levels and for
// edges.
func TestCNODescriptor(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		one, other := createEVD(t, ia, 8, udat.EVDSoftware), createEVD(t, ia, 8, udat.EVDSoftware)
		cno := createCNO(t, ia, nil, one, other)
		conn := must(cno.SyscallConn())
		edges := must(syscall.EpollCreate1(syscall.EPOLL_CLOEXEC))
		defer syscall.Close(edges)
		// 1<<31 is EPOLLET, of which package syscall has the wrong sign on some processors.
		want(t, conn.Control(func(fd uintptr) {
			want(t, syscall.EpollCtl(edges, syscall.EPOLL_CTL_ADD, int(fd), &syscall.EpollEvent{Events: syscall.EPOLLIN | 1<<31, Fd: int32(fd)}))
		}))
		edge := func(timeout int) bool {
			n, err := syscall.EpollWait(edges, make([]syscall.EpollEvent, 2), timeout)
			if err != nil && err != syscall.EINTR {
				t.Fatal(err)
			}
			return n > 0
		}
		for range 3 {
			if readable(t, conn, 0) || edge(0) {
				t.Fatal("the descriptor is readable before an event")
			}
			want(t, second(cno.Trigger()), udat.ErrQueueEmpty)
			post(t, one, 1)
			post(t, other, 1)
			if !readable(t, conn, udattest.Patience) || !edge(int(udattest.Patience.Milliseconds())) {
				t.Fatal("the descriptor is not readable after an event")
			}
			for _, evd := range []*udat.EVD{one, other} {
				if !readable(t, conn, 0) {
					t.Error("the descriptor is not readable while an EVD is left")
				}
				if got := must(cno.Trigger()); got != evd {
					t.Errorf("Trigger returns another EVD than that which got an event first")
				}
				udattest.Expect(t, evd, udat.EventSoftware)
			}
		}
		if readable(t, conn, 0) {
			t.Error("the descriptor is readable when all is taken")
		}
		want(t, conn.Read(nil), errors.ErrUnsupported)
		want(t, conn.Write(nil), errors.ErrUnsupported)
		for _, evd := range []*udat.EVD{one, other} {
			want(t, evd.ModifyCNO(nil))
		}
		want(t, cno.Free())
		want(t, conn.Control(func(uintptr) { t.Error("Control passes a descriptor that is closed") }), udat.ErrClosed)
		want(t, second(cno.Trigger()), udat.ErrClosed)
		want(t, second(cno.SyscallConn()), udat.ErrClosed)
	})
}
