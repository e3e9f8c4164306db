package mem_test

import (
	"context"
	"fmt"
	"time"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/mem"
)

// The cookie of an operation leads back to its buffer.
func ExampleBufferPool() {
	l := newLine() // two connected endpoints
	defer l.close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()

	pool := must(mem.CreateBufferPool(l.pz, mem.BufferPoolConfig{BufferSize: 4096, MaxBuffers: 64}))
	empty, message := must(pool.Get()), must(pool.Get())
	room := must(empty.Segment(0, len(empty.Bytes())))
	check(l.server.PostRecv([]udat.Segment{room}, empty.Cookie(), udat.CompletionDefault))
	text := must(message.Segment(0, copy(message.Bytes(), "from a buffer into another")))
	check(l.client.PostSend([]udat.Segment{text}, message.Cookie(), udat.CompletionDefault))

	for _, evd := range []*udat.EVD{l.received, l.sent} {
		event := must(evd.Wait(ctx))
		check(event.Err())
		buffer := must(pool.Find(event.Cookie))
		if evd == l.received {
			fmt.Printf("%s\n", buffer.Bytes()[:event.Length])
		}
		check(buffer.Release()) // Get may return it again
	}
	fmt.Println(pool.Stats().InUse, "buffers in use")
	check(pool.Free())
	// Output:
	// from a buffer into another
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
