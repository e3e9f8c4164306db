package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseHeader(t *testing.T) {
	const header = `
/* A comment with a prototype: extern DAT_RETURN DAT_API dat_not_this ( IN DAT_HANDLE ); */
#define HEADER
typedef DAT_RETURN (DAT_API *DAT_X_FUNC) ( IN DAT_X_HANDLE );

extern DAT_RETURN DAT_API dat_x_create (
	IN      DAT_IA_HANDLE,		/* ia_handle, and a comma */
	IN      const DAT_X_ATTR *,	// attr
	OUT     DAT_X_HANDLE * );	/* x_handle */
extern  DAT_RETURN dat_x_free(IN DAT_X_HANDLE x_handle);
extern DAT_RETURN DAT_API dat_x_list (
	IN      DAT_COUNT,
	OUT     DAT_X_INFO *(dat_x_list[]) );
extern DAT_RETURN DAT_API dat_x_op( IN DAT_HANDLE, IN ... );

static __inline__ DAT_RETURN DAT_API
dat_x_text ( IN unsigned int value, OUT const char **message )
{
	return(dat_x_list(value, message));
}
#define dat_ib_x_post(ep, size, cookie, flgs) \
	dat_x_op(\
		IN (DAT_EP_HANDLE) (ep))
#define dat_ib_x_alias	dat_x_free
`
	prototypes, macros := parseHeader(header)
	want := []prototype{
		{name: "dat_x_create", params: []param{{"IN", "DAT_IA_HANDLE"}, {"IN", "const DAT_X_ATTR *"}, {"OUT", "DAT_X_HANDLE *"}}},
		{name: "dat_x_free", params: []param{{"IN", "DAT_X_HANDLE"}}},
		{name: "dat_x_list", params: []param{{"IN", "DAT_COUNT"}, {"OUT", "DAT_X_INFO * ( [ ] )"}}},
		{name: "dat_x_op", params: []param{{"IN", "DAT_HANDLE"}, {"IN", "..."}}},
		{name: "dat_x_text", params: []param{{"IN", "unsigned int"}, {"OUT", "const char * *"}}, inline: true},
	}
	if diff := cmp.Diff(want, prototypes, cmp.AllowUnexported(prototype{}, param{})); diff != "" {
		t.Errorf("prototypes (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"HEADER", "dat_ib_x_post", "dat_ib_x_alias"}, macros); diff != "" {
		t.Errorf("macros (-want +got):\n%s", diff)
	}
}

func TestPrototypeDifference(t *testing.T) {
	of := parsePrototypes("DAT_RETURN dat_x(IN const DAT_PVOID, OUT DAT_COUNT *)")[0]
	for _, test := range []struct{ name, text, want string }{
		{"names", "(IN const DAT_PVOID data, OUT DAT_COUNT *count)", ""},
		{"reference", "(...), see Other", ""},
		{"number", "(OUT DAT_COUNT *count)", "has 1 parameters, the header has 2"},
		{"qualifier", "(IN DAT_PVOID data, OUT DAT_COUNT *count)", "parameter 1 is IN DAT_PVOID, the header has IN const DAT_PVOID"},
		{"direction", "(IN const DAT_PVOID data, INOUT DAT_COUNT *count)", "parameter 2 is INOUT DAT_COUNT *, the header has OUT DAT_COUNT *"},
		{"pointer", "(IN const DAT_PVOID data, OUT DAT_COUNT count)", "parameter 2 is OUT DAT_COUNT, the header has OUT DAT_COUNT *"},
	} {
		if got := parsePrototypes("DAT_RETURN dat_x" + test.text)[0].difference(of); got != test.want {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
}

// madeAPI has functions that a library exports, but for one.
func madeAPI() (api []*function) {
	for _, text := range []string{"dat_x_bare()", "dat_x_create(IN DAT_IA_HANDLE, OUT DAT_X_HANDLE *)", "dat_x_free(IN DAT_X_HANDLE)",
		"dat_x_lost(IN DAT_X_HANDLE)", "dat_x_modify(IN DAT_X_HANDLE)", "dat_x_query(IN DAT_X_HANDLE)", "dat_x_wait(IN DAT_X_HANDLE)"} {
		p := parsePrototypes("DAT_RETURN " + text)[0]
		api = append(api, &function{prototype: p, exported: p.name != "dat_x_lost"})
	}
	return api
}

const madeRaw = `package cgo

// XCreate creates.
//
//	Implements: DAT_RETURN dat_x_create(IN DAT_IA_HANDLE ia,
//	    OUT DAT_X_HANDLE *x)
//
// What follows, DAT_RETURN dat_x_bare(), is not a part of it.
func XCreate() {}

// XFree frees.
//
//	Implements: DAT_RETURN dat_x_free(INOUT DAT_X_HANDLE x)
//	Implements: DAT_RETURN dat_x_wait(IN DAT_X_HANDLE x)
func XFree() {}

// XModify modifies.
//
//	Implements: DAT_RETURN dat_x_modify(IN DAT_X_HANDLE x)
//	Implements: DAT_RETURN dat_x_query(IN DAT_X_HANDLE x)
func XModify() {}

// XMore is too much.
//
//	Implements: DAT_RETURN dat_x_lost(IN DAT_X_HANDLE x)
//	Implements: DAT_RETURN dat_no_such(IN DAT_IA_HANDLE ia)
func XMore() {}

// hidden is not exported.
//
//	Implements: DAT_RETURN dat_x_bare()
func hidden() {}
`

const madeMethods = `package udat

// Create creates.
//
//	Implements: DAT_RETURN dat_x_create(IN DAT_IA_HANDLE ia, OUT DAT_X_HANDLE *x)
func Create[T any](T) *X { cgo.XCreate(); return nil }

// Free frees.
//
//	Implements: DAT_RETURN dat_x_free(IN DAT_X_HANDLE x)
func (x *X) Free() error { return cgo.XFree() }

// Wait waits.
//
//	Stands in for: DAT_RETURN dat_x_wait(IN DAT_X_HANDLE x)
func (X) Wait() {}

// Modify modifies.
//
//	Implements: DAT_RETURN dat_x_modify(IN DAT_X_HANDLE x)
//	Stands in for: DAT_RETURN dat_x_query(IN DAT_X_HANDLE x)
func (*X) Modify() {}

// Empty says nothing.
//
//	Implements:
func Empty() {}
`

func examineMade(t *testing.T) *status {
	t.Helper()
	all := exceptions
	t.Cleanup(func() { exceptions = all })
	exceptions = []exception{{"dat_x_wait", false, "it holds a thread"}, {"dat_x_free", false, "nobody frees"}}
	root := t.TempDir()
	for name, text := range map[string]string{"cgo/x.go": madeRaw, "udat/x.go": madeMethods} {
		file := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	s, err := examine(root, madeAPI())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestProblems(t *testing.T) {
	want := []string{
		"cgo/x.go: XFree: dat_x_free: parameter 1 is INOUT DAT_X_HANDLE, the header has IN DAT_X_HANDLE",
		"cgo/x.go: XMore: the library does not export dat_x_lost",
		"cgo/x.go: XMore: dat_no_such is in no header and not in the library",
		"udat/x.go: Empty: Implements has no prototype",
		"dat_x_bare: no function of cgo implements it",
		"dat_x_bare: nothing in udat implements it",
		"udat/x.go: X.Modify: scripts/trials/apistatus/status.go has no reason why it stands in for dat_x_query",
		"scripts/trials/apistatus/status.go: the exception for dat_x_free is not needed: take it out",
		`udat/x.go: X.Modify: nothing in udat calls dat_x_modify: write "Stands in for:"`,
		`udat/x.go: X.Wait: udat calls dat_x_wait: write "Implements:"`,
	}
	if diff := cmp.Diff(want, examineMade(t).problems); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}

func TestPage(t *testing.T) {
	page := string(examineMade(t).page())
	for _, line := range []string{
		"What Go has for each of the 7 functions of the native API: 6 have a raw wrapper, 5 a method, which stands in for 2 of",
		"| `dat_x_bare` | **none** |  |",
		"| `dat_x_create` | [Create](../../udat/x.go)`[T any](T) *X` | [XCreate](../../cgo/x.go) |",
		"| `dat_x_lost` | none: the library does not export it | [XMore](../../cgo/x.go) |",
		"| `dat_x_wait` | [X.Wait](../../udat/x.go)`()` stands in: it holds a thread | [XFree](../../cgo/x.go) |",
	} {
		if !strings.Contains(page, "\n"+line) {
			t.Errorf("the page lacks the line\n%s\n%s", line, page)
		}
	}
}
