// Package failures has tests of what programs see when the calls that the native library makes fail, and when peers of
// the connection managers talk nonsense.
//
// TestSweep runs a small program that uses everything: adapters, event dispatchers, shared queues, connections that are
// accepted, rejected, timed out and ended in each way, and transfers of all kinds. Each time another call fails of those
// that the native library makes of libibverbs, librdmacm and the C library. Whatever fails, an error or an event must
// report it unless the library makes up for it, every operation must end once, nothing may be left over, and the same
// program must succeed right afterwards in the same process. A run tries a sample; with GOUDAT_TEST_LONG=1 it tries all calls:
//
//	go test -exec "$PWD/scripts/with-device" ./scripts/dapl/devicetest/failures -run TestSweep -failures.sample 20 -failures.seed 7
package failures
