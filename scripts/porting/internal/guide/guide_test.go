package guide

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func read(t *testing.T) *Guide {
	t.Helper()
	g, err := Read()
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func TestForm(t *testing.T) {
	if g := (&Guide{sections: map[string]bool{}}); g.addNames("| `dat_x` | [X](x.go)`()` |\n") == nil || g.addRecipes("## Idioms\n\n| in C | in Go | watch for |\n") == nil {
		t.Error("pages without tables make a guide")
	}
	t.Chdir(t.TempDir())
	t.Setenv("GOWORK", "off")
	if _, err := Read(); err == nil || !strings.Contains(err.Error(), "in a module that requires goudat") {
		t.Errorf("outside of a module: %v", err)
	}
}

func TestRead(t *testing.T) {
	g := read(t)
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
	for name, missing := range map[string]bool{"dat_rmr_create_for_ep": true, "dat_csp_create": true, "dat_ep_create": false, "dat_ia_openv": false} {
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

// declared returns the exported names of package udat, as Name and Type.Name, and the C names in the comments beside constants
// and fields. It reads udat without the compiler, which needs the native library.
func declared(t *testing.T) (names map[string]bool, beside map[string]string) {
	t.Helper()
	names, beside = map[string]bool{}, map[string]string{}
	note := func(name string, comment *ast.CommentGroup) {
		names[name] = true
		if c := strings.TrimSpace(comment.Text()); cComment.MatchString(c) {
			beside[name] = c
		}
	}
	files, err := filepath.Glob("../../../../udat/*.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("package udat is not here: %v", err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		source, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, source, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				name := n.Name.Name
				if n.Recv != nil {
					receiver := n.Recv.List[0].Type
					if s, ok := receiver.(*ast.StarExpr); ok {
						receiver = s.X
					}
					name = receiver.(*ast.Ident).Name + "." + name
				}
				note(name, nil)
				return false
			case *ast.ValueSpec:
				note(n.Names[0].Name, n.Comment)
			case *ast.TypeSpec:
				note(n.Name.Name, nil)
				fields, ok := n.Type.(*ast.StructType)
				for i := 0; ok && i < len(fields.Fields.List); i++ {
					field := fields.Fields.List[i]
					for _, name := range field.Names {
						note(n.Name.Name+"."+name.Name, field.Comment)
					}
				}
			}
			return true
		})
	}
	return names, beside
}

var (
	cComment = regexp.MustCompile(`^(DAT|DCNT)_\w+$`)
	goName   = regexp.MustCompile(`^\*?([A-Z]\w*(\.[A-Z]\w*)?)$`)
)

// The porting table names what package udat has, and the constants with the C names that they have there.
func TestPortingTable(t *testing.T) {
	page, err := os.ReadFile("../../../../docs/reference/porting-table.md")
	if err != nil {
		t.Fatal(err)
	}
	names, beside := declared(t)
	rows := map[string]string{}
	for line := range strings.SplitSeq(string(page), "\n") {
		cells := cellsOf(line)
		if len(cells) < 2 {
			continue
		}
		for _, name := range cName.FindAllStringSubmatch(cells[0], -1) {
			rows[name[1]] = cells[1]
		}
		for _, code := range inCode.FindAllStringSubmatch(strings.Join(cells[1:], " "), -1) {
			if m := goName.FindStringSubmatch(code[1]); m != nil && !names[m[1]] {
				t.Errorf("the porting table names %s for %s, which udat does not have", m[1], cells[0][:min(len(cells[0]), 60)])
			}
		}
	}
	for name, c := range beside {
		if !strings.Contains(rows[c], "`"+name+"`") {
			t.Errorf("%s is %s beside it, and the porting table has %q there", name, c, rows[c])
		}
	}
	if len(beside) < 100 {
		t.Errorf("only %d constants have C names beside them", len(beside))
	}
}
