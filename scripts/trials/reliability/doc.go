// Package reliability breaks connections between two machines on purpose, and checks what package udat promises then:
// each operation ends with a completion or an error within a bound that the program sets; whatever was acknowledged is
// at the peer, in order, once and with its content; both sides can free everything and connect again; and nothing is
// left behind.
//
// It has tests only. They need several machines that they may disturb:
//
//	TESTBED_FLAGS="--machines 3" go test -exec "$PWD/scripts/with-device" ./scripts/trials/reliability
package reliability
