package guide

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"
)

// The module may be used without the pages, which belong to another module.
func page(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile("../../../../docs/" + name)
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("the pages are not here")
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestFresh(t *testing.T) {
	want, err := FromPages(page(t, "reference/porting-table.md"), page(t, "porting.md"))
	if err != nil {
		t.Fatal(err)
	}
	if tables != want {
		t.Error("guide.tsv is stale: run go generate ./scripts/porting/internal/guide")
	}
}

func TestForm(t *testing.T) {
	if _, err := FromPages("| C function | Go |\n| --- | --- |\n| `dat_x` | [X](x.go)`()` |\n", ""); err == nil {
		t.Error("pages without tables make a guide")
	}
}

func TestRead(t *testing.T) {
	g := Read()
	for name, want := range map[string]Entry{
		"dat_pz_free":                            {Function, "dat_pz_free", "PZ.Free() error"},
		"DAT_PZ_HANDLE":                          {Type, "DAT_PZ_HANDLE", "*PZ"},
		"DAT_PZ_PARAM.ia_handle":                 {Member, "DAT_PZ_PARAM.ia_handle", "PZParam.IA"},
		"DAT_INVALID_STATE":                      {Constant, "DAT_INVALID_STATE", "ErrInvalidState"},
		"DAT_IA_FIELD_IA_DEVICE_NAME":            {},
		"DAT_EVENT.event_number":                 {Member, "DAT_EVENT.event_number", "Event.Number"},
		"DAT_IA_FIELD_IA_HARDWARE_MINOR_VERSION": {Constant, "DAT_IA_FIELD_IA_HARDWARE_MINOR_VERSION", "none: Query returns all fields"},
		"details":                                {},
	} {
		if got := g.Entries[name]; got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
	for name, missing := range map[string]bool{"dat_rmr_create_for_ep": true, "dat_csp_create": true, "dat_ep_create": false} {
		if g.Entries[name].Missing() != missing {
			t.Errorf("%s: Missing is not %v: %q", name, missing, g.Entries[name].Go)
		}
	}
	for name, want := range map[string]string{
		"DAT_TIMEOUT":              "context.Context",
		"dat_set_consumer_context": "a field beside the object",
		"DAT_CONN_QUAL":            "qualifiers, see docs/porting.md#connection-qualifiers",
	} {
		if got := strings.Join(g.Recipes(name), "\n"); got == "" || !strings.Contains(got, want) {
			t.Errorf("the recipes of %s are %q, without %q", name, got, want)
		}
	}
	if got := g.Old("DAT_EVD_STATE_CONFIG_NOTIFY"); len(got) != 1 || !strings.Contains(got[0], "gone") {
		t.Errorf("DAT_EVD_STATE_CONFIG_NOTIFY in 1.x: %q", got)
	}
	if !g.HasSection("from-udapl-1x") || !g.HasSection("memory-that-the-peer-writes") || g.HasSection("nothing") {
		t.Error("the guide's sections are not those of the page")
	}
}
