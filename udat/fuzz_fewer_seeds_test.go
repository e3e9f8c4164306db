//go:build race || lockorder

package udat_test

// With the race detector, or with checks of the order of locks, calls take much longer.
const (
	seedsAtOnce   = 15
	waitersAtOnce = 1_000
)
