package pmi

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"strconv"
	"sync"
	"syscall"
)

// Server is the launcher's side of the lines of a job.
type Server struct {
	name   string
	size   int
	serves sync.WaitGroup

	mu      sync.Mutex
	lines   []net.Conn // by rank; nil before the rank is started
	values  map[string]string
	waiting []int // ranks in the barrier
	ended   int   // the first rank that has ended without finalizing, -1 for none
}

// NewServer returns the server of a job with size ranks.
func NewServer(name string, size int) *Server {
	return &Server{name: name, size: size, lines: make([]net.Conn, size), values: map[string]string{}, ended: -1}
}

// Line creates the line of a rank. It returns the rank's end, and the environment variables that the rank needs if
// its end is descriptor fd. To the server, the rank has ended when no process holds that end any longer.
func (s *Server) Line(rank, fd int) (*os.File, []string, error) {
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, os.NewSyscallError("socketpair", err)
	}
	ours, theirs := os.NewFile(uintptr(fds[0]), "launcher"), os.NewFile(uintptr(fds[1]), "rank")
	defer ours.Close()
	line, err := net.FileConn(ours)
	if err != nil {
		theirs.Close()
		return nil, nil, err
	}
	s.attach(rank, line)
	return theirs, []string{
		fdVariable + "=" + strconv.Itoa(fd), rankVariable + "=" + strconv.Itoa(rank), sizeVariable + "=" + strconv.Itoa(s.size),
	}, nil
}

// Join returns a member of the job that is part of this process and needs no environment. It is for tests, which can
// have several.
func (s *Server) Join(ctx context.Context, rank int) (*Client, error) {
	ours, theirs := net.Pipe()
	s.attach(rank, ours)
	return newClient(ctx, theirs, rank, s.size)
}

func (s *Server) attach(rank int, line net.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lines[rank] = line
	s.serves.Add(1)
	go s.serve(rank, line)
}

// Close ends the lines.
func (s *Server) Close() {
	s.mu.Lock()
	for _, line := range s.lines {
		if line != nil {
			line.Close()
		}
	}
	s.mu.Unlock()
	s.serves.Wait()
}

// serve answers a rank until its line ends.
func (s *Server) serve(rank int, line net.Conn) {
	defer s.serves.Done()
	finalized := false
	for r := bufio.NewReader(line); ; {
		m, err := readMessage(r)
		if err != nil {
			break
		}
		finalized = finalized || m.command == "finalize"
		s.mu.Lock()
		answer := s.answer(rank, m)
		s.mu.Unlock()
		if answer.command != "" {
			// If this fails, the rank is ending.
			_, _ = line.Write(answer.line())
		}
	}
	line.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	if !finalized && s.ended < 0 {
		s.ended = rank
		s.release()
	}
}

// answer returns what to tell a rank at once, which may be nothing.
func (s *Server) answer(rank int, m message) message {
	switch m.command {
	case "init":
		if m.value("pmi_version") != "1" {
			return newMessage("response_to_init", "pmi_version", "1", "pmi_subversion", "1", "rc", "-1", "msg", "only_version_1")
		}
		return newMessage("response_to_init", "pmi_version", "1", "pmi_subversion", "1", "rc", "0")
	case "get_my_kvsname":
		return newMessage("my_kvsname", "kvsname", s.name, "rc", "0")
	case "put":
		key, value := m.value("key"), m.value("value")
		if _, taken := s.values[key]; taken || !plain(key) || !plain(value) {
			return newMessage("put_result", "rc", "-1", "msg", "duplicate_or_empty_key")
		}
		s.values[key] = value
		return newMessage("put_result", "rc", "0", "msg", "success")
	case "get":
		value, found := s.values[m.value("key")]
		if !found {
			return newMessage("get_result", "rc", "-1", "msg", "key_not_found", "value", "unknown")
		}
		return newMessage("get_result", "rc", "0", "msg", "success", "value", value)
	case "barrier_in":
		s.waiting = append(s.waiting, rank)
		s.release()
		return message{}
	case "finalize":
		return newMessage("finalize_ack", "rc", "0")
	}
	return newMessage(m.command+"_result", "rc", "-1", "msg", "unknown_command")
}

// release ends the barrier when all ranks are in it, or when one has ended, so that they never will be.
func (s *Server) release() {
	out := newMessage("barrier_out", "rc", "0")
	if s.ended >= 0 {
		out = newMessage("barrier_out", "rc", "-1", "msg", fmt.Sprintf("rank_%d_has_ended", s.ended))
	} else if len(s.waiting) < s.size {
		return
	}
	for _, rank := range s.waiting {
		_, _ = s.lines[rank].Write(out.line())
	}
	s.waiting = s.waiting[:0]
}
