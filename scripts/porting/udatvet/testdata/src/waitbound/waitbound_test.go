package waitbound

import (
	"context"
	"testing"
	"time"

	"github.com/goudat/goudat/udat"
)

func TestBad(t *testing.T) {
	var evd *udat.EVD
	evd.Wait(context.Background())        // want `EVD.Wait waits without a deadline`
	evd.WaitBatch(context.TODO(), nil, 1) // want `EVD.WaitBatch waits without a deadline`
	evd.Expect(t.Context(), 1)            // want `EVD.Expect waits without a deadline`
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for range evd.Events(ctx) { // want `EVD.Events waits without a deadline`
	}
}

func TestGood(t *testing.T) {
	var evd *udat.EVD
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	evd.Wait(ctx)
	inner, stop := context.WithCancel(ctx)
	defer stop()
	evd.Expect(inner, 1)
	help(ctx, evd)
	program(evd)
}

func help(ctx context.Context, evd *udat.EVD) { evd.Wait(ctx) }
