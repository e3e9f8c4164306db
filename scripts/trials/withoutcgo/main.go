// Command withoutcgo writes the file without_cgo.go of the package in the current folder. It replaces the exported
// functions, methods and types of the files that import "C" in a build without the native library.
//
// Its functions call nothing. A result of type Return is withoutLibrary, a syscall.Errno is syscall.ENOSYS, any other
// result is the zero value. Types are copied.
package main

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/printer"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

const (
	output = "without_cgo.go"
	// constraint is the opposite of the constraint of the files that import "C", which imply cgo.
	constraint  = "!linux || !cgo || 386 || arm || mips || mipsle"
	cConstraint = "linux && !(386 || arm || mips || mipsle)"
)

func main() {
	text, err := generate(".")
	if err == nil {
		err = os.WriteFile(output, text, 0o644)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "withoutcgo: %v\n", err)
		os.Exit(1)
	}
}

// generate returns the text of the file for the package in a folder.
func generate(folder string) ([]byte, error) {
	names, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		return nil, err
	}
	s := &stubs{fset: token.NewFileSet(), imports: map[string]bool{}}
	for _, name := range names {
		if filepath.Base(name) == output {
			continue // ignoring errors
		}
		file, err := parser.ParseFile(s.fset, name, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		if !importsC(file) {
			continue
		}
		if c := buildConstraint(file); c != cConstraint {
			return nil, fmt.Errorf("%s imports C and has the build constraint %q, it must be %q", name, c, cConstraint)
		}
		if err := s.add(file); err != nil {
			return nil, err
		}
	}
	return s.text()
}

func importsC(file *ast.File) bool {
	return slices.ContainsFunc(file.Imports, func(i *ast.ImportSpec) bool { return i.Path.Value == `"C"` })
}

func buildConstraint(file *ast.File) string {
	for _, group := range file.Comments {
		for _, comment := range group.List {
			if c, ok := strings.CutPrefix(comment.Text, "//go:build "); ok && comment.Pos() < file.Package {
				return c
			}
		}
	}
	return ""
}

// stubs is the file as far as it is written.
type stubs struct {
	fset    *token.FileSet
	pkg     string
	imports map[string]bool // paths
	body    bytes.Buffer
}

func (s *stubs) add(file *ast.File) error {
	s.pkg = file.Name.Name
	for _, decl := range file.Decls {
		var err error
		switch d := decl.(type) {
		case *ast.FuncDecl:
			if d.Name.IsExported() {
				err = s.addFunc(file, d)
			}
		case *ast.GenDecl:
			err = s.addDecl(file, d)
		}
		if err != nil {
			return fmt.Errorf("%v: %w", s.fset.Position(decl.Pos()), err)
		}
	}
	return nil
}

func (s *stubs) addFunc(file *ast.File, f *ast.FuncDecl) error {
	stub := &ast.FuncDecl{Recv: f.Recv, Name: f.Name, Type: f.Type, Body: &ast.BlockStmt{}}
	if err := s.use(file, f.Type); err != nil {
		return err
	}
	// With named results, the body sets only those that are not zero.
	var set []string
	if f.Type.Results != nil {
		results := &ast.FieldList{}
		for _, field := range f.Type.Results.List {
			for range max(len(field.Names), 1) {
				name := "_"
				if value, ok := failures[s.print(field.Type)]; ok {
					name = "ret"
					set = append(set, value)
				}
				results.List = append(results.List, &ast.Field{Names: []*ast.Ident{ast.NewIdent(name)}, Type: field.Type})
			}
		}
		stub.Type = &ast.FuncType{Params: f.Type.Params, Results: results}
	}
	if len(set) > 1 {
		return fmt.Errorf("%s has two results that report a failure", f.Name.Name)
	}
	signature := s.print(stub)
	signature = strings.TrimSpace(signature[:strings.LastIndex(signature, "{")])
	switch {
	case f.Type.Results == nil:
		fmt.Fprintf(&s.body, "%s {}\n\n", signature)
	case len(set) == 1:
		fmt.Fprintf(&s.body, "%s {\n\tret = %s\n\treturn\n}\n\n", signature, set[0])
	default:
		fmt.Fprintf(&s.body, "%s { return }\n\n", signature)
	}
	return nil
}

// failures maps the result types that report a failure to the value for a missing library.
var failures = map[string]string{"Return": "withoutLibrary", "syscall.Errno": "syscall.ENOSYS"}

// addDecl copies types. A constant or a variable that does not need C belongs in a file without C.
func (s *stubs) addDecl(file *ast.File, d *ast.GenDecl) error {
	switch d.Tok {
	case token.IMPORT:
		return nil
	case token.TYPE:
	default:
		for _, spec := range d.Specs {
			for _, name := range spec.(*ast.ValueSpec).Names {
				if name.IsExported() {
					return fmt.Errorf("%s must be declared in a file that does not import C", name.Name)
				}
			}
		}
		return nil
	}
	if err := s.use(file, d); err != nil {
		return err
	}
	fmt.Fprintf(&s.body, "%s\n\n", s.print(&printer.CommentedNode{Node: d, Comments: file.Comments}))
	return nil
}

// use records the packages that a declaration refers to.
func (s *stubs) use(file *ast.File, node ast.Node) (err error) {
	ast.Inspect(node, func(n ast.Node) bool {
		selector, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		name, ok := selector.X.(*ast.Ident)
		if !ok {
			return true
		}
		if name.Name == "C" {
			err = fmt.Errorf("an exported declaration uses C.%s", selector.Sel.Name)
			return false
		}
		for _, i := range file.Imports {
			if importPath, _ := strconv.Unquote(i.Path.Value); i.Name == nil && path.Base(importPath) == name.Name {
				s.imports[importPath] = true
			}
		}
		return true
	})
	return err
}

func (s *stubs) print(node any) string {
	var b bytes.Buffer
	if err := printer.Fprint(&b, s.fset, node); err != nil {
		panic(err) // all nodes are from files that were parsed
	}
	return b.String()
}

func (s *stubs) text() ([]byte, error) {
	if s.body.Len() == 0 {
		return nil, errors.New("no file imports C")
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "// Code generated by \"withoutcgo\"; DO NOT EDIT.\n\n//go:build %s\n\npackage %s\n\n", constraint, s.pkg)
	if len(s.imports) > 0 {
		b.WriteString("import (\n")
		for i := range s.imports {
			fmt.Fprintf(&b, "\t%q\n", i)
		}
		b.WriteString(")\n\n")
	}
	b.Write(s.body.Bytes())
	return format.Source(b.Bytes())
}
