package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Packages with one type of each kind.
const rawPackage = `package cgo

// XHandle is a DAT_X_HANDLE.
type XHandle uintptr

// XState is a state, DAT_X_STATE.
type XState uint32

const XStateOn XState = 1 // DAT_X_STATE_ON

// XParam is laid out as DAT_X_PARAM.
type XParam struct {
	Handle XHandle // x_handle
}

// Triplet is laid out as DAT_TRIPLET.
type Triplet struct {
	Address uint64 // virtual_address
}
`

const ownPackage = `package udat

import "example.test/m/cgo"

type X struct{}

func (*X) Query() {}

type XState = cgo.XState

const (
	XStateOn    = cgo.XStateOn // DAT_X_STATE_ON
	XStateEvent = 1            // DAT_X_STATE_ON
)

type XParam struct {
	X              *X
	State          XState
	RemoteAddress  string
	RemotePortQual uint64 // 0 unless connected
}

type Triplet = cgo.Triplet
`

func findMade(t *testing.T, d *cDeclarations, answers []answer) *counterparts {
	t.Helper()
	m := &module{root: t.TempDir()}
	read := func(folder, source string) *goNames {
		t.Helper()
		if err := os.Mkdir(filepath.Join(m.root, folder), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(m.root, folder, "x.go"), []byte(source), 0o666); err != nil {
			t.Fatal(err)
		}
		names, err := m.goNames(folder)
		if err != nil {
			t.Fatal(err)
		}
		return names
	}
	return findCounterparts(d, read("cgo", rawPackage), read("udat", ownPackage), answers)
}

func TestCounterparts(t *testing.T) {
	d := &cDeclarations{
		types: []*cType{
			{name: "DAT_X_HANDLE"},
			{name: "DAT_X_STATE", constants: []string{"DAT_X_STATE_ON", "DAT_X_STATE_OFF"}},
			{name: "DAT_X_PARAM", members: []string{"x_handle", "x_state", "remote_ia_address_ptr", "remote_port_qual", "private_data_size"}},
			{name: "DAT_TRIPLET", members: []string{"virtual_address"}},
			{name: "DAT_LEFT_OUT", members: []string{"a"}},
		},
		constants: []cConstant{{"DAT_X_OTHER", "DAT_X_STATE_ON"}},
		macros:    []string{"DAT_GET_X"},
	}
	none, instead := answer{"DAT_LEFT_OUT", "none: not needed"}, answer{"DAT_GET_* DAT_X_PARAM.private_*", "[[X.Query]] of [[XParam.State]]"}
	got := findMade(t, d, []answer{none, instead})
	want := &counterparts{
		types: []counterpart{
			{c: "DAT_X_HANDLE", golang: []string{"*X"}},
			{c: "DAT_X_STATE", golang: []string{"XState"}},
			{c: "DAT_X_PARAM", golang: []string{"XParam"}},
			{c: "DAT_TRIPLET", golang: []string{"Triplet"}},
			{c: "DAT_LEFT_OUT", answer: &none},
		},
		members: []counterpart{
			{c: "DAT_X_PARAM.x_handle", group: "DAT_X_PARAM", golang: []string{"XParam.X"}},
			{c: "DAT_X_PARAM.x_state", group: "DAT_X_PARAM", golang: []string{"XParam.State"}},
			{c: "DAT_X_PARAM.remote_ia_address_ptr", group: "DAT_X_PARAM", golang: []string{"XParam.RemoteAddress"}},
			{c: "DAT_X_PARAM.remote_port_qual", group: "DAT_X_PARAM", golang: []string{"XParam.RemotePortQual"}},
			{c: "DAT_X_PARAM.private_data_size", group: "DAT_X_PARAM", answer: &instead},
			{c: "DAT_TRIPLET.virtual_address", group: "DAT_TRIPLET", golang: []string{"Triplet.Address"}},
		},
		constants: []counterpart{
			{c: "DAT_X_STATE_ON", group: "DAT_X_STATE", golang: []string{"XStateOn", "XStateEvent"}},
			{c: "DAT_X_STATE_OFF", group: "DAT_X_STATE", answer: &answer{text: "**none**"}},
			{c: "DAT_X_OTHER", golang: []string{"XStateOn", "XStateEvent"}},
			{c: "DAT_GET_X", answer: &instead},
		},
		problems: []string{"DAT_X_STATE_OFF: udat has nothing of this name, and scripts/apistatus/answers.go does not say why"},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(counterparts{}, counterpart{}, answer{})); diff != "" {
		t.Errorf("counterparts (-want +got):\n%s", diff)
	}
}

// An answer that is not needed would hide a name that loses its counterpart later. A wrong answer would mislead.
func TestAnswersAreJudged(t *testing.T) {
	d := &cDeclarations{types: []*cType{{name: "DAT_X_HANDLE"}, {name: "DAT_Y"}}}
	got := findMade(t, d, []answer{{"DAT_X_HANDLE DAT_Z", "none: not so"}, {"DAT_Y", "[[X.Query]], [[X.Missing]] and [[Nothing]]"}})
	want := []string{
		"scripts/apistatus/answers.go: the answer for DAT_X_HANDLE DAT_Z is not needed: take it out",
		"scripts/apistatus/answers.go: the answer for DAT_Y names udat.X.Missing, which does not exist",
		"scripts/apistatus/answers.go: the answer for DAT_Y names udat.Nothing, which does not exist",
	}
	if diff := cmp.Diff(want, got.problems); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}
