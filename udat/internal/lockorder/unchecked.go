//go:build !lockorder

package lockorder

import "sync"

// Mutex is a sync.Mutex with a rank.
type Mutex[R Rank] = sync.Mutex

// RWMutex is a sync.RWMutex with a rank. The order holds for readers, too.
type RWMutex[R Rank] = sync.RWMutex

// Number sets the number of a lock, from 1, among the locks of its rank. A goroutine may hold
// several locks of one rank if it takes them in the order of their numbers.
func Number(lock any, number uint64) {}

// As sets another rank for a lock than that of its type. Call it before the lock is used.
func As[R Rank](lock any) {}

// MayWait is called before a goroutine waits for other goroutines or threads. In a
// program that is built with -tags lockorder, it panics if the goroutine holds a lock
// of a later rank than R, which those may need.
func MayWait[R Rank]() {}
