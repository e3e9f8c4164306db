package main

import (
	"fmt"
	"time"
)

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
