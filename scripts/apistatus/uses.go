package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// use records that a test uses a wrapper.
type use struct {
	test, file string
	steps      int // calls from the test to the wrapper; 1: the test itself names it
}

// goPackage is the output of "go list" for a package, or for its variant that a test is built with.
type goPackage struct {
	ImportPath, ForTest, Name, Dir, Export string
	GoFiles, CgoFiles, Deps                []string
	ImportMap                              map[string]string
	DepOnly                                bool
}

// path is the import path without the name of the variant's test.
func (p *goPackage) path() string {
	plain, _, _ := strings.Cut(p.ImportPath, " ")
	return plain
}

// testUses returns which tests use which functions of the module, by the function's full name. The uses with the fewest
// steps come first.
func (m *module) testUses(packages []*goPackage) (map[string][]use, error) {
	exports := exportsOf(packages)
	g := &references{module: m, names: map[string][]string{}}
	for _, p := range packages {
		if p.DepOnly && p.ForTest == "" || strings.HasSuffix(p.ImportPath, ".test") || !m.concerns(p) {
			continue
		}
		if err := g.add(p, exports); err != nil {
			return nil, err
		}
	}
	return g.uses(), nil
}

func exportsOf(packages []*goPackage) map[string]string {
	exports := map[string]string{}
	for _, p := range packages {
		exports[p.ImportPath] = p.Export
	}
	return exports
}

// concerns reports whether a package can use the wrappers.
func (m *module) concerns(p *goPackage) bool {
	for _, wrapped := range []string{m.path + "/cgo", m.path + "/udat"} {
		if p.path() == wrapped || slices.ContainsFunc(p.Deps, func(dep string) bool {
			return dep == wrapped || strings.HasPrefix(dep, wrapped+" ")
		}) {
			return true
		}
	}
	return false
}

// list runs "go list" for the packages of the module and of those that go.work has beside it, their tests, and the types
// of all imports.
func (m *module) list() (packages []*goPackage, err error) {
	out, err := m.goCommand("list", "-buildvcs=false", "-test", "-deps", "-export",
		"-json=ImportPath,ForTest,Name,Dir,Export,GoFiles,CgoFiles,Deps,ImportMap,DepOnly", m.path+"/...")
	if err != nil {
		return nil, err
	}
	decoder := json.NewDecoder(bytes.NewReader(out))
	for {
		p := new(goPackage)
		if err := decoder.Decode(p); errors.Is(err, io.EOF) {
			return packages, nil
		} else if err != nil {
			return nil, err
		}
		packages = append(packages, p)
	}
}

// references maps each function and variable of the tests and their helpers to the functions and variables that it
// names.
type references struct {
	module *module
	names  map[string][]string
	tests  []test

	wrapped bool // the wrapped API's own declarations count, too
}

type test struct{ id, name, file string }

