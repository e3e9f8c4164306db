package testprogram

import "errors"

// Freeing frees objects one after another, as far as they were made, and goes on when
// one fails.
type Freeing struct{ errs []error }

// Free frees an object if it was made.
func (f *Freeing) Free(made bool, free func() error) {
	if made {
		f.errs = append(f.errs, free())
	}
}

// Err returns what has failed, nil if nothing has.
func (f *Freeing) Err() error { return errors.Join(f.errs...) }
