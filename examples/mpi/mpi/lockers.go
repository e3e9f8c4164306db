package mpi

import "slices"

// lockers are the ranks that have the lock of a rank's window, or wait for it.
type lockers struct {
	holders []int // ranks
	mode    LockMode
	waiting []locker // in the order in which they have asked
}

type locker struct {
	rank int
	mode LockMode
}

// ask takes note of a rank that wants the lock. It returns the ranks that now have
// got it, and so does leave.
func (l *lockers) ask(rank int, mode LockMode) []int {
	l.waiting = append(l.waiting, locker{rank, mode})
	return l.admit()
}

// leave takes note that a rank has given the lock back.
func (l *lockers) leave(rank int) []int {
	l.holders = slices.DeleteFunc(l.holders, func(holder int) bool { return holder == rank })
	return l.admit()
}

// admit gives the lock to as many as may have it. None passes one who has waited
// for longer.
func (l *lockers) admit() (admitted []int) {
	for len(l.waiting) > 0 {
		next := l.waiting[0]
		if len(l.holders) > 0 && (l.mode == Exclusive || next.mode == Exclusive) {
			break
		}
		l.waiting = l.waiting[1:]
		l.holders, l.mode = append(l.holders, next.rank), next.mode
		admitted = append(admitted, next.rank)
	}
	return admitted
}
