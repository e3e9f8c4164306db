package udat

import (
	"fmt"
	"os"
	"strings"
	"sync/atomic"

	"github.com/goudat/goudat/udat/internal/life"
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
func (o Origin) String() string { return life.Name(o.Kind, o.File, o.Line) }

// Living lists the objects that are alive, made and not freed, in the order in
// which they were made. What udat has made for itself is not among them.
func Living() []Origin { return origins(life.Living()) }

// OnLeak sets the function that is called when the garbage collector finds that the
// program has dropped an adapter, with everything on it, and has not closed it. It gets
// the adapter and what is alive on it, in the order of creation, on a goroutine of its
// own. The default, nil, does nothing. UDAT_LEAKS=print in the environment sets
// PrintLeak from the start of the program.
//
// The native objects live on, with their memory. An adapter is not found while a
// goroutine waits on it, and while it has a CNO with an agent.
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

// dropped runs once an adapter is out of the program's reach, on the goroutine of all
// cleanups of the program, which must go on whatever the program's function does.
func dropped(l *life.Ledger) {
	report, leaked := *leakReport.Load(), l.Living()
	if report == nil || len(leaked) == 0 { // the adapter was closed, as it should be
		return
	}
	go report(origins(leaked))
}

func origins(list []life.Record) []Origin {
	origins := make([]Origin, len(list))
	for i, r := range list {
		maker := r.Maker()
		origins[i] = Origin{r.Serial, r.Kind, r.Adapter, maker.Function, maker.File, maker.Line}
	}
	return origins
}
