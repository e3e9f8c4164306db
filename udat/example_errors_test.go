package udat_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/goudat/goudat/udat"
)

// Errors of calls match by type and by subtype; the call's name and what was
// wrong are in the Error.
func ExampleError() {
	l := newLine() // two connected endpoints
	defer l.close()

	err := l.client.Connect(addressOf(l.ia), 5010, time.Second, nil)
	fmt.Println(errors.Is(err, udat.ErrInvalidState))
	fmt.Println(errors.Is(err, udat.InvalidStateEPConnected))
	var e *udat.Error
	if errors.As(err, &e) {
		fmt.Println(e.Op)
	}
	// Output:
	// true
	// true
	// dat_ep_connect
}

// What fails after the call comes as an event: here a receive that is posted
// when the connection ends.
func ExampleEvent_Err() {
	l := newLine() // two connected endpoints
	defer l.close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()

	memory := must(udat.AllocMemory(l.pz, 64, udat.MemPrivLocalWrite))
	check(l.server.PostRecv([]udat.Segment{must(memory.Segment(0, 64))}, 1, udat.CompletionDefault))
	check(l.client.Disconnect(udat.CloseAbrupt))
	err := must(l.received.Wait(ctx)).Err()
	switch {
	case errors.Is(err, udat.DTOErrFlushed):
		fmt.Println("nothing came before the connection ended")
	case err != nil:
		fmt.Println("it failed:", err)
	}
	// Output: nothing came before the connection ended
}