// add type-checks a package and records its declarations: those of the test files for a test variant, all for any other
// package that is not part of the wrapped API.
func (g *references) add(p *goPackage, exports map[string]string) error {
	fset := token.NewFileSet()
	var files []*ast.File
	for _, name := range slices.Concat(p.GoFiles, p.CgoFiles) {
		file, err := parser.ParseFile(fset, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		files = append(files, file)
	}
	info := types.Info{Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{}}
	lookup := func(path string) (io.ReadCloser, error) {
		if mapped, ok := p.ImportMap[path]; ok {
			path = mapped
		}
		return os.Open(exports[path])
	}
	conf := types.Config{Importer: importer.ForCompiler(fset, "gc", lookup), FakeImportC: true}
	checked, err := conf.Check(p.path(), fset, files, &info)
	if err != nil {
		return fmt.Errorf("type checking %s: %w", p.ImportPath, err)
	}
	if g.wrapped {
		g.implement(checked.Scope())
	}
	wrapped := p.path() == g.module.path+"/cgo" || p.path() == g.module.path+"/udat"
	for _, file := range files {
		name := fset.File(file.FileStart).Name()
		isTest := strings.HasSuffix(name, "_test.go")
		if !isTest && (wrapped && !g.wrapped || p.ForTest != "") {
			continue
		}
		short, err := filepath.Rel(g.module.root, name)
		if err != nil {
			return err
		}
		for _, decl := range file.Decls {
			g.declare(decl, &info, filepath.ToSlash(short), isTest)
		}
	}
	return nil
}

// implement has the methods of each interface lead to those of the types beside it that implement it.
func (g *references) implement(scope *types.Scope) {
	for _, name := range scope.Names() {
		for _, other := range scope.Names() {
			of, isType := scope.Lookup(name).(*types.TypeName)
			by, alsoType := scope.Lookup(other).(*types.TypeName)
			if !isType || !alsoType || !types.IsInterface(of.Type()) || types.IsInterface(by.Type()) {
				continue
			}
			wanted, isInterface := of.Type().Underlying().(*types.Interface)
			if !isInterface || !types.Implements(by.Type(), wanted) {
				continue
			}
			for i := range wanted.NumMethods() {
				method := wanted.Method(i)
				implementation, _, _ := types.LookupFieldOrMethod(by.Type(), true, method.Pkg(), method.Name())
				id := fullName(method)
				g.names[id] = append(g.names[id], fullName(implementation))
			}
		}
	}
}

func (g *references) declare(decl ast.Decl, info *types.Info, file string, inTest bool) {
	switch decl := decl.(type) {
	case *ast.FuncDecl:
		id := fullName(info.Defs[decl.Name])
		g.note(id, decl, info)
		if inTest && isTestFunc(decl) {
			g.tests = append(g.tests, test{id, decl.Name.Name, file})
		}
	case *ast.GenDecl:
		for _, spec := range decl.Specs {
			if spec, ok := spec.(*ast.ValueSpec); ok && decl.Tok == token.VAR {
				for _, name := range spec.Names {
					g.note(fullName(info.Defs[name]), spec, info)
				}
			}
		}
	}
}

// note records what a declaration names. A field that holds a function leads to what a literal of its struct sets it to.
func (g *references) note(id string, node ast.Node, info *types.Info) {
	ast.Inspect(node, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.KeyValueExpr:
			if key, ok := n.Key.(*ast.Ident); ok && fullName(info.Uses[key]) != "" {
				g.note(fullName(info.Uses[key]), n.Value, info)
			}
		case *ast.Ident:
			if used := fullName(info.Uses[n]); used != "" && used != id && !slices.Contains(g.names[id], used) {
				g.names[id] = append(g.names[id], used)
			}
		}
		return true
	})
}

// fullName names a function, a method, a variable of a package, or a field that holds a function. It returns "" for
// anything else.
func fullName(object types.Object) string {
	switch object := object.(type) {
	case *types.Func:
		return object.Origin().FullName()
	case *types.Var:
		_, isFunc := object.Type().Underlying().(*types.Signature)
		switch {
		case object.Pkg() == nil:
		case object.Parent() == object.Pkg().Scope():
			return object.Pkg().Path() + "." + object.Name()
		case object.IsField() && isFunc:
			return object.Pkg().Path() + " field " + object.Name()
		}
	}
	return ""
}

// isTestFunc reports whether "go test" runs the function as a test or a fuzz test.
func isTestFunc(f *ast.FuncDecl) bool {
	if f.Recv != nil || f.Name.Name == "TestMain" {
		return false
	}
	for _, prefix := range []string{"Test", "Fuzz"} {
		if rest, ok := strings.CutPrefix(f.Name.Name, prefix); ok {
			first, _ := utf8.DecodeRuneInString(rest)
			return !unicode.IsLower(first)
		}
	}
	return false
}

// uses follows the references from each test.
func (g *references) uses() map[string][]use {
	uses := map[string][]use{}
	for _, t := range g.tests {
		seen := map[string]bool{t.id: true}
		level := []string{t.id}
		for steps := 1; len(level) > 0; steps++ {
			var next []string
			for _, id := range level {
				for _, name := range g.names[id] {
					if !seen[name] {
						seen[name] = true
						next = append(next, name)
						uses[name] = append(uses[name], use{t.name, t.file, steps})
					}
				}
			}
			level = next
		}
	}
	for _, list := range uses {
		slices.SortFunc(list, func(a, b use) int {
			if a.steps != b.steps {
				return a.steps - b.steps
			}
			if order := strings.Compare(a.file, b.file); order != 0 {
				return order
			}
			return strings.Compare(a.test, b.test)
		})
	}
	return uses
}
