// Package soak runs package udat for a long time. It makes connections, keeps them busy, ends them in every way at
// random moments, and makes them again. It checks that each operation ends, that whatever was acknowledged has arrived
// in order and once, and that the process does not grow.
//
// It has tests only, which are short unless flags say otherwise:
//
//	go test -timeout 70m -exec "$PWD/scripts/with-device" ./scripts/trials/soak -run TestLoad -soak.load 30m
//	go test -timeout 70m -exec "$PWD/scripts/with-device" ./scripts/trials/soak -run TestCycles -soak.cycles 50000
package soak
