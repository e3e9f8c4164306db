// Package lockorder has locks that must be taken in order. Each lock has a rank, which is
// a type. A goroutine may take a lock only if it holds no lock of the same rank or of a
// later one. In a program that is built with -tags lockorder, taking a lock out of order
// panics with the names of both locks. In any other program the locks are those of
// package sync, at no extra cost.
//
// The race detector does not check the order. The checks would order all goroutines, and
// so hide races.
package lockorder

// A Rank is a place in the order of locks.
type Rank interface {
	// Place returns the position in the order, and the name of the locks of this rank.
	Place() (position int, name string)
}

// Last is the last rank. A goroutine that holds a lock of it takes no other lock.
type Last struct{}

// Place implements Rank.
func (Last) Place() (int, string) { return 1 << 30, "a leaf" }
