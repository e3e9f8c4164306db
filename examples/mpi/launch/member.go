package launch

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"sync"
	"syscall"
)

// ErrNotLaunched says that the process was not started by a launcher.
var ErrNotLaunched = errors.New("launch: this process is not a rank of a job")

// IsRank tells whether this process was started by a launcher.
func IsRank() bool { return os.Getenv(rankVariable) != "" }

// Member is a rank's end of its socket. Next is for one goroutine, the other
// methods may be called from any.
type Member struct {
	Rank, Size int
	Job        uint64 // the same at all ranks, and another in every job

	line    net.Conn
	notices *json.Decoder
	mu      sync.Mutex // writes one report at a time
}

// Join makes this process a rank of its job. It fails with ErrNotLaunched
// outside a job, and a process can join once.
func Join() (*Member, error) {
	if !IsRank() {
		return nil, ErrNotLaunched
	}
	m := &Member{}
	var err, err2, err3 error
	m.Rank, err = strconv.Atoi(os.Getenv(rankVariable))
	m.Size, err2 = strconv.Atoi(os.Getenv(sizeVariable))
	m.Job, err3 = strconv.ParseUint(os.Getenv(jobVariable), 16, 64)
	if err := errors.Join(err, err2, err3); err != nil || m.Rank < 0 || m.Rank >= m.Size || m.Size > MaxRanks {
		return nil, fmt.Errorf("launch: %s, %s and %s make no sense", rankVariable, sizeVariable, jobVariable)
	}
	// Processes that this one starts must not hold the socket: its end tells of this one's.
	syscall.CloseOnExec(controlFD)
	file := os.NewFile(controlFD, "launcher")
	defer file.Close()
	if m.line, err = net.FileConn(file); err != nil {
		return nil, fmt.Errorf("launch: descriptor %d is not the launcher's socket: %w", controlFD, err)
	}
	m.notices = json.NewDecoder(m.line)
	return m, nil
}

// Announce tells where this rank listens.
func (m *Member) Announce(p Place) error { return m.report(report{Listening: &p}) }

// AskToDial asks another rank to connect to this one.
func (m *Member) AskToDial(rank int) error { return m.report(report{Dial: &rank}) }

// Leave tells that this rank needs the others no more. They are told when all
// have said so; before that, an end of the process still counts as a death.
func (m *Member) Leave() error { return m.report(report{Leaving: true}) }

func (m *Member) report(r report) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return json.NewEncoder(m.line).Encode(r)
}

// Next waits for a notice. It fails when the launcher is gone, or after Close.
func (m *Member) Next() (Notice, error) {
	var n Notice
	err := m.notices.Decode(&n)
	return n, err
}

// Close ends the membership, and Next.
func (m *Member) Close() error { return m.line.Close() }
