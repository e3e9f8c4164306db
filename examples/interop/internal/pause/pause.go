// Package pause is for waits that no event ends.
package pause

import (
	"context"
	"time"
)

// peerHears is far longer than an acknowledgement takes, and short for a program
// that ends.
const peerHears = 250 * time.Millisecond

// UntilPeerHears waits until the peer has probably learned that its last operation has arrived. The data is in this
// side's memory earlier, and no event tells this side when the peer knows.
func UntilPeerHears(ctx context.Context) error { return For(ctx, peerHears) }

// For waits for a duration, or until ctx ends, and then returns its error.
func For(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
