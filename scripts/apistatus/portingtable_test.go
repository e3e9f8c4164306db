package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPortingTable(t *testing.T) {
	create := &wrapper{name: "CreatePZ", file: "udat/pz.go", signature: "(ia *IA) (*PZ, error)"}
	bind := &wrapper{name: "RMR.Bind", file: "udat/rmr.go", signature: "() error"}
	list := &wrapper{name: "RMR.Free", file: "udat/rmr.go", signature: "() error"}
	op := &row{function: &function{prototype: prototype{name: "dat_extension_op"}, exported: true}}
	macros := []*row{{methods: []*wrapper{create}}, {methods: []*wrapper{bind}}}
	op.via = macros
	s := &status{rows: []*row{
		{function: &function{prototype: prototype{name: "dat_pz_create"}, exported: true}, methods: []*wrapper{create}},
		{function: &function{prototype: prototype{name: "dat_rmr_bind"}, exported: true}, methods: []*wrapper{bind}},
		{function: &function{prototype: prototype{name: "dat_rmr_free"}, exported: true}, methods: []*wrapper{list}},
		{function: &function{prototype: prototype{name: "dat_rmr_missing"}}},
		{function: &function{prototype: prototype{name: "dats_get"}, exported: true}, exemption: &exemption{reason: "It does nothing."}},
		{function: &function{prototype: prototype{name: "dat_pz_lost"}, exported: true}},
		{function: &function{prototype: prototype{name: "dat_elsewhere"}, exported: true}},
		op,
	}}
	query := &answer{text: "none: [[PZ.Query]] returns all"}
	c := &counterparts{
		types:    []counterpart{{c: "DAT_PZ_HANDLE", golang: []string{"*PZ"}}, {c: "DAT_ELSEWHERE", golang: []string{"X"}}},
		members:  []counterpart{{c: "DAT_PZ_PARAM.ia_handle", group: "DAT_PZ_PARAM", golang: []string{"PZParam.IA"}}},
		problems: []string{"one before"},
	}
	for i := range 2 {
		c.constants = append(c.constants, counterpart{c: fmt.Sprintf("A%d", i), group: "DAT_PZ_MASK", answer: query})
	}
	for i := range unfolded + 1 {
		c.constants = append(c.constants, counterpart{c: fmt.Sprintf("B%d", i), group: "DAT_RMR_SCOPE", answer: query})
	}
	page, problems := s.portingTable(c)
	for _, line := range []string{
		"| `dat_pz_create` | [CreatePZ](../../udat/pz.go)`(ia *IA) (*PZ, error)` |",
		"| `dat_rmr_bind` | [RMR.Bind](../../udat/rmr.go)`() error` |",
		"| `dat_rmr_free` | [RMR.Free](../../udat/rmr.go)`() error` |",
		"| `dat_rmr_missing` | none: the library does not export it |",
		"| `dats_get` | none: it does nothing |",
		"| `dat_pz_lost` | **none** |",
		"| `dat_extension_op` | the methods of its macros |",
		"| `DAT_PZ_HANDLE` | `*PZ` |",
		"| `DAT_PZ_PARAM.ia_handle` | `PZParam.IA` |",
		"| `A0`, `A1` | none: `PZ.Query` returns all |",
		"| <details><summary><code>B0</code> to <code>B6</code>, 7 names</summary><code>B0</code>, <code>B1</code>, <code>B2</code>, " +
			"<code>B3</code>, <code>B4</code>, <code>B5</code>, <code>B6</code></details> | none: `PZ.Query` returns all |",
	} {
		if !strings.Contains(string(page), "\n"+line+"\n") {
			t.Errorf("the page lacks the line\n%s", line)
		}
	}
	if t.Failed() {
		t.Logf("the page:\n%s", page)
	}
	want := []string{
		"one before",
		"dat_elsewhere: scripts/apistatus/portingtable.go has no section for it",
		"DAT_ELSEWHERE: scripts/apistatus/portingtable.go has no section for it",
	}
	if diff := cmp.Diff(want, problems); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}

// The longest matching pattern decides.
func TestSectionOf(t *testing.T) {
	for name, title := range map[string]string{
		"dat_ep_create":          "Endpoints",
		"dat_ep_create_with_srq": "Shared receive queues",
		"dat_ep_post_send":       "Data transfer",
		"DAT_IA_ATTR":            "Adapters and providers",
		"DAT_IA_COUNTERS":        "Counters",
		"DAT_PZ_SUPPORT":         "Adapters and providers",
	} {
		if i := sectionOf(name); i < 0 || sections[i].title != title {
			t.Errorf("%s is in section %d, not in %s", name, i, title)
		}
	}
}
