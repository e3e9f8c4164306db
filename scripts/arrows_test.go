package scripts

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// The rooms of the binding, from the ground up. A package may import those of the lines above its own.
var floors = [][]string{
	{"include/goudat"},
	{"cgo"},
	{"udat/internal/lockorder", "udat/internal/fifo", "udat/device"},
	{"udat/internal/shadow"},
	{"udat"},
	{"udat/mem/internal/bufferpool", "udat/mem/internal/regcache"},
	{"udat/mem", "udat/udattest"},
}

const module = "github.com/goudat/goudat/"

func TestArrowsGoDown(t *testing.T) {
	floor := map[string]int{}
	for n, packages := range floors {
		for _, p := range packages {
			floor[p] = n
		}
	}
	for name, n := range floor {
		for _, file := range parsed(t, token.NewFileSet(), name) {
			for _, spec := range file.Imports {
				imported, err := strconv.Unquote(spec.Path.Value)
				if err != nil {
					t.Fatal(err)
				}
				imported, own := strings.CutPrefix(imported, module)
				if !own {
					continue
				}
				if at, known := floor[imported]; !known || at >= n {
					t.Errorf("%s imports %s, which is not on a lower floor: see floors", name, imported)
				}
			}
		}
	}
}

// Files of udat hold one object each. Types refer to each other, and functions do not call each other in circles.
func TestCirclesOfUdat(t *testing.T) {
	const mostFiles = 25
	g := arrowsOf(t, "udat")
	for _, c := range circles(g.files) {
		if len(c) > mostFiles {
			t.Errorf("%d files are in a circle, at most %d may be: %v", len(c), mostFiles, c)
		}
	}
	for _, c := range circles(g.functions) {
		files := map[string]bool{}
		for _, f := range c {
			files[g.fileOf[f]] = true
		}
		if len(files) > 1 {
			t.Errorf("functions of several files call each other in a circle: %v", c)
		}
	}
	for from, most := range map[string]struct{ functions, files int }{
		"(*EP).PostSend": {41, 13},
		"(*EVD).Wait":    {87, 18},
		"(*EP).Connect":  {30, 11},
		"(*EP).Free":     {35, 10},
		"(*LMR).Free":    {25, 8},
	} {
		functions, files := g.reach(from)
		if functions < 2 || functions > most.functions || files > most.files {
			t.Errorf("%s reaches %d functions in %d files, at most %d in %d may be", from, functions, files, most.functions, most.files)
		}
	}
}

// arrows say what names what in a package.
type arrows struct {
	files, functions map[string]map[string]bool
	fileOf           map[string]string // of a function
}

func parsed(t *testing.T, set *token.FileSet, folder string) (files []*ast.File) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join("..", folder, "*.go"))
	if err != nil || len(names) == 0 {
		t.Fatalf("%s has the files %v, %v", folder, names, err)
	}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") || strings.HasSuffix(name, "other_system.go") {
			continue
		}
		file, err := parser.ParseFile(set, name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	return files
}

// nothing imports packages without their contents: what a package names of its own is enough.
type nothing struct{}

func (nothing) Import(name string) (*types.Package, error) {
	p := types.NewPackage(name, path.Base(name))
	p.MarkComplete()
	return p, nil
}

func arrowsOf(t *testing.T, folder string) *arrows {
	t.Helper()
	set := token.NewFileSet()
	files := parsed(t, set, folder)
	info := &types.Info{Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{}}
	config := types.Config{Error: func(error) {}, Importer: nothing{}}
	pkg, _ := config.Check(folder, set, files, info) // with errors about what is imported
	g := &arrows{map[string]map[string]bool{}, map[string]map[string]bool{}, map[string]string{}}
	fileOf := func(p token.Pos) string { return filepath.Base(set.Position(p).Filename) }
	add := func(m map[string]map[string]bool, from, to string) {
		if m[from] == nil {
			m[from] = map[string]bool{}
		}
		m[from][to] = true
	}
	nameOf := func(f *types.Func) string { return strings.ReplaceAll(f.FullName(), folder+".", "") }
	for _, file := range files {
		from := fileOf(file.Pos())
		for _, declaration := range file.Decls {
			function := ""
			if f, ok := declaration.(*ast.FuncDecl); ok {
				if o, ok := info.Defs[f.Name].(*types.Func); ok {
					function = nameOf(o)
					g.fileOf[function] = from
				}
			}
			ast.Inspect(declaration, func(n ast.Node) bool {
				name, ok := n.(*ast.Ident)
				if !ok {
					return true
				}
				o := info.Uses[name]
				if o == nil || o.Pkg() != pkg {
					return true
				}
				f, isFunction := o.(*types.Func)
				if isFunction && function != "" {
					add(g.functions, function, nameOf(f.Origin()))
				}
				if to := fileOf(o.Pos()); to != from && (isFunction || o.Parent() == pkg.Scope()) {
					add(g.files, from, to)
				}
				return true
			})
		}
	}
	return g
}

// reach returns how many functions can be reached from one, with it, and how many files they are in.
func (g *arrows) reach(from string) (functions, files int) {
	in := map[string]bool{}
	seen, todo := map[string]bool{from: true}, []string{from}
	for len(todo) > 0 {
		f := todo[0]
		in[g.fileOf[f]] = true
		todo = todo[1:]
		for to := range g.functions[f] {
			if !seen[to] {
				seen[to] = true
				todo = append(todo, to)
			}
		}
	}
	return len(seen), len(in)
}

// circles returns the sets of more than one node that can all be reached from each other.
func circles(g map[string]map[string]bool) (all [][]string) {
	reached := map[string]map[string]bool{}
	for from := range g {
		seen, todo := map[string]bool{}, []string{from}
		for len(todo) > 0 {
			n := todo[0]
			todo = todo[1:]
			for to := range g[n] {
				if !seen[to] {
					seen[to] = true
					todo = append(todo, to)
				}
			}
		}
		reached[from] = seen
	}
	done := map[string]bool{}
	for from := range g {
		if done[from] || !reached[from][from] {
			continue
		}
		circle := []string{from}
		for to := range reached[from] {
			if to != from && reached[to][from] {
				circle = append(circle, to)
			}
		}
		for _, n := range circle {
			done[n] = true
		}
		if len(circle) > 1 {
			slices.Sort(circle)
			all = append(all, circle)
		}
	}
	return all
}
