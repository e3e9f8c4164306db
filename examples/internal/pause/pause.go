// Package pause is for waits that no event ends.
package pause

import (
	"context"
	"time"
)

// peerHears is far longer than an acknowledgement takes, and short for a program
// that ends.
const peerHears = 250 * time.Millisecond

// UntilPeerHears leaves the peer the time to hear that its last operation has
// arrived. What it brought is in this side's memory before, and no event tells
// this side when the peer knows.
func UntilPeerHears(ctx context.Context) error { return For(ctx, peerHears) }

// For waits so long, or until ctx ends, whose error it gives then.
func For(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
