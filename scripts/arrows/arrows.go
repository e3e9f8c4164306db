// Package arrows finds out which packages, files and functions of goudat use which others, and draws that.
package arrows

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

const module = "github.com/goudat/goudat/"

// Graph says what uses what: from a name to other names, in the order of the source.
type Graph map[string][]string

func (g Graph) add(from, to string) {
	if !slices.Contains(g[from], to) {
		g[from] = append(g[from], to)
	}
}

// From returns what can be reached from a name, with it, nearest first.
func (g Graph) From(name string) []string {
	reached := []string{name}
	for i := 0; i < len(reached); i++ {
		for _, to := range g[reached[i]] {
			if !slices.Contains(reached, to) {
				reached = append(reached, to)
			}
		}
	}
	return reached
}

// Circles returns the sets of more than one name that can all be reached from each other.
func (g Graph) Circles() (all [][]string) {
	reached := map[string]map[string]bool{}
	for from := range g {
		reached[from] = map[string]bool{}
		for _, to := range g.From(from) {
			reached[from][to] = true
		}
	}
	done := map[string]bool{}
	for from := range g {
		if done[from] {
			continue
		}
		var circle []string
		for to := range reached[from] {
			if reached[to][from] {
				circle = append(circle, to)
				done[to] = true
			}
		}
		if len(circle) > 1 {
			slices.Sort(circle)
			all = append(all, circle)
		}
	}
	return all
}

// Package is what a package consists of.
type Package struct {
	Imports          []string // of this module
	Lines            int
	Files, Functions Graph
	FileOf           map[string]string // of a function
}

// nothing imports packages without their contents: what a package names of its own is enough.
type nothing struct{}

func (nothing) Import(name string) (*types.Package, error) {
	p := types.NewPackage(name, path.Base(name))
	p.MarkComplete()
	return p, nil
}

// Read reads a package of the module whose folder is root: its files for Linux, without tests.
func Read(root, name string) (*Package, error) {
	set := token.NewFileSet()
	var files []*ast.File
	p := &Package{Files: Graph{}, Functions: Graph{}, FileOf: map[string]string{}}
	names, err := filepath.Glob(filepath.Join(root, name, "*.go"))
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") || strings.HasSuffix(name, "other_system.go") || strings.HasSuffix(name, "without_cgo.go") {
			continue
		}
		file, err := parser.ParseFile(set, name, nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		files = append(files, file)
		p.Lines += set.File(file.Pos()).LineCount()
		for _, spec := range file.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return nil, err
			}
			if imported, own := strings.CutPrefix(imported, module); own && !slices.Contains(p.Imports, imported) {
				p.Imports = append(p.Imports, imported)
			}
		}
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("%s has no Go files", name)
	}
	slices.Sort(p.Imports)
	p.names(path.Base(name), set, files)
	return p, nil
}

// names finds what the files name of their package.
func (p *Package) names(name string, set *token.FileSet, files []*ast.File) {
	info := &types.Info{Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{}}
	config := types.Config{Error: func(error) {}, Importer: nothing{}}
	pkg, _ := config.Check(name, set, files, info) // with errors about what is imported
	fileOf := func(at token.Pos) string { return filepath.Base(set.Position(at).Filename) }
	nameOf := func(f *types.Func) string { return strings.ReplaceAll(f.FullName(), name+".", "") }
	for _, file := range files {
		from := fileOf(file.Pos())
		for _, declaration := range file.Decls {
			function := ""
			if f, ok := declaration.(*ast.FuncDecl); ok {
				if o, ok := info.Defs[f.Name].(*types.Func); ok {
					function = nameOf(o)
					p.FileOf[function] = from
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
					p.Functions.add(function, nameOf(f.Origin()))
				}
				if to := fileOf(o.Pos()); to != from && (isFunction || o.Parent() == pkg.Scope()) {
					p.Files.add(from, to)
				}
				return true
			})
		}
	}
}
