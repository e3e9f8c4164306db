package waitbound

import (
	"context"

	"github.com/goudat/goudat/udat"
)

// A program may wait for as long as it runs.
func program(evd *udat.EVD) (udat.Event, error) { return evd.Wait(context.Background()) }
