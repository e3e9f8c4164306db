package main

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// made is a small module with a native API of its own, in the folders that the command reads.
var made = map[string]string{
	"native/include/dat2/dat.h": `
#define DAT_API
extern DAT_RETURN DAT_API dat_x_create(IN DAT_IA_HANDLE, OUT DAT_X_HANDLE *);
extern DAT_RETURN DAT_API dat_x_free(IN DAT_X_HANDLE);
extern DAT_RETURN DAT_API dat_x_query(IN DAT_X_HANDLE, OUT DAT_X_PARAM *);
extern DAT_RETURN DAT_API dat_x_wait(IN DAT_X_HANDLE);
extern DAT_RETURN DAT_API dat_x_modify(IN DAT_X_HANDLE);
extern DAT_RETURN DAT_API dat_x_lost(IN DAT_X_HANDLE);
extern DAT_RETURN DAT_API dat_x_openv(IN DAT_NAME_PTR, IN DAT_COUNT);
#define dat_ia_open(name) dat_x_openv((name), 3)
`,
	"native/include/dat2/udat.h":         "#include <dat2/dat.h>\n",
	"native/include/dat2/dat_registry.h": "",
	"native/include/dat2/dat_ib_extensions.h": `
static inline DAT_RETURN dat_strerror_extension(IN DAT_IB_RETURN value) { return 0; }
#define dat_ib_collective_x(x) dat_x_free((x))
#define dat_ib_x_other_name dat_x_free
`,
	"native/dat2.c": `
int dat_x_create, other;
void dat_x_free(void) {}
void dat_x_query(void) {}
void dat_x_wait(void) {}
void dat_x_modify(void) {}
void dat_x_openv(void) {}
void dats_get_ia_handle(void) {}
static void dat_static(void) {}
void *use(void) { return dat_static; }
`,
	"go.mod": "module example.test/m\n\ngo 1.24\n",
	"cgo/x.go": `package cgo

// XCreate creates.
//
//	Implements: DAT_RETURN dat_x_create(IN DAT_IA_HANDLE ia, OUT DAT_X_HANDLE *x)
func XCreate() {}

// XFree frees.
//
//	Implements: DAT_RETURN dat_x_free(IN DAT_X_HANDLE x)
//	Implements: DAT_RETURN dat_ib_x_other_name(IN DAT_X_HANDLE x)
func XFree() {}

// XQuery queries.
//
//	Implements: DAT_RETURN dat_x_query(IN DAT_X_HANDLE x)
func XQuery() {}

// XWait waits.
//
//	Implements: DAT_RETURN dat_x_wait(IN DAT_X_HANDLE x)
func XWait() {}

// XModify modifies.
//
//	Implements: DAT_RETURN dat_x_modify(IN DAT_X_HANDLE x)
func XModify() {}

// Open opens.
//
//	Implements: DAT_RETURN dat_ia_open(IN DAT_NAME_PTR name)
//	Implements: DAT_RETURN dat_x_openv(IN DAT_NAME_PTR name, IN DAT_COUNT n)
func Open() {}

// Strerror and more.
//
//	Implements: DAT_RETURN dat_strerror_extension(IN DAT_IB_RETURN value)
//	Implements: DAT_RETURN dats_get_ia_handle(IN DAT_IA_HANDLE ia)
//	Implements: DAT_RETURN dat_no_such(IN DAT_IA_HANDLE ia)
func Strerror() {}
`,
	"udat/x.go": `package udat

import "example.test/m/cgo"

type X struct{}

// Create creates.
//
//	Implements: DAT_RETURN dat_x_create(IN DAT_IA_HANDLE ia, OUT DAT_X_HANDLE *x)
func Create[T any](T) *X { cgo.XCreate(); return nil }

// Free frees.
//
//	Implements: DAT_RETURN dat_x_free(IN DAT_X_HANDLE x)
func (*X) Free() { release(nil) }

func release(l *library) { l.free() }

type library struct{ free func() }

var native = library{free: cgo.XFree}

// Wait waits. Only through an interface does a test call it.
//
//	Stands in for: DAT_RETURN dat_x_wait(IN DAT_X_HANDLE x)
func (*X) Wait() { cgo.XWait() }

// Modify modifies by itself.
//
//	Stands in for: DAT_RETURN dat_x_modify(IN DAT_X_HANDLE x)
func (*X) Modify() {}

// Open opens.
//
//	Implements: DAT_RETURN dat_ia_open(IN DAT_NAME_PTR name)
func Open() {}
`,
	"udat/export_test.go": `package udat

func OpenForTest() { Open() }
`,
	"udat/x_test.go": `package udat_test

import (
	"testing"

	"example.test/m/cgo"
	"example.test/m/udat"
	"example.test/m/udat/udattest"
)

var table = []func(){cgo.Strerror}

type waiter interface{ Wait() }

func wait(w waiter) { w.Wait() }

func TestXNear(t *testing.T)  { udat.Create(1); (*udat.X).Free(nil) }
func TestXFar(t *testing.T)   { udattest.Make().Free() }
func TestZFree(t *testing.T)  { new(udat.X).Free() }
func TestTable(t *testing.T)  { table[0]() }
func TestOpen(t *testing.T)   { udat.OpenForTest() }
func TestModify(t *testing.T) { new(udat.X).Modify() }
func TestWait(t *testing.T)   { wait(udattest.Make().X) }
func TestMain(m *testing.M)   { udat.Open() }
func Testify(t *testing.T)    { cgo.XQuery() }
func helper()                 { cgo.XQuery() }
func BenchmarkX(b *testing.B) { cgo.XQuery() }
`,
	"udat/udattest/made.go": `package udattest

import "example.test/m/udat"

type Made struct{ *udat.X }

func Make() Made { return Made{udat.Create("x")} }
`,
}

