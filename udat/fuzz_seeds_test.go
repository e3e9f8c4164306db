//go:build !race && !lockorder

package udat_test

const seedsAtOnce = 60
