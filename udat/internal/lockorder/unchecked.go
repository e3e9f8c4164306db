//go:build !lockorder

package lockorder

import "sync"

// Mutex is a sync.Mutex with a rank.
type Mutex = sync.Mutex

// RWMutex is a sync.RWMutex with a rank. The order holds for readers, too.
type RWMutex = sync.RWMutex

// Place sets the rank of a lock, and its number among the locks of that rank. A goroutine may hold several locks of one
// rank if it takes them in the order of their numbers, from 1.
func Place(lock any, rank Rank, number uint64) {}

// MayWait is called before a goroutine waits for other goroutines or threads. In a program that is built with -tags
// lockorder, it panics if the goroutine holds a lock that those may need.
func MayWait() {}
