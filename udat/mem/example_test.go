package mem_test

import (
	"fmt"
	"os"
	"strings"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/mem"
)

// adapter is the name of the adapter that the examples run on.
var adapter, _, _ = strings.Cut(os.Getenv("UDAT_TEST_IA"), ",")

func must[T any](value T, err error) T {
	check(err)
	return value
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

// The cookie of an operation leads back to its buffer.
func ExampleBufferPool() {
	ia := must(udat.Open(adapter))
	defer ia.Close(udat.CloseGraceful)
	pz := must(udat.CreatePZ(ia))
	defer pz.Free()

	pool := must(mem.CreateBufferPool(pz, mem.BufferPoolConfig{BufferSize: 4096, MaxBuffers: 64}))
	message := must(pool.Get())
	text := must(message.Segment(0, copy(message.Bytes(), "in a registered buffer")))
	post := udat.Post{Operation: udat.DTOSend, Segments: []udat.Segment{text}, Cookie: message.Cookie()} // for EP.PostBatch

	// The completion has the cookie.
	buffer := must(pool.Find(post.Cookie))
	fmt.Printf("%s\n", buffer.Bytes()[:text.Len()])
	check(buffer.Release()) // Get may return it again
	fmt.Println(pool.Stats().InUse, "buffers in use")
	check(pool.Free())
	// Output:
	// in a registered buffer
	// 0 buffers in use
}

// A long message is read from where it is. The next one in the same memory
// needs no registration.
func ExampleRegistrationCache() {
	ia := must(udat.Open(adapter))
	defer ia.Close(udat.CloseGraceful)
	pz := must(udat.CreatePZ(ia))
	defer pz.Free()

	cache := must(mem.CreateRegistrationCache(pz, mem.RegistrationCacheLimits{IdleBytes: 64 << 20}))
	message := make([]byte, 1<<20)
	for range 3 {
		registration := must(cache.Register(message, udat.MemPrivLocalRead|udat.MemPrivRemoteRead))
		remote := must(registration.RMRTriplet(0, len(message)))
		fmt.Println("the peer may read", remote.SegmentLength, "bytes")
		check(registration.Release()) // when the peer has said that it is done
	}
	stats := cache.Stats()
	fmt.Println(stats.Hits, "hits,", stats.Misses, "miss")
	check(cache.Free())
	// Output:
	// the peer may read 1048576 bytes
	// the peer may read 1048576 bytes
	// the peer may read 1048576 bytes
	// 2 hits, 1 miss
}
