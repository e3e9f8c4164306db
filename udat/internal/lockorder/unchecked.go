//go:build !race

package lockorder

import "sync"

// Mutex is a sync.Mutex of a rank.
type Mutex[R Rank] = sync.Mutex

// RWMutex is a sync.RWMutex of a rank. Taken for reading, too, it has its place.
type RWMutex[R Rank] = sync.RWMutex

// Number numbers a lock, from 1, among those of its rank. Several of these may be held
// at once, if they are taken in the order of their numbers.
func Number(lock any, number uint64) {}

// As sets another rank for a lock than that of its type. It comes before the first use.
func As[R Rank](lock any) {}

// MayWait panics in programs that are built with -race if the goroutine holds a lock
// of a later rank than R: it is about to wait for what others bring about.
func MayWait[R Rank]() {}
