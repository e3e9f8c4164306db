//go:build !(386 || arm || mips || mipsle)

package udat

import (
	"net"
	"net/netip"
	"os"
	"strconv"
	"syscall"
	"time"
)

// settleListening is far longer than the library's thread takes to close the
// sockets of what is on its way.
const settleListening = 10 * time.Second

// endListeningOnTCP ends the listening of the socket CM provider. Its thread
// keeps a socket for each request until it has done with it, and closes it then:
// when none is left on the ports of the service points, nothing refers to those.
// The sockets are those of this process, and can be shut down without the
// library: it takes that for the end of the peer.
func endListeningOnTCP(address netip.Addr, ports []port) bool {
	l := tcpListening{address: address, ports: make(map[port]bool)}
	for _, port := range ports {
		l.ports[port] = true
	}
	end := time.Now().Add(settleListening)
	// The thread may have accepted a connection that is not to be seen yet. When it
	// closes one that was there before the end of listening, and had its own end
	// after that, it has gone on.
	last := l.connect(ports[0], end)
	if last != nil {
		defer last.Close()
	}
	ended := make(map[uint64]bool)
	l.visit(func(s tcpSocket) {
		if s.listens {
			syscall.Shutdown(s.fd, syscall.SHUT_RD)
			ended[s.inode] = true
		}
	})
	if last == nil {
		return false
	}
	last.CloseWrite()
	last.SetReadDeadline(end)
	if _, err := last.Read(make([]byte, 1)); os.IsTimeout(err) {
		return false
	}
	mayWait()
	for {
		left := 0
		l.visit(func(s tcpSocket) {
			if !ended[s.inode] {
				left++
				syscall.Shutdown(s.fd, syscall.SHUT_RD)
			}
		})
		if left == 0 {
			return true
		}
		if time.Now().After(end) {
			return false
		}
		time.Sleep(time.Millisecond)
	}
}

// tcpListening is where an adapter listens.
type tcpListening struct {
	address netip.Addr
	ports   map[port]bool
}

// connect makes a connection that the library's thread has accepted.
func (l tcpListening) connect(port port, end time.Time) *net.TCPConn {
	dialer := net.Dialer{Deadline: end}
	c, err := dialer.Dial("tcp4", net.JoinHostPort(l.address.String(), strconv.Itoa(int(port))))
	if err != nil {
		return nil
	}
	own := c.LocalAddr().(*net.TCPAddr).AddrPort()
	for accepted := false; !accepted; time.Sleep(time.Millisecond) {
		l.visit(func(s tcpSocket) { accepted = accepted || s.peer == own })
		if time.Now().After(end) {
			c.Close()
			return nil
		}
	}
	return c.(*net.TCPConn)
}

// tcpSocket is a socket of this process with a local port of the service points.
type tcpSocket struct {
	fd      int
	inode   uint64
	listens bool
	peer    netip.AddrPort // of a connection
}

// visit shows the sockets on the ports of the service points. Each has a descriptor
// of its own meanwhile: the library may close its own at any time.
func (l tcpListening) visit(show func(tcpSocket)) {
	files, _ := os.ReadDir("/proc/self/fd")
	for _, file := range files {
		fd, err := strconv.Atoi(file.Name())
		if err != nil || !l.has(fd) {
			continue
		}
		own, _, errno := syscall.Syscall(syscall.SYS_FCNTL, uintptr(fd), syscall.F_DUPFD_CLOEXEC, 0)
		if errno != 0 {
			continue
		}
		if s := (tcpSocket{fd: int(own)}); l.has(s.fd) {
			accepts, _ := syscall.GetsockoptInt(s.fd, syscall.SOL_SOCKET, syscall.SO_ACCEPTCONN)
			peer, _ := syscall.Getpeername(s.fd)
			var stat syscall.Stat_t
			_ = syscall.Fstat(s.fd, &stat)
			s.inode, s.listens, s.peer = stat.Ino, accepts != 0, addrPort(peer)
			show(s)
		}
		syscall.Close(int(own))
	}
}

// has reports whether the descriptor is that of a socket on one of the ports.
func (l tcpListening) has(fd int) bool {
	name, err := syscall.Getsockname(fd)
	if err != nil {
		return false
	}
	local := addrPort(name)
	return local.Addr() == l.address && l.ports[port(local.Port())]
}

func addrPort(name syscall.Sockaddr) netip.AddrPort {
	if in, ok := name.(*syscall.SockaddrInet4); ok {
		return netip.AddrPortFrom(netip.AddrFrom4(in.Addr), uint16(in.Port))
	}
	return netip.AddrPort{}
}
