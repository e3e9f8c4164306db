package launch

import (
	"context"
	"errors"
	"testing"
)

func TestContextError(t *testing.T) {
	because := errors.New("because")
	for _, cause := range []error{nil, because, context.Canceled, context.DeadlineExceeded} {
		ctx, cancel := context.WithCancelCause(context.Background())
		cancel(cause)
		err := ContextError(ctx)
		if !errors.Is(err, context.Canceled) || cause != nil && !errors.Is(err, cause) {
			t.Errorf("the error of a context that was canceled because of %v is %v", cause, err)
		}
	}
}
