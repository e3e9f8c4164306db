package udat

import (
	"cmp"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/goudat/goudat/udat/internal/lockorder"
)

// Origin tells what an object is, and which line of the program made it.
type Origin struct {
	Serial   uint64 // order of making, over all objects of the process
	Kind     string // "endpoint" for example
	Adapter  string // the name that the adapter was opened by
	Function string // the caller that made it; as File and Line, empty for a connection request
	File     string
	Line     int
}

// String returns "endpoint (made at server.go:42)" for example.
func (o Origin) String() string {
	if o.File == "" {
		return o.Kind
	}
	return fmt.Sprintf("%s (made at %s:%d)", o.Kind, path.Base(o.File), o.Line)
}

// Living lists the objects that are alive, made and not freed, in the order in
// which they were made. What udat has made for itself is not among them.
func Living() []Origin {
	ledgers.mu.Lock()
	defer ledgers.mu.Unlock()
	var living []Origin
	for l := range ledgers.open {
		living = append(living, l.origins()...)
	}
	sortOrigins(living)
	return living
}

func sortOrigins(origins []Origin) {
	slices.SortFunc(origins, func(a, b Origin) int { return cmp.Compare(a.Serial, b.Serial) })
}

// OnLeak sets the function that is called when the garbage collector finds that the
// program has dropped an adapter, with everything on it, and has not closed it. It gets
// the adapter and what is alive on it, in the order of creation, on a goroutine of its
// own. The default, nil, does nothing. UDAT_LEAKS=print in the environment sets
// PrintLeak from the start of the program.
//
// The native objects live on, with their memory. An adapter counts as in use, and is
// not found, while a goroutine waits on it, while it has a service point, and while a
// CNO on it has an agent.
func OnLeak(report func(leaked []Origin)) { leakReport.Store(&report) }

var leakReport atomic.Pointer[func([]Origin)]

// PrintLeak writes the objects to standard error. It is for OnLeak.
func PrintLeak(leaked []Origin) { os.Stderr.WriteString(leakText(leaked)) }

// leaksVariable is the environment variable that has leaks printed.
const leaksVariable = "UDAT_LEAKS"

// leaksVariableErr refuses to open an adapter when the variable says nothing sensible.
var leaksVariableErr = takeLeaksVariable(os.Getenv(leaksVariable))

func takeLeaksVariable(value string) error {
	switch value {
	case "":
		OnLeak(nil)
	case "print":
		OnLeak(PrintLeak)
	default:
		return refuse("dat_ia_open", ErrInvalidParameter, NoSubtype, "the environment variable %s is %q: set it to print, or leave it out", leaksVariable, value)
	}
	return nil
}

func leakText(leaked []Origin) string {
	const most = 20
	var text strings.Builder
	stack, _ := NativeLibrary()
	fmt.Fprintf(&text, "udat: the program has dropped an adapter without closing it (%v), and with it:\n", stack)
	for i, o := range leaked {
		if i == most {
			fmt.Fprintf(&text, "\t%d more\n", len(leaked)-most)
			break
		}
		fmt.Fprintf(&text, "\t%v\n", o)
	}
	return text.String()
}

// ledger lists what is alive on an adapter, the adapter included. It refers to
// none of it, so that it is still there when the program has dropped everything. Its lock
// guards who uses whom, too.
type ledger struct {
	adapter string

	mu      lockorder.Mutex[lockorder.Last]
	records map[uint64]record // by serial number
}

// ledgers has the ledgers of all adapters that are open.
var ledgers = struct {
	mu   lockorder.Mutex[ledgersRank]
	open map[*ledger]struct{}
}{open: make(map[*ledger]struct{})}

// openLedger begins the ledger of an adapter that is about to be born. Its dropped is to run when
// the adapter is out of the program's reach.
func openLedger(adapter string) *ledger {
	l := &ledger{adapter: adapter, records: make(map[uint64]record)}
	ledgers.mu.Lock()
	ledgers.open[l] = struct{}{}
	ledgers.mu.Unlock()
	return l
}

// enter lists an object that the program has made, and makes any a user of its parents.
func (l *ledger) enter(o *object, parents []*object) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if o.free != nil {
		l.records[o.serial] = o.record
	}
	o.use(parents)
}

// strike strikes out an object that is freed, and ends its use of its parents. The adapter is
// the last to go.
func (l *ledger) strike(o *object) {
	l.mu.Lock()
	o.use(nil)
	delete(l.records, o.serial)
	empty := len(l.records) == 0
	l.mu.Unlock()
	if empty {
		ledgers.mu.Lock()
		delete(ledgers.open, l)
		ledgers.mu.Unlock()
	}
}

// setParents has the object use others than before.
func (o *object) setParents(parents []*object) {
	o.ledger.mu.Lock()
	defer o.ledger.mu.Unlock()
	o.use(parents)
}

// replaceParent has the object use one other parent, nil for none, in place of one, nil for none.
func (o *object) replaceParent(former, parent *object) {
	o.ledger.mu.Lock()
	defer o.ledger.mu.Unlock()
	parents := slices.DeleteFunc(slices.Clone(o.parents), func(p *object) bool { return p == former })
	if parent != nil {
		parents = append(parents, parent)
	}
	o.use(parents)
}

// use sets the parents. The caller holds the ledger's mu.
func (o *object) use(parents []*object) {
	for _, p := range o.parents {
		delete(p.users, o)
	}
	for _, p := range parents {
		if p.users == nil {
			p.users = make(map[*object]struct{})
		}
		p.users[o] = struct{}{}
	}
	o.parents = parents
}

func (l *ledger) origins() []Origin {
	l.mu.Lock()
	defer l.mu.Unlock()
	origins := make([]Origin, 0, len(l.records))
	for _, r := range l.records {
		origins = append(origins, r.origin(l.adapter))
	}
	return origins
}

// dropped runs once the adapter is out of the program's reach, on the goroutine of all
// cleanups of the program, which must go on whatever the program's function does.
func (l *ledger) dropped() {
	if report := l.leak(); report != nil {
		go report()
	}
}

// leak returns what reports the leak, nil if there is none or nobody wants to know.
func (l *ledger) leak() (report func()) {
	leaked, onLeak := l.origins(), *leakReport.Load()
	if len(leaked) == 0 || onLeak == nil {
		return nil // the adapter was closed, as it should be
	}
	sortOrigins(leaked)
	return func() { onLeak(leaked) }
}
