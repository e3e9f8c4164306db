package udat_test

import (
	"fmt"

	"github.com/goudat/goudat/cgo"
)

// failed returns an error for a return that is none of success.
func failed(r cgo.Return) error {
	if !r.OK() {
		return fmt.Errorf("the library returned %v", r)
	}
	return nil
}
