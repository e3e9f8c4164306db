package main

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// transaction is a test in which threads run a list of operations again and again, each on its own endpoints.
type transaction struct {
	iterations int
	threads    int
	endpoints  int // of a thread
	reserved   bool
	validate   bool
	poll       bool
	operations []operation
}

// syncs are the operations that validation needs at the end of each iteration. The first tells the client that the
// server has sent everything, so that the client can check its memory. The second tells the server the same. The third
// tells the client that the server has checked.
var syncs = []operation{
	{byServer: true, kind: sendReceive, size: defaultOperation.size, segments: 1},
	{byServer: false, kind: sendReceive, size: defaultOperation.size, segments: 1},
	{byServer: true, kind: sendReceive, size: defaultOperation.size, segments: 1},
}

func (t *transaction) finish(operands []string) (err error) {
	if t.operations, err = parseOperations(strings.Fields(strings.Join(operands, " "))); err != nil {
		return err
	}
	if t.validate {
		t.operations = append(t.operations, syncs...)
	}
	return t.check()
}

// check checks transactions from the command line and from clients.
func (t *transaction) check() error {
	if t.iterations < 1 || t.threads < 1 || t.threads > maxThreads || t.endpoints < 1 || t.endpoints > maxEndpoints {
		return fmt.Errorf("%d iterations on %d endpoints in each of %d threads: out of range", t.iterations, t.endpoints, t.threads)
	}
	if len(t.operations) > maxOperations {
		return fmt.Errorf("%d operations are more than %d", len(t.operations), maxOperations)
	}
	if t.validate && len(t.operations) < len(syncs) {
		return errors.New("the operations that validation needs are missing")
	}
	sends := map[bool]int{}
	late := 0
	for _, o := range t.operations {
		if err := o.check(); err != nil {
			return err
		}
		if o.kind == sendReceive {
			sends[o.byServer]++
		}
		if o.late && !o.byServer {
			late++
		} else if o.late {
			late--
		}
		if late < 0 {
			break
		}
	}
	switch {
	case sends[false] == 0 || sends[true] == 0:
		return errors.New("at least one client SR and one server SR are needed")
	case late != 0:
		return errors.New("operations with -f must come in pairs: a client's, then a server's")
	}
	return nil
}

// validated returns the operations whose data is checked.
func (t *transaction) validated() int { return len(t.operations) - len(syncs) }

// statistics sums the work of threads, with the time of the slowest.
type statistics struct {
	elapsed                     time.Duration
	operations                  int
	sent, received, read, wrote int // bytes
}

// count adds an operation on a number of endpoints.
func (s *statistics) count(o operation, ours bool, endpoints int) {
	s.operations += endpoints
	bytes := o.bytes() * endpoints
	switch {
	case o.kind == rdmaRead:
		s.read += bytes
	case o.kind == rdmaWrite:
		s.wrote += bytes
	case ours:
		s.sent += bytes
	default:
		s.received += bytes
	}
}

func (s *statistics) add(other statistics) {
	s.elapsed = max(s.elapsed, other.elapsed)
	s.operations += other.operations
	s.sent += other.sent
	s.received += other.received
	s.read += other.read
	s.wrote += other.wrote
}

// print prints the table of the C program. A megabyte is a million bytes here.
func (s *statistics) print(t transaction) {
	seconds := s.elapsed.Seconds()
	fmt.Printf("----- Stats ---- : %d threads, %d EPs\n", t.threads, t.endpoints)
	fmt.Printf("Total WQE        : %10.2f WQE/Sec\n", float64(s.operations)/seconds)
	fmt.Printf("Total Time       : %10.2f sec\n", seconds)
	for _, row := range []struct {
		what  string
		bytes int
	}{{"Send", s.sent}, {"Recv", s.received}, {"RDMA Read", s.read}, {"RDMA Write", s.wrote}} {
		megabytes := float64(row.bytes) / 1e6
		fmt.Printf("Total %-10s : %10.2f MB - %10.2f MB/Sec\n", row.what, megabytes, megabytes/seconds)
	}
}
