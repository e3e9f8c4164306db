package life

import (
	"cmp"
	"maps"
	"slices"
	"sync"
)

// Ledger lists the objects that are alive on an adapter, and the adapter itself. It holds no
// pointers to them, so it outlives them. Its lock also guards who uses whom.
type Ledger struct {
	adapter string

	mu      sync.Mutex
	records map[uint64]Record // by serial number
}

// ledgers has the ledgers of all adapters that are open.
var (
	ledgersLock sync.Mutex
	ledgers     = make(map[*Ledger]struct{})
)

// OpenLedger begins the ledger of an adapter that is about to be born.
func OpenLedger(adapter string) *Ledger {
	l := &Ledger{adapter: adapter, records: make(map[uint64]Record)}
	ledgersLock.Lock()
	ledgers[l] = struct{}{}
	ledgersLock.Unlock()
	return l
}

// add lists an object that the program has made, and makes any a user of its parents.
func (l *Ledger) add(o *Object, parents []*Object) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if o.Free != nil {
		l.records[o.Serial] = o.Record
	}
	o.use(parents)
}

// remove deletes a freed object, which then uses no parents. The adapter is the last to go.
func (l *Ledger) remove(o *Object) {
	l.mu.Lock()
	o.use(nil)
	delete(l.records, o.Serial)
	empty := len(l.records) == 0
	l.mu.Unlock()
	if empty {
		ledgersLock.Lock()
		delete(ledgers, l)
		ledgersLock.Unlock()
	}
}

// Living lists what is alive, in the order of birth.
func (l *Ledger) Living() []Record {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.SortedFunc(maps.Values(l.records), func(a, b Record) int { return cmp.Compare(a.Serial, b.Serial) })
}

// Living lists what is alive on all adapters, in the order of birth.
func Living() (living []Record) {
	ledgersLock.Lock()
	defer ledgersLock.Unlock()
	for l := range ledgers {
		living = append(living, l.Living()...)
	}
	slices.SortFunc(living, func(a, b Record) int { return cmp.Compare(a.Serial, b.Serial) })
	return living
}
