// Package lockorder has locks that a goroutine must take in the order of their ranks. In a program that is built with
// -tags lockorder, taking a lock out of order panics with the ranks of both locks. In any other program the locks are
// those of package sync.
//
// The race detector does not check the order. The checks would order all goroutines, and so hide races.
package lockorder

// Rank is a place in the order of locks. A lock that was never placed is a leaf: no other lock is taken under it.
type Rank uint8

// The ranks, in the order in which a goroutine takes locks. While it holds one up to Control, it may wait for another
// goroutine. While it holds a later one, it may not.
const (
	Leaf     Rank = iota // comes last
	Closing              // the closing of an adapter
	Answer               // the gates of connection requests
	Control              // the requests of an endpoint, and with that changing it
	Gate                 // the gates of objects without a lock of their kind, by birth
	Registry             // libdat2's registry, and adapters that open and close
	Events               // event dispatchers, by birth
	Receives             // the receives of an endpoint, and shared receive queues
	Shadow               // shadows
	Ledgers              // the list of ledgers
	Waiters              // those who wait on event dispatchers and CNOs
)

// NewMutex returns a lock of a rank.
func NewMutex(rank Rank) *Mutex {
	m := new(Mutex)
	Place(m, rank, 0)
	return m
}
