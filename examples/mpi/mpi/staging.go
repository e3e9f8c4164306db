package mpi

import "github.com/goudat/goudat/udat/mem"

// staging is the memory that eager messages are copied to and sent from. Each slot is free again when its send is
// complete.
type staging struct {
	slots
	free []int
}

// stagingSlots is how many eager messages of this rank can be under way.
const stagingSlots = 32

func newStaging(pool *mem.BufferPool) (staging, error) {
	memory, err := newSlots(pool, stagingSlots)
	s := staging{slots: memory}
	for i := range stagingSlots {
		s.free = append(s.free, i)
	}
	return s, err
}

// take returns a slot that was free.
func (s *staging) take() int {
	n := len(s.free)
	slot := s.free[n-1]
	s.free = s.free[:n-1]
	return slot
}
