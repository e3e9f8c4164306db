package testprogram

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/goudat/goudat/udat"
)

// peerHears is far longer than an acknowledgement takes, and short for a program that ends.
const peerHears = 250 * time.Millisecond

// UntilPeerHears waits until the peer has probably learned that its last operation has arrived. The data is in this
// side's memory earlier, and no event tells this side when the peer knows.
func UntilPeerHears(ctx context.Context) error { return Pause(ctx, peerHears) }

// Pause waits for a duration, or until ctx ends, and then returns its error.
func Pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

const (
	connectTimeout = 100 * time.Second
	// patience is how long a client tries again when a server that is just starting does not listen yet, and between is the
	// time from one attempt to the next.
	patience = 20 * time.Second
	between  = 20 * time.Millisecond
)

// Connect connects an endpoint, and returns the private data of the answer. An attempt that fails flushes the receives:
// renew takes their completions, and posts them again.
func Connect(ctx context.Context, ep *udat.EP, to netip.Addr, qual udat.ConnQual, privateData []byte, renew func()) []byte {
	for deadline := time.Now().Add(patience); ; {
		limited, cancel := context.WithTimeout(ctx, connectTimeout)
		answer, err := ep.ConnectAndWait(limited, to, qual, privateData)
		cancel()
		if !errors.Is(err, udat.EventConnectionNonPeerRejected) {
			Check(err)
			return answer
		}
		if time.Now().After(deadline) {
			Check(fmt.Errorf("nobody listens there: start the server first (%w)", err))
		}
		fmt.Println("nobody listens yet")
		Check(Pause(ctx, between))
		Check(ep.Reset())
		renew()
	}
}

// TakeFlushed takes the completions of n receives that were posted for a connection that was never established.
func TakeFlushed(ctx context.Context, recv *udat.EVD, n int) {
	for range n {
		event, err := recv.Wait(ctx)
		Check(err)
		if event.Status != udat.DTOErrFlushed {
			Check(fmt.Errorf("a receive ended with %v before there was a connection", event.Status))
		}
	}
}

// Completed returns why an event is not the completion of the operation that was posted with a cookie, with the given
// length. If the operation has failed, and the event of the end of the connection comes to connect within a second, the
// error says how the connection ended. flags names the flags that must be the same on both sides.
func Completed(event udat.Event, cookie uint64, length int, connect *udat.EVD, flags string) error {
	if err := event.Err(); err != nil {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if end, none := connect.Wait(ctx); none == nil {
			return fmt.Errorf("%v: %w, the connection ended with %v", event.Operation, err, end.Number)
		}
		return fmt.Errorf("%v: %w", event.Operation, err)
	}
	if event.Cookie != cookie || int(event.Length) != length {
		return fmt.Errorf("%v %d of %d bytes completed, want %d of %d bytes: do both sides have the same %s?",
			event.Operation, event.Cookie, event.Length, cookie, length, flags)
	}
	return nil
}
