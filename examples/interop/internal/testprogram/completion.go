package testprogram

import (
	"context"
	"fmt"
	"time"

	"github.com/goudat/goudat/udat"
)

// CheckCompletion checks that an event is the completion of the operation that was posted
// with cookie and has the given length. If the operation has failed, and the event of the
// end of the connection comes to connect, the error says how the connection ended, and
// ended is true. flags names the flags that must be the same on both sides.
func CheckCompletion(event udat.Event, cookie uint64, length int, connect *udat.EVD, flags string) (ended bool, err error) {
	if err := event.Err(); err != nil {
		reason := ""
		if number, ok := howEnded(connect); ok {
			reason, ended = fmt.Sprintf(", the connection ended with %v", number), true
		}
		return ended, fmt.Errorf("%v: %w%s", event.Operation, err, reason)
	}
	if event.Cookie != cookie || int(event.Length) != length {
		return false, fmt.Errorf("%v %d of %d bytes completed, want %d of %d bytes: do both sides have the same %s?",
			event.Operation, event.Cookie, event.Length, cookie, length, flags)
	}
	return false, nil
}

// howEnded waits for a second for the event of the end of a connection.
func howEnded(connect *udat.EVD) (number udat.EventNumber, ended bool) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	event, err := connect.Wait(ctx)
	return event.Number, err == nil
}

// TakeFlushed takes the completions of n receives that were posted for a connection that
// was never established.
func TakeFlushed(ctx context.Context, recv *udat.EVD, n int) error {
	for range n {
		event, err := recv.Wait(ctx)
		if err != nil {
			return err
		}
		if event.Status != udat.DTOErrFlushed {
			return fmt.Errorf("a receive ended with %v before there was a connection", event.Status)
		}
	}
	return nil
}
