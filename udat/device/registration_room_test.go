//go:build linux

package device_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/mem"
	"github.com/goudat/goudat/udat/udattest"
)

// When there is no room for a registration, the cache gives up what is idle.
func TestRegistrationCacheMakesRoom(t *testing.T) {
	if !udattest.InTestbed(t) {
		return
	}
	task := childTask{Open: udattest.Names(t), Cache: 1 << 20, MaxLock: 4 << 20}
	for _, o := range (child{task: task, nobody: true}).run(t).Opened {
		if o.Text != "" {
			t.Error(o.Text)
		}
	}
}

// fillCache registers memory again and again, with a limit on locked memory that has room for some
// of it.
func fillCache(pz *udat.PZ, size int) error {
	cache, err := mem.CreateRegistrationCache(pz, mem.RegistrationCacheLimits{})
	if err != nil {
		return err
	}
	for range 20 {
		r, err := cache.Register(make([]byte, size), udat.MemPrivAll)
		if err != nil {
			return err
		}
		if err := r.Release(); err != nil {
			return err
		}
	}
	if s := cache.Stats(); s.Evictions == 0 || s.Misses != 20 {
		return fmt.Errorf("without room the counters are %+v", s)
	}
	var registrations []*mem.Registration
	for {
		r, err := cache.Register(make([]byte, size), udat.MemPrivAll)
		if errors.Is(err, udat.ErrInsufficientResources) {
			break
		}
		if err != nil {
			return err
		}
		registrations = append(registrations, r)
	}
	if len(registrations) == 0 {
		return errors.New("there is no room for any memory")
	}
	var errs []error
	for _, r := range registrations {
		errs = append(errs, r.Release())
	}
	return errors.Join(append(errs, cache.Free())...)
}