// makeModule writes the module and its native parts.
func makeModule(t *testing.T, change map[string]string) *module {
	t.Helper()
	m := &module{root: t.TempDir(), path: "example.test/m"}
	for name, text := range made {
		if changed, ok := change[name]; ok {
			text = changed
		}
		file := filepath.Join(m.root, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	native, cc := filepath.Join(m.root, "native"), compiler(t)
	m.toolchain = toolchain{cc: cc, cflags: []string{"-I" + native + "/include"}, ldflags: []string{"-L" + native}}
	args := append(cc[1:], "-w", "-shared", "-fPIC", "-o", native+"/libdat2.so", native+"/dat2.c")
	if out, err := exec.Command(cc[0], args...).CombinedOutput(); err != nil {
		t.Fatalf("the C compiler: %v\n%s", err, out)
	}
	t.Setenv("GOFLAGS", "-mod=mod")
	t.Setenv("GOWORK", "off")
	keepExemptions(t)
	all := standIns
	t.Cleanup(func() { standIns = all })
	standIns = map[string]string{"dat_x_gone": "It was needed once.", "dat_x_wait": "It waits without a thread."}
	return m
}

// keepExemptions leaves the exemptions of functions that the module has.
func keepExemptions(t *testing.T) {
	t.Helper()
	all := exemptions
	t.Cleanup(func() { exemptions = all })
	texts := strings.Join(slices.Collect(maps.Values(made)), "")
	exemptions = slices.DeleteFunc(slices.Clone(all), func(e exemption) bool {
		return !strings.Contains(texts, strings.TrimSuffix(e.name, "*"))
	})
}

func compiler(t *testing.T) []string {
	t.Helper()
	values, err := goEnv("CC")
	if err != nil {
		t.Fatal(err)
	}
	return strings.Fields(values[0])
}

func (m *module) mustExamine(t *testing.T) *status {
	t.Helper()
	s, err := m.examine()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestProblems(t *testing.T) {
	s := makeModule(t, nil).mustExamine(t)
	want := []string{
		"cgo/x.go:17: XQuery: dat_x_query: has 1 parameters, the header has 2",
		"cgo/x.go:40: Strerror: dat_no_such is in no header and not in the library",
		"dat_x_create: the library does not export it, but udat has Create",
		"dat_x_lost: no function of cgo implements it",
		"dat_x_query: nothing in udat implements it",
		"dat_x_query: no test uses cgo's XQuery",
		"dat_x_wait: no test uses udat's X.Wait",
		`udat/x.go:36: Open: it does not call dat_ia_open: write "Stands in for:"`,
		"udat/x.go:31: X.Modify: scripts/apistatus/calls.go has no reason why it stands in for dat_x_modify",
		`udat/x.go:26: X.Wait: it calls dat_x_wait: write "Implements:"`,
		"scripts/apistatus/calls.go: the reason for dat_x_gone is not needed: take it out",
	}
	if diff := cmp.Diff(want, s.problems); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}

func TestPage(t *testing.T) {
	s := makeModule(t, nil).mustExamine(t)
	page := string(s.page())
	for _, line := range []string{
		"11 functions: 6 exported, 2 declared but not exported, 2 macros, 1 inline. 10 have a raw wrapper, 7 a method, which stands in",
		"for 2 of them, 8 a test. 1 more are left out, see the end.",
		"| `dat_ia_open` | macro | [Open](../../cgo/x.go) | [Open](../../udat/x.go) | [TestOpen](../../udat/x_test.go) |",
		"| `dat_ib_x_other_name` | macro | [XFree](../../cgo/x.go) | as `dat_x_free` | [TestZFree](../../udat/x_test.go), [TestXFar](../../udat/x_test.go) |",
		"| `dat_strerror_extension` | inline | [Strerror](../../cgo/x.go) | - | [TestTable](../../udat/x_test.go) |",
		"| `dat_x_create` | **no** | [XCreate](../../cgo/x.go) | [Create](../../udat/x.go) | [TestXNear](../../udat/x_test.go), [TestWait](../../udat/x_test.go) |",
		"| `dat_x_free` | yes | [XFree](../../cgo/x.go) | [X.Free](../../udat/x.go) | [TestZFree](../../udat/x_test.go), [TestXFar](../../udat/x_test.go) |",
		"| `dat_x_lost` | **no** | **none** | - | **none** |",
		"| `dat_x_openv` | yes | [Open](../../cgo/x.go) | as `dat_ia_open` | [TestOpen](../../udat/x_test.go) |",
		"| `dat_x_query` | yes | [XQuery](../../cgo/x.go) | **none** | **none** |",
		"| `dat_x_wait` | yes | [XWait](../../cgo/x.go) | [X.Wait](../../udat/x.go) stands in | **none** |",
		"| `dats_get_ia_handle` | yes | [Strerror](../../cgo/x.go) | - | [TestTable](../../udat/x_test.go) |",
		"- `dat_x_wait`: It waits without a thread.",
		"- All of `dat_ib_collective_*`, 1 functions: ",
		"- A method for `dat_strerror_extension`: ",
	} {
		if !strings.Contains(page, "\n"+line) {
			t.Errorf("the page lacks the line\n%s", line)
		}
	}
	if t.Failed() {
		t.Logf("the page:\n%s", page)
	}
}

// An exemption that is not needed would hide a function that loses its wrapper later.
func TestUselessExemption(t *testing.T) {
	s := makeModule(t, map[string]string{"native/include/dat2/dat_ib_extensions.h": "\n#define dat_ib_x_other_name dat_x_free\n"}).mustExamine(t)
	const want = "scripts/apistatus/status.go: the exemption of dat_ib_collective_* excuses nothing: remove it"
	if !strings.Contains(strings.Join(s.problems, "\n"), want) {
		t.Errorf("got the problems\n%s\nwithout\n%s", strings.Join(s.problems, "\n"), want)
	}
}

func TestStalePage(t *testing.T) {
	m := makeModule(t, nil)
	file := filepath.Join(m.root, pageFile)
	if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
		t.Fatal(err)
	}
	t.Chdir(m.root)
	t.Setenv("CGO_CFLAGS", m.toolchain.cflags[0])
	t.Setenv("CGO_LDFLAGS", m.toolchain.ldflags[0])
	stale := func() bool {
		t.Helper()
		problems, err := run(true)
		if err != nil {
			t.Fatal(err)
		}
		return slices.Contains(problems, pageFile+" is stale: run go run ./scripts/apistatus")
	}
	if !stale() {
		t.Error("a page that is missing is not stale")
	}
	if problems, err := run(false); err != nil || len(problems) > 0 {
		t.Errorf("writing the page: %v, %q", err, problems)
	}
	if stale() {
		t.Error("the page is stale after it was written")
	}
	page, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, append(page, '\n'), 0o666); err != nil {
		t.Fatal(err)
	}
	if !stale() {
		t.Error("a page that was changed is not stale")
	}
}

func TestNativePartsMissing(t *testing.T) {
	noHeaders := toolchain{cc: compiler(t), cflags: []string{"-nostdinc"}}
	if _, err := noHeaders.headers(); err == nil || !strings.Contains(err.Error(), "run scripts/native") || strings.Contains(err.Error(), "\n") {
		t.Errorf("without headers: %v", err)
	}
	t.Setenv("LIBRARY_PATH", "")
	// This compiler cannot find any file.
	noLibrary := toolchain{cc: []string{"sh", "-c", `echo "${1#-print-file-name=}"`, "cc"}}
	if file, err := noLibrary.library(); err == nil || !strings.Contains(err.Error(), "run scripts/native") {
		t.Errorf("without a library: %q, %v", file, err)
	}
	if _, err := exportedSymbols("module_test.go"); err == nil {
		t.Error("a Go file has symbols")
	}
}

func TestLibraryFolders(t *testing.T) {
	folder := t.TempDir()
	file := filepath.Join(folder, "libdat2.so.2")
	if err := os.WriteFile(file, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	t.Setenv("LIBRARY_PATH", "")
	for _, flags := range [][]string{{"-L" + folder}, {"-O2", "-L", folder}} {
		if got, err := (toolchain{ldflags: flags}).library(); got != file {
			t.Errorf("with the flags %q: %q, %v, want %q", flags, got, err, file)
		}
	}
	t.Setenv("LIBRARY_PATH", "/nowhere:"+folder)
	if got, err := (toolchain{}).library(); got != file {
		t.Errorf("with LIBRARY_PATH: %q, %v, want %q", got, err, file)
	}
}
