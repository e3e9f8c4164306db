package main

import (
	"go/ast"
	"go/token"
	"regexp"
	"strings"
)

// goNames are the names that a package declares, and the C names beside them.
type goNames struct {
	constants map[string][]string          // the Go names of a C constant, which the line comment names
	types     map[string]*goType           // by their Go name
	fields    map[string]map[string]string // by Go type and C member, which the line comment names: the Go field
	functions map[string]bool              // and Type.Method, constants and variables
}

type goType struct {
	doc    string
	alias  string // of a type of cgo
	fields []string
}

var cNameComment = regexp.MustCompile(`^(DAT|DCNT)_\w+\s*$`)

// goNames reads the package in a folder.
func (m *module) goNames(folder string) (*goNames, error) {
	g := &goNames{
		constants: map[string][]string{},
		types:     map[string]*goType{},
		fields:    map[string]map[string]string{},
		functions: map[string]bool{},
	}
	err := m.eachDeclaration(folder, func(decl ast.Decl, _ string, _ int) {
		switch decl := decl.(type) {
		case *ast.FuncDecl:
			if w := nameOf(decl); w != "" {
				g.functions[w] = true
			}
		case *ast.GenDecl:
			for _, spec := range decl.Specs {
				switch spec := spec.(type) {
				case *ast.ValueSpec:
					g.addValue(spec, decl.Tok)
				case *ast.TypeSpec:
					g.addType(spec, decl)
				}
			}
		}
	})
	return g, err
}

func (g *goNames) addValue(spec *ast.ValueSpec, tok token.Token) {
	name := spec.Names[0].Name
	if !ast.IsExported(name) {
		return
	}
	g.functions[name] = true
	if comment := spec.Comment.Text(); tok == token.CONST && cNameComment.MatchString(comment) {
		c := strings.TrimSpace(comment)
		g.constants[c] = append(g.constants[c], name)
	}
}

func (g *goNames) addType(spec *ast.TypeSpec, decl *ast.GenDecl) {
	if !spec.Name.IsExported() {
		return
	}
	t := &goType{doc: spec.Doc.Text()}
	if t.doc == "" {
		t.doc = decl.Doc.Text()
	}
	g.types[spec.Name.Name] = t
	switch typ := spec.Type.(type) {
	case *ast.SelectorExpr:
		if spec.Assign.IsValid() {
			t.alias = typ.Sel.Name
		}
	case *ast.StructType:
		fields := map[string]string{}
		for _, field := range typ.Fields.List {
			for _, name := range field.Names {
				if !name.IsExported() {
					continue
				}
				t.fields = append(t.fields, name.Name)
				fields[strings.TrimSpace(field.Comment.Text())] = name.Name
			}
		}
		g.fields[spec.Name.Name] = fields
	}
}

// has reports whether the package declares a name: Name, Type.Method or Type.Field.
func (g *goNames) has(name string) bool {
	if g.functions[name] || g.types[name] != nil {
		return true
	}
	typ, field, _ := strings.Cut(name, ".")
	t := g.types[typ]
	if t == nil {
		return false
	}
	for _, f := range t.fields {
		if f == field {
			return true
		}
	}
	return false
}
