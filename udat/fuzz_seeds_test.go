//go:build !race

package udat_test

const (
	seedsAtOnce   = 60
	waitersAtOnce = 10_000
)
