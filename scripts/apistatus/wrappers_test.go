package main

import (
	"go/parser"
	"go/token"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWrappersOf(t *testing.T) {
	const source = `package udat

// Free frees.
//
//	Implements: DAT_RETURN dat_x_free(IN DAT_X_HANDLE x)
func (x *X) Free() error { return nil }

// Both does two things.
//
//	Implements: DAT_RETURN dat_x_one(IN DAT_X_HANDLE x, OUT DAT_COUNT *n)
//	Implements: DAT_RETURN dat_x_two(IN DAT_X_HANDLE x)
func Both() {}

// Part does the one and leaves the other.
//
//	Stands in for: DAT_RETURN dat_x_three(IN DAT_X_HANDLE x)
//	Implements: DAT_RETURN dat_x_four(IN DAT_X_HANDLE x)
func Part() {}

// Value is a method of a value.
//
//	Implements: DAT_RETURN dat_v(IN DAT_V v)
//
// What follows, DAT_RETURN dat_w(IN DAT_W w), is not a part of it.
func (V) Value() {}

// Empty says nothing.
//
//	Implements:
func Empty() {}

// Plain implements: DAT_RETURN dat_p(IN DAT_P p)
func Plain() {}

// hidden is not exported.
//
//	Implements: DAT_RETURN dat_h(IN DAT_H h)
func hidden() {}

// Method has a receiver that is not exported.
//
//	Implements: DAT_RETURN dat_h(IN DAT_H h)
func (h *hiding) Method() {}
`
	file, err := parser.ParseFile(token.NewFileSet(), "x.go", source, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	type summary struct {
		Name, ID string
		StandsIn bool
		Wraps    []string
	}
	var got []summary
	for _, decl := range file.Decls {
		for _, w := range wrappersOf(decl, "m/udat") {
			s := summary{Name: w.name, ID: w.id, StandsIn: w.standsIn}
			for _, p := range w.prototypes {
				s.Wraps = append(s.Wraps, p.name)
			}
			got = append(got, s)
		}
	}
	want := []summary{
		{"X.Free", "(*m/udat.X).Free", false, []string{"dat_x_free"}},
		{"Both", "m/udat.Both", false, []string{"dat_x_one", "dat_x_two"}},
		{"Part", "m/udat.Part", false, []string{"dat_x_four"}},
		{"Part", "m/udat.Part", true, []string{"dat_x_three"}},
		{"V.Value", "(m/udat.V).Value", false, []string{"dat_v"}},
		{"Empty", "m/udat.Empty", false, nil},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("wrappers (-want +got):\n%s", diff)
	}
}
