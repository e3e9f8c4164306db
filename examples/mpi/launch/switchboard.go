package launch

import (
	"encoding/json"
	"net"
	"os"
	"slices"
	"sync"
	"syscall"
)

// switchboard is the launcher's end of the ranks' sockets.
type switchboard struct {
	mu      sync.Mutex
	lines   []net.Conn // by rank; nil before the rank is started
	places  []*Place
	leaving []bool
	left    bool // all were leaving
	dead    []bool
	readers sync.WaitGroup
}

func newSwitchboard(ranks int) *switchboard {
	return &switchboard{
		lines: make([]net.Conn, ranks), places: make([]*Place, ranks),
		leaving: make([]bool, ranks), dead: make([]bool, ranks),
	}
}

// socket makes the socket of a rank and gives the end that is the rank's. The
// rank counts as dead when nobody holds that end any more.
func (s *switchboard) socket(rank int) (*os.File, error) {
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, os.NewSyscallError("socketpair", err)
	}
	ours, theirs := os.NewFile(uintptr(fds[0]), "launcher"), os.NewFile(uintptr(fds[1]), "rank")
	defer ours.Close()
	line, err := net.FileConn(ours)
	if err != nil {
		theirs.Close()
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lines[rank] = line
	for other, dead := range s.dead {
		if dead {
			s.tell(rank, Notice{Died: &other})
		}
	}
	s.readers.Add(1)
	go s.listen(rank, line)
	return theirs, nil
}

// close ends what is left when all ranks have ended, or could not be started.
func (s *switchboard) close() {
	s.mu.Lock()
	for _, line := range s.lines {
		if line != nil {
			line.Close()
		}
	}
	s.mu.Unlock()
	s.readers.Wait()
}

// listen takes the reports of a rank until its end.
func (s *switchboard) listen(rank int, line net.Conn) {
	defer s.readers.Done()
	for reports := json.NewDecoder(line); ; {
		var r report
		if err := reports.Decode(&r); err != nil {
			break
		}
		s.take(rank, r)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dead[rank] = true
	if !s.left {
		s.tellAll(Notice{Died: &rank})
	}
}

func (s *switchboard) take(rank int, r report) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case r.Listening != nil:
		s.places[rank] = r.Listening
		if !slices.Contains(s.places, nil) {
			s.tellAll(Notice{World: s.world()})
		}
	case r.Dial != nil && *r.Dial >= 0 && *r.Dial < len(s.lines):
		s.tell(*r.Dial, Notice{Dial: &rank})
	case r.Leaving:
		s.leaving[rank] = true
		if s.left = !slices.Contains(s.leaving, false); s.left {
			s.tellAll(Notice{Left: true})
		}
	}
}

func (s *switchboard) world() []Place {
	world := make([]Place, len(s.places))
	for rank, place := range s.places {
		world[rank] = *place
	}
	return world
}

func (s *switchboard) tellAll(n Notice) {
	for rank := range s.lines {
		s.tell(rank, n)
	}
}

// tell needs no answer: a rank that does not hear it is ending.
func (s *switchboard) tell(rank int, n Notice) {
	if s.lines[rank] != nil && !s.dead[rank] {
		_ = json.NewEncoder(s.lines[rank]).Encode(n)
	}
}
