package pmi

import (
	"net"
	"os"
	"syscall"
	"testing"
)

// duplicate returns another descriptor of a file, and closes the file.
func duplicate(file *os.File) (int, error) {
	defer file.Close()
	return syscall.Dup(int(file.Fd()))
}

// socketPair returns the two ends of a line, one of them as a descriptor.
func socketPair(t *testing.T) (net.Conn, int) {
	t.Helper()
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	file := os.NewFile(uintptr(fds[0]), "launcher")
	defer file.Close()
	conn, err := net.FileConn(file)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn, fds[1]
}
