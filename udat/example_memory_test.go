package udat_test

import (
	"fmt"

	"github.com/goudat/goudat/udat"
)

// A slice of the program's own can be sent from, and received into, where it is.
func ExampleRegisterMemory() {
	ia := must(udat.Open(adapter))
	defer ia.Close(udat.CloseGraceful)
	pz := must(udat.CreatePZ(ia))
	defer pz.Free()

	text := []byte("sent without a copy")
	region := must(udat.RegisterMemory(pz, text, udat.MemPrivLocalRead))
	segment := must(region.Segment(5, len("without")))
	fmt.Println(segment.Len(), &region.Bytes()[0] == &text[0])

	// Until then the garbage collector neither moves nor frees the slice.
	check(region.Free())
	// Output: 7 true
}

// Registering takes a system call and locks pages. A program that needs many
// buffers registers one region, and cuts them from it.
func ExampleAllocMemory() {
	ia := must(udat.Open(adapter))
	defer ia.Close(udat.CloseGraceful)
	pz := must(udat.CreatePZ(ia))
	defer pz.Free()

	const buffers, size = 16, 4096
	region := must(udat.AllocMemory(pz, buffers*size, udat.MemPrivLocalRead|udat.MemPrivLocalWrite))
	defer region.Free()
	pool := make(chan udat.Segment, buffers)
	for i := range buffers {
		pool <- must(region.Segment(i*size, size))
	}

	buffer := <-pool // waits while all are in use
	fmt.Println(buffer.Len(), "bytes,", len(pool), "more buffers")
	pool <- buffer // when its operation has completed
	// Output: 4096 bytes, 15 more buffers
}
