package testprogram

import "errors"

// Freeing frees objects one after another, and continues after a failure.
type Freeing struct{ errs []error }

// Free frees an object if it was made.
func (f *Freeing) Free(made bool, free func() error) {
	if made {
		f.errs = append(f.errs, free())
	}
}

// Err returns the errors of all that failed, nil if none did.
func (f *Freeing) Err() error { return errors.Join(f.errs...) }
