package udat_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/goudat/goudat/udat"
)

// Many operations in one crossing into C, and their completions in another.
func ExampleEP_PostBatch() {
	l := newLine() // two connected endpoints
	defer l.close()
	const messages, size = 8, 64
	memory := must(udat.AllocMemory(l.pz, 2*messages*size, udat.MemPrivLocalRead|udat.MemPrivLocalWrite))

	var receives, sends []udat.Post
	for i := range messages {
		from, to := must(memory.Segment(i*size, size)), must(memory.Segment((messages+i)*size, size))
		sends = append(sends, udat.Post{Operation: udat.DTOSend, Segments: []udat.Segment{from}, Cookie: uint64(i)})
		receives = append(receives, udat.Post{Operation: udat.DTOReceive, Segments: []udat.Segment{to}, Cookie: uint64(i)})
	}
	must(l.server.PostBatch(receives))
	if accepted, err := l.client.PostBatch(sends); err != nil {
		fmt.Println("posted", accepted, "of", messages, err)
	}

	events := make([]udat.Event, messages)
	for taken := 0; taken < messages; {
		n := must(l.received.SpinPoll(events, time.Millisecond)) // Poll looks once
		for _, event := range events[:n] {
			check(event.Err())
			fmt.Print(event.Cookie, " ")
		}
		taken += n
	}
	// Output: 0 1 2 3 4 5 6 7
}

// The peer learns by an RMRTriplet which memory it may write. It is 16 bytes on
// the wire, in a message or in the private data of a connection.
func ExampleLMR_RMRTriplet() {
	l := newLine() // two connected endpoints
	defer l.close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()

	// The side that is written to.
	exposed := must(udat.AllocMemory(l.pz, 4096, udat.MemPrivLocalWrite|udat.MemPrivRemoteWrite))
	place := must(exposed.RMRTriplet(1024, 512))
	wire := must(place.AppendBinary(nil))
	check(l.server.PostRecv(nil, 1, udat.CompletionDefault))

	// The side that writes.
	var remote udat.RMRTriplet
	check(remote.UnmarshalBinary(wire))
	own := must(udat.RegisterMemory(l.pz, []byte("written by the peer"), udat.MemPrivLocalRead))
	text := must(own.Segment(0, len(own.Bytes())))
	check(l.client.PostRDMAWrite([]udat.Segment{text}, 2, remote, udat.CompletionDefault))
	check(l.client.PostSend(nil, 3, udat.CompletionDefault)) // an empty message

	// The other side gets no event of the write, but what was written is there when a later message
	// is.
	event := must(l.received.Wait(ctx))
	check(event.Err())
	fmt.Println(len(wire), "bytes on the wire")
	fmt.Printf("%s\n", exposed.Bytes()[1024:][:len("written by the peer")])
	// Output:
	// 16 bytes on the wire
	// written by the peer
}

// A wait ends with its context, and an event that comes later is not lost.
func ExampleEVD_Wait() {
	ia := must(udat.Open(adapter))
	defer ia.Close(udat.CloseAbrupt)
	evd := must(udat.CreateEVD(ia, 8, nil, udat.EVDSoftware))

	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer cancel()
	_, err := evd.Wait(ctx)
	fmt.Println(errors.Is(err, context.DeadlineExceeded))

	check(evd.PostSE(7))
	ctx, cancel = context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	fmt.Println(must(evd.Wait(ctx)).Cookie)
	// Output:
	// true
	// 7
}
