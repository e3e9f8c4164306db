package life

import (
	"errors"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

func nothing() error { return nil }

// family returns an adapter, two zones on it, and memory in the first.
func family(t *testing.T) (adapter, zone, other, memory *Object) {
	adapter, zone, other, memory = new(Object), new(Object), new(Object), new(Object)
	adapter.Ledger = OpenLedger("eth0")
	adapter.Born("adapter", nothing)
	zone.Born("zone", nothing, adapter)
	other.SetGate(new(sync.Mutex))
	other.Born("zone", nothing, adapter)
	memory.Born("memory", nothing, zone, adapter)
	t.Cleanup(func() {
		for _, o := range []*Object{memory, zone, other, adapter} {
			_ = o.Seal(nothing)
		}
		if living := Living(); len(living) > 0 {
			t.Errorf("%v is still alive", living)
		}
	})
	return adapter, zone, other, memory
}

func TestUsers(t *testing.T) {
	adapter, zone, other, memory := family(t)
	err := zone.Seal(func() error { t.Error("a zone in use is freed"); return nil })
	var inUse *InUse
	if !errors.As(err, &inUse) || !strings.Contains(err.Error(), "the zone is still used by: memory (made at life_test.go:") {
		t.Errorf("freeing a zone in use: %v", err)
	}
	memory.SetParents([]*Object{other, adapter})
	failure := errors.New("failure")
	if err := zone.Seal(func() error { return failure }); err != failure || zone.State() != Alive {
		t.Errorf("a release that fails: %v, and the state is %d", err, zone.State())
	}
	if err := zone.Seal(nothing); err != nil || zone.Enter() {
		t.Errorf("freeing a zone: %v, or it is still alive", err)
	}
	if err := zone.Seal(nothing); err != ErrNotAlive {
		t.Errorf("freeing a zone twice: %v", err)
	}
	if err := other.Seal(nothing); !errors.As(err, &inUse) {
		t.Errorf("freeing the new zone of memory: %v", err)
	}
	for range 9 {
		o := new(Object)
		o.Born("window", nothing, memory)
		defer o.Seal(nothing)
	}
	if err := memory.Seal(nothing); err == nil || !strings.HasSuffix(err.Error(), ", 1 more") {
		t.Errorf("freeing memory with many users: %v", err)
	}
}

func TestLiving(t *testing.T) {
	family(t)
	living := Living()
	if len(living) != 4 || living[0].Kind != "adapter" || living[3].Kind != "memory" || living[3].Adapter != "eth0" ||
		!strings.HasSuffix(living[3].Maker().Function, "life.family") {
		t.Errorf("alive are %+v", living)
	}
	if s := (Record{Kind: "request"}).String(); s != "request" {
		t.Errorf("an object of unknown origin is %q", s)
	}
}

func TestClosing(t *testing.T) {
	adapter, zone, _, _ := family(t)
	var inUse *InUse
	if err := adapter.Close(nil, nothing); !errors.As(err, &inUse) || adapter.State() != Alive {
		t.Errorf("closing an adapter in use: %v, and the state is %d", err, adapter.State())
	}
	err := adapter.Close(func() {
		if adapter.Enter() {
			t.Error("objects can be made on an adapter that is being closed")
			adapter.Leave()
		}
		if leave, dead := EnterAll(zone, adapter); dead != adapter || leave != nil {
			t.Errorf("entering an adapter that is being closed: %v", dead)
			leave()
		}
	}, nothing)
	if !errors.As(err, &inUse) {
		t.Errorf("closing an adapter with children: %v", err)
	}
	leave, dead := EnterAll(zone, adapter, zone)
	if dead != nil {
		t.Fatal("an adapter that was not closed is dead")
	}
	leave()
}

// Seal waits for the calls in flight, whether the gate is the object's own or a lock of its kind.
func TestSealWaits(t *testing.T) {
	_, _, other, memory := family(t)
	for _, o := range []*Object{memory, other} {
		if !o.Enter() {
			t.Fatal("it is not alive")
		}
		var left atomic.Bool
		begun, done := make(chan bool), make(chan error)
		go func() {
			close(begun)
			done <- o.Seal(func() error {
				if !left.Load() {
					t.Errorf("%v is freed during a call", o)
				}
				return nil
			})
		}()
		<-begun
		for range 100 {
			runtime.Gosched()
		}
		left.Store(true)
		o.Leave()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// Gates are taken in one order, whatever that of the arguments.
func TestEnterAllOrder(t *testing.T) {
	adapter, zone, other, memory := family(t)
	for _, pair := range [][2]*Object{{adapter, zone}, {memory, other}, {zone, memory}} {
		if compare(pair[0], pair[1]) >= 0 || compare(pair[1], pair[0]) <= 0 {
			t.Errorf("%v does not come before %v", pair[0], pair[1])
		}
	}
	if new(Object).Enter() || new(Object).Seal(nothing) != ErrNotAlive {
		t.Error("an object that was never born is alive")
	}
}
