//go:build race

package udat_test

// With the race detector, calls take much longer.
const (
	seedsAtOnce   = 15
	waitersAtOnce = 1_000
)
