package life

import (
	"fmt"
	"log/slog"
	"path"
	"runtime"
	"strings"
	"sync/atomic"
)

// Record tells what an object is, and outlives it.
type Record struct {
	serial uint64 // order of birth
	kind   string
	stack  []uintptr // of the call that made it
}

var births atomic.Uint64

func newRecord(kind string) Record {
	stack := make([]uintptr, 16)
	return Record{births.Add(1), kind, stack[:runtime.Callers(3, stack)]}
}

// Kind returns what Born was told.
func (r Record) Kind() string { return r.kind }

// Serial returns the number of the birth, over all objects of the process.
func (r Record) Serial() uint64 { return r.serial }

// String names the object by its kind and the line of the program that made it.
func (r Record) String() string { return r.origin("").String() }

// LogValue finds the line of the program when a handler asks for it.
func (r Record) LogValue() slog.Value { return slog.StringValue(r.String()) }

// Origin is udat.Origin.
type Origin struct {
	Serial   uint64
	Kind     string
	Adapter  string
	Function string
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

// origin finds the line of the program that made the object.
func (r Record) origin(adapter string) Origin {
	o := Origin{Serial: r.serial, Kind: r.kind, Adapter: adapter}
	frames := runtime.CallersFrames(r.stack)
	for {
		frame, more := frames.Next()
		if frame.Function != "" && isProgramFrame(frame) {
			o.Function, o.File, o.Line = frame.Function, frame.File, frame.Line
			return o
		}
		if !more {
			return o
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
