// Package lockorder has locks that are taken in one order. Each has a rank, which is a
// type: who takes a lock holds none of the same rank or of a later one. In programs
// that are built with -race a lock that is taken out of order panics, and names both.
// In any other it is that of package sync, and costs nothing more.
package lockorder

// A Rank is a place in the order of locks.
type Rank interface {
	// Place returns the position in the order, and the name of the locks there.
	Place() (position int, name string)
}

// Last is the rank of locks under which no other is taken.
type Last struct{}

// Place implements Rank.
func (Last) Place() (int, string) { return 1 << 30, "a leaf" }
