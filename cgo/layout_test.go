package cgo

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
)

// The types and constants of this package repeat those of the C headers. This
// test reads the C name beside each of them, asks a C compiler what the headers
// say, and compares. A constant or a field without its C name fails.

var (
	cName   = regexp.MustCompile(`^(DAT|DCNT|IBV)_\w+$`)
	cField  = regexp.MustCompile(`^[a-z][\w.]*$`)
	cLayout = regexp.MustCompile(`laid out\s+as\s+(DAT_\w+)`)
)

// declarations type-checks the Go files that do not import C.
type declarations struct {
	files []*ast.File
	info  types.Info
	sizes types.Sizes
}

func parseDeclarations(t *testing.T) *declarations {
	t.Helper()
	names, err := filepath.Glob("*_types.go")
	if err != nil || len(names) == 0 {
		t.Fatalf("no files with types: %v", err)
	}
	d := &declarations{
		info:  types.Info{Defs: map[*ast.Ident]types.Object{}},
		sizes: types.SizesFor("gc", runtime.GOARCH),
	}
	fset := token.NewFileSet()
	for _, name := range append(names, "sockaddr.go", "enum_string.go") {
		f, err := parser.ParseFile(fset, name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		d.files = append(d.files, f)
	}
	conf := types.Config{Importer: importer.ForCompiler(fset, "source", nil), Sizes: d.sizes, IgnoreFuncBodies: true}
	if _, err := conf.Check("cgo", fset, d.files, &d.info); err != nil {
		t.Fatal(err)
	}
	return d
}

// fact is one fact on which C and Go must agree: a C expression and Go's value of it.
type fact struct {
	where string
	c     string
	value string
}

func (d *declarations) constants(t *testing.T) (facts []fact) {
	for _, f := range d.files {
		for _, decl := range f.Decls {
			g, ok := decl.(*ast.GenDecl)
			if !ok || g.Tok != token.CONST {
				continue
			}
			for _, spec := range g.Specs {
				v := spec.(*ast.ValueSpec)
				name := v.Names[0]
				if !name.IsExported() { // stringer's tables
					continue
				}
				comment := strings.TrimSpace(v.Comment.Text())
				if !cName.MatchString(comment) {
					t.Errorf("constant %s has no C name in its line comment", name.Name)
					continue
				}
				c := d.info.Defs[name].(*types.Const)
				value, exact := constant.Int64Val(constant.ToInt(c.Val()))
				if !exact {
					t.Errorf("constant %s does not fit 64 bits", name.Name)
				}
				facts = append(facts, fact{name.Name, comment, fmt.Sprint(value)})
			}
		}
	}
	return facts
}

func (d *declarations) structs(t *testing.T) (facts []fact) {
	for _, f := range d.files {
		for _, decl := range f.Decls {
			g, ok := decl.(*ast.GenDecl)
			if !ok || g.Tok != token.TYPE {
				continue
			}
			for _, spec := range g.Specs {
				ts := spec.(*ast.TypeSpec)
				st, ok := ts.Type.(*ast.StructType)
				if !ok {
					continue
				}
				doc := ts.Doc
				if doc == nil {
					doc = g.Doc
				}
				m := cLayout.FindStringSubmatch(doc.Text())
				if m == nil {
					t.Errorf("struct %s does not say what it is laid out as", ts.Name.Name)
					continue
				}
				facts = append(facts, d.structFacts(t, ts.Name, st, m[1])...)
			}
		}
	}
	return facts
}

func (d *declarations) structFacts(t *testing.T, name *ast.Ident, st *ast.StructType, cType string) []fact {
	typ := d.info.Defs[name].Type().Underlying().(*types.Struct)
	facts := []fact{{name.Name, "sizeof(" + cType + ")", fmt.Sprint(d.sizes.Sizeof(typ))}}
	var vars []*types.Var
	for field := range typ.Fields() {
		vars = append(vars, field)
	}
	offsets := d.sizes.Offsetsof(vars)
	for i, field := range st.Fields.List {
		if field.Names[0].Name == "_" {
			continue
		}
		where := name.Name + "." + field.Names[0].Name
		member := strings.TrimSpace(field.Comment.Text())
		if !cField.MatchString(member) {
			t.Errorf("field %s has no C name in its line comment", where)
			continue
		}
		facts = append(facts,
			fact{where, fmt.Sprintf("offsetof(%s, %s)", cType, member), fmt.Sprint(offsets[i])},
			fact{where, fmt.Sprintf("sizeof(((%s *)0)->%s)", cType, member), fmt.Sprint(d.sizes.Sizeof(vars[i].Type()))})
	}
	return facts
}

func TestTypesMatchHeaders(t *testing.T) {
	d := parseDeclarations(t)
	facts := append(d.constants(t), d.structs(t)...)
	if len(facts) < 700 {
		t.Fatalf("found only %d facts to compare", len(facts))
	}
	answers := askC(t, facts)
	for i, f := range facts {
		if answers[i] != f.value {
			t.Errorf("%s: C says %s = %s, Go has %s", f.where, f.c, answers[i], f.value)
		}
	}
	t.Logf("%d constants, sizes and offsets agree", len(facts))
}

// askC compiles and runs a program that prints the value of each expression.
func askC(t *testing.T, facts []fact) []string {
	t.Helper()
	var src strings.Builder
	src.WriteString("#include <stddef.h>\n#include <stdio.h>\n#include <stdint.h>\n" +
		"#include <netinet/in.h>\n#include <dat2/udat.h>\n#include <dat2/dat_ib_extensions.h>\n#include <dat2/dat_registry.h>\n#include <infiniband/verbs.h>\nint main(void)\n{\n")
	for _, f := range facts {
		fmt.Fprintf(&src, "\tprintf(\"%%lld\\n\", (long long)(%s));\n", f.c)
	}
	src.WriteString("\treturn 0;\n}\n")

	dir := t.TempDir()
	file, program := filepath.Join(dir, "facts.c"), filepath.Join(dir, "facts")
	if err := os.WriteFile(file, []byte(src.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := compile("-Wall", "-Wextra", "-Werror", "-o", program, file).CombinedOutput(); err != nil {
		t.Fatalf("C compiler: %v\n%s", err, out)
	}
	out, err := exec.Command(program).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.Fields(string(out))
}

// compile returns the command that compiles with the native headers, as cgo does.
func compile(args ...string) *exec.Cmd {
	return exec.Command("sh", append([]string{"-c", `exec ${CC:-cc} $CGO_CFLAGS $(pkg-config --cflags goudat) "$@"`, "sh"}, args...)...)
}

// The shims must not add warnings to a user's build.
func TestShimsCompileWithoutWarnings(t *testing.T) {
	headers, err := filepath.Glob("../include/goudat/*.h")
	if err != nil || len(headers) == 0 {
		t.Fatalf("no headers: %v", err)
	}
	for _, header := range headers {
		t.Run(filepath.Base(header), func(t *testing.T) {
			command := compile("-std=c11", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror", "-Wno-unused-function", "-I../include",
				"-c", "-o", os.DevNull, "-x", "c", header)
			if out, err := command.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}
