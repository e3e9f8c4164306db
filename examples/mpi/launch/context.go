package launch

import (
	"context"
	"errors"
	"fmt"
)

// ContextError returns an error that matches both the error and the cause of a
// context that has ended.
func ContextError(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if errors.Is(cause, err) {
		return cause
	}
	return fmt.Errorf("%w: %w", err, cause)
}
