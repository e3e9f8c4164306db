package life

import (
	"fmt"
	"log/slog"
	"path"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
)

// Record tells what an object is, and outlives it.
type Record struct {
	Serial  uint64 // order of birth, over all objects of the process
	Kind    string
	Adapter string
	stack   []uintptr // of the call that made it
}

var births atomic.Uint64

func newRecord(kind, adapter string) Record {
	var stack [16]uintptr
	return Record{births.Add(1), kind, adapter, slices.Clone(stack[:runtime.Callers(3, stack[:])])}
}

// String names the object by its kind and the line of the program that made it.
func (r Record) String() string {
	maker := r.Maker()
	return Name(r.Kind, maker.File, maker.Line)
}

// LogValue finds the line of the program when a handler asks for it.
func (r Record) LogValue() slog.Value { return slog.StringValue(r.String()) }

// Name returns "endpoint (made at server.go:42)" for example.
func Name(kind, file string, line int) string {
	if file == "" {
		return kind
	}
	return fmt.Sprintf("%s (made at %s:%d)", kind, path.Base(file), line)
}

// Maker finds the line of the program that made the object, a zero Frame if there is none.
func (r Record) Maker() runtime.Frame {
	frames := runtime.CallersFrames(r.stack)
	for {
		frame, more := frames.Next()
		switch {
		case frame.Function != "" && isProgramFrame(frame):
			return frame
		case !more:
			return runtime.Frame{}
		}
	}
}

// ownPath begins the names of the functions of udat, of what is below it, and of udattest.
const ownPath = "github.com/goudat/goudat/udat"

// isProgramFrame reports whether a call is one of the program's, or of a test,
// and not of the binding or of the runtime, which starts the binding's goroutines.
func isProgramFrame(f runtime.Frame) bool {
	return strings.HasSuffix(f.File, "_test.go") ||
		!strings.HasPrefix(f.Function, ownPath) && !strings.HasPrefix(f.Function, "runtime.")
}
