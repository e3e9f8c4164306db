package udat

import (
	"fmt"
	"os"
	"strings"

	"github.com/goudat/goudat/udat/internal/life"
	"github.com/goudat/goudat/udat/internal/logging"
)

// Origin says what an object is, and which line of the program created it.
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

// Living lists the program's objects that are alive, in order of creation.
func Living() []Origin { return origins(life.Living()) }

func leakText(leaked []Origin) string {
	const most = 20
	var text strings.Builder
	stack, _ := NativeLibrary()
	fmt.Fprintf(&text, "udat: the program has dropped an adapter without closing it (libdat2 %s at %s), and with it:\n", stack.Version, stack.Path)
	for i, o := range leaked {
		if i == most {
			fmt.Fprintf(&text, "\t%d more\n", len(leaked)-most)
			break
		}
		fmt.Fprintf(&text, "\t%v\n", o)
	}
	return text.String()
}

// dropped runs once an adapter is out of the program's reach, with what is alive on it. It runs on
// the goroutine of all cleanups of the program, which must go on even if nobody reads standard
// error.
func dropped(l *life.Ledger) {
	leaked := origins(l.Living())
	if len(leaked) == 0 { // the adapter was closed, as it should be
		return
	}
	go func() {
		if printLeaks {
			os.Stderr.WriteString(leakText(leaked))
		}
		logging.Dropped(leaked[0].Adapter, leaked)
	}()
}

func origins(list []life.Record) []Origin {
	origins := make([]Origin, len(list))
	for i, r := range list {
		maker := r.Maker()
		origins[i] = Origin{r.Serial, r.Kind, r.Adapter, maker.Function, maker.File, maker.Line}
	}
	return origins
}
