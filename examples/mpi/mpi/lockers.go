package mpi

import "slices"

// lockers are the ranks that hold the lock of a rank's window, or wait for it.
type lockers struct {
	holders []int // ranks
	mode    LockMode
	waiting []locker // in the order of their requests
}

type locker struct {
	rank int
	mode LockMode
}

// ask records that a rank requests the lock. Like leave, it returns the ranks that hold the lock from now on.
func (l *lockers) ask(rank int, mode LockMode) []int {
	l.waiting = append(l.waiting, locker{rank, mode})
	return l.admit()
}

// leave records that a rank has released the lock.
func (l *lockers) leave(rank int) []int {
	l.holders = slices.DeleteFunc(l.holders, func(holder int) bool { return holder == rank })
	return l.admit()
}

// admit passes the lock to as many ranks as may hold it. No rank overtakes one that has waited longer.
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
