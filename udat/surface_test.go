package udat_test

import (
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/goudat/goudat/udat"
)

// objectTypes are the kinds of objects, as pointers, each before those that use it.
var objectTypes = []reflect.Type{
	reflect.TypeFor[*udat.IA](), reflect.TypeFor[*udat.PZ](), reflect.TypeFor[*udat.CNO](), reflect.TypeFor[*udat.EVD](),
	reflect.TypeFor[*udat.LMR](), reflect.TypeFor[*udat.RMR](), reflect.TypeFor[*udat.SRQ](), reflect.TypeFor[*udat.EP](),
	reflect.TypeFor[*udat.PSP](), reflect.TypeFor[*udat.RSP](), reflect.TypeFor[*udat.CR](),
}

// functions are the package's exported functions.
var functions = map[string]any{
	"AllocHugeMemory":    udat.AllocHugeMemory,
	"AllocMemory":        udat.AllocMemory,
	"CreateCNO":          udat.CreateCNO,
	"CreateEP":           udat.CreateEP,
	"CreateEPWithSRQ":    udat.CreateEPWithSRQ,
	"CreateEVD":          udat.CreateEVD,
	"CreatePSP":          udat.CreatePSP,
	"CreatePSPAny":       udat.CreatePSPAny,
	"CreatePZ":           udat.CreatePZ,
	"CreateRMR":          udat.CreateRMR,
	"CreateRSP":          udat.CreateRSP,
	"CreateSRQ":          udat.CreateSRQ,
	"Open":               udat.Open,
	"Providers":          udat.Providers,
	"RegisterMemory":     udat.RegisterMemory,
	"RegisterProvider":   udat.RegisterProvider,
	"Strerror":           udat.Strerror,
	"UnregisterProvider": udat.UnregisterProvider,
}

// forTheProcess are the functions that set or tell something for the whole
// process. They have tests of their own.
var forTheProcess = []string{"Living", "NativeLibrary", "SetAssertions", "SetLogHandler"}

// surfaceCall is an exported function, or a method of an object, whose receiver
// is the first argument.
type surfaceCall struct {
	name string // CreateEP, EP.Free
	f    reflect.Value
}

// surface has all functions, and all methods of objects, by name.
var (
	surface      = surfaceCalls()
	surfaceNames = sortedKeys(surface)
)

func surfaceCalls() map[string]*surfaceCall {
	calls := map[string]*surfaceCall{}
	for name, f := range functions {
		calls[name] = &surfaceCall{name: name, f: reflect.ValueOf(f)}
	}
	for _, typ := range objectTypes {
		for i := range typ.NumMethod() {
			m := typ.Method(i)
			name := typ.Elem().Name() + "." + m.Name
			calls[name] = &surfaceCall{name: name, f: m.Func}
		}
	}
	return calls
}

var errorType = reflect.TypeFor[error]()

// call calls the function and returns its error, nil if it has none.
func (c *surfaceCall) call(args []reflect.Value) (results []reflect.Value, err error) {
	results = c.f.Call(args)
	if n := len(results); n > 0 && results[n-1].Type() == errorType {
		err, _ = results[n-1].Interface().(error)
		results = results[:n-1]
	}
	return results, err
}

// reportsErrors reports whether the function can fail.
func (c *surfaceCall) reportsErrors() bool {
	t := c.f.Type()
	return t.NumOut() > 0 && t.Out(t.NumOut()-1) == errorType
}

func isObject(t reflect.Type) bool { return t.Implements(reflect.TypeFor[udat.Object]()) }

// stream is what an event dispatcher must be fed by to serve as the i-th
// argument, 0 when any will do.
func (c *surfaceCall) stream(i int) udat.EVDFlags {
	if c.f.Type().In(i) != reflect.TypeFor[*udat.EVD]() {
		return 0
	}
	switch c.name {
	case "CreateEP", "CreateEPWithSRQ":
		if i == 4 {
			return udat.EVDConnection
		}
		return udat.EVDDTO
	case "CreatePSP", "CreatePSPAny", "CreateRSP":
		return udat.EVDCR
	case "EVD.PostSE":
		return udat.EVDSoftware
	}
	return 0
}

func sortedKeys[T any](m map[string]T) []string { return slices.Sorted(maps.Keys(m)) }

// sources returns the text of the package in a folder, without tests.
func sources(t *testing.T, folder string) (text string) {
	t.Helper()
	for _, file := range must(filepath.Glob(folder + "/*.go")) {
		if !strings.HasSuffix(file, "_test.go") {
			text += string(must(os.ReadFile(file)))
		}
	}
	return text
}

// The tables above have all that the sources have.
func TestSurfaceIsComplete(t *testing.T) {
	text := sources(t, ".")
	var kinds, names []string
	for _, m := range regexp.MustCompile(`(?m)^func \(\w+ \*([A-Z]\w*)\) object\(\) \*object`).FindAllStringSubmatch(text, -1) {
		kinds = append(kinds, m[1])
	}
	for _, m := range regexp.MustCompile(`(?m)^func ([A-Z]\w*)\(`).FindAllStringSubmatch(text, -1) {
		if !slices.Contains(forTheProcess, m[1]) {
			names = append(names, m[1])
		}
	}
	slices.Sort(names)
	if diff := cmp.Diff(sortedKeys(functions), names); diff != "" {
		t.Errorf("functions (-) and sources (+): %s", diff)
	}
	for _, typ := range objectTypes {
		kinds = slices.DeleteFunc(kinds, func(kind string) bool { return kind == typ.Elem().Name() })
	}
	if len(kinds) > 0 {
		t.Errorf("objectTypes lacks %s", kinds)
	}
}

// What users read is described in the documentation of this package: its fields and methods are not
// those of a type of another package, and no message speaks of one.
func TestTypesAreOwn(t *testing.T) {
	for _, m := range regexp.MustCompile(`(?m)^type [A-Z]\w* = .*`).FindAllString(sources(t, "."), -1) {
		t.Errorf("%s is another name of a type that its documentation does not show", m)
	}
	for _, m := range regexp.MustCompile(`"[^"\n]*cgo:[^"\n]*"`).FindAllString(sources(t, ".")+sources(t, "../cgo"), -1) {
		t.Errorf("a message says %s", m)
	}
}
