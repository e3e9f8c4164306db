package main

import (
	"fmt"
	"go/ast"
	"go/build"
	"go/doc"
	"go/doc/comment"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// docs is the documentation of a package.
type docs struct {
	folder  string
	symbols map[string]bool   // exported, methods and fields as "Type.Name"
	texts   map[string]string // of comments, by the symbol
}

// readDocs reads the package in a folder, nil if there is none.
func readDocs(root, folder string) (*docs, error) {
	entries, err := os.ReadDir(filepath.Join(root, folder))
	if err != nil {
		return nil, err
	}
	var files []*ast.File
	set := token.NewFileSet()
	for _, e := range entries {
		if !isSource(root, folder, e) {
			continue
		}
		file, err := parser.ParseFile(set, filepath.Join(root, folder, e.Name()), nil, parser.ParseComments)
		if err != nil {
			return nil, err
		}
		// Files for other systems, and for builds without cgo, have the same symbols.
		if len(files) == 0 || file.Name.Name == files[0].Name.Name {
			files = append(files, file)
		}
	}
	if len(files) == 0 {
		return nil, nil
	}
	p, err := doc.NewFromFiles(set, files, path.Join(module, folder), doc.PreserveAST)
	if err != nil {
		return nil, err
	}
	return newDocs(folder, p), nil
}

func isSource(root, folder string, e fs.DirEntry) bool {
	if e.IsDir() || path.Ext(e.Name()) != ".go" || strings.HasSuffix(e.Name(), "_test.go") {
		return false
	}
	context := build.Default
	context.CgoEnabled = true
	matches, err := context.MatchFile(filepath.Join(root, folder), e.Name())
	return err == nil && matches
}

func newDocs(folder string, p *doc.Package) *docs {
	d := &docs{folder: folder, symbols: map[string]bool{}, texts: map[string]string{"the package": p.Doc}}
	values := func(list []*doc.Value) {
		for _, v := range list {
			for _, name := range v.Names {
				d.add(name, v.Doc)
			}
		}
	}
	functions := func(list []*doc.Func) {
		for _, f := range list {
			d.add(f.Name, f.Doc)
		}
	}
	values(p.Consts)
	values(p.Vars)
	functions(p.Funcs)
	for _, t := range p.Types {
		d.add(t.Name, t.Doc)
		values(t.Consts)
		values(t.Vars)
		functions(t.Funcs)
		for _, m := range t.Methods {
			d.add(t.Name+"."+m.Name, m.Doc)
		}
		for _, name := range members(t.Decl) {
			d.add(t.Name+"."+name, "")
		}
	}
	return d
}

func (d *docs) add(name, text string) {
	d.symbols[name] = true
	if text != "" {
		d.texts[name] = text
	}
}

// members are the fields of a structure and the methods of an interface.
func members(declaration *ast.GenDecl) (names []string) {
	for _, spec := range declaration.Specs {
		t, ok := spec.(*ast.TypeSpec)
		if !ok {
			continue
		}
		var fields *ast.FieldList
		switch t := t.Type.(type) {
		case *ast.StructType:
			fields = t.Fields
		case *ast.InterfaceType:
			fields = t.Methods
		default:
			continue
		}
		for _, field := range fields.List {
			for _, name := range field.Names {
				names = append(names, name.Name)
			}
		}
	}
	return names
}

// docProblems reports links in the comments of a package that lead nowhere.
func (c *checkout) docProblems(d *docs) (problems []string) {
	// The parser takes a link to an unknown symbol for text.
	parser := comment.Parser{LookupSym: func(string, string) bool { return true }}
	for about, text := range d.texts {
		say := func(format string, values ...any) {
			problems = append(problems, fmt.Sprintf("%s, the comment on %s: %s", d.folder, about, fmt.Sprintf(format, values...)))
		}
		for _, l := range linksIn(parser.Parse(text)) {
			switch l := l.(type) {
			case *comment.Link:
				if strings.HasPrefix(l.URL, documentation) || strings.HasPrefix(l.URL, site) {
					if reason := c.problem("", l.URL); reason != "" {
						say("%s: %s", l.URL, reason)
					}
				}
			case *comment.DocLink:
				name := l.Name
				if l.Recv != "" {
					name = l.Recv + "." + l.Name
				}
				in := d
				if l.ImportPath != "" {
					folder, ours := strings.CutPrefix(l.ImportPath, module+"/")
					if !ours {
						continue
					}
					in = c.packages[folder]
				}
				if in == nil || name != "" && !in.symbols[name] {
					say("[%s]: there is no such symbol", strings.TrimPrefix(l.ImportPath+"."+name, "."))
				}
			}
		}
		for _, definition := range parser.Parse(text).Links {
			if !definition.Used {
				say("[%s]: the address is not used", definition.Text)
			}
		}
	}
	return problems
}

// linksIn collects the links of all blocks.
func linksIn(d *comment.Doc) (links []comment.Text) {
	visit := func(list []comment.Text) {
		for _, t := range list {
			switch t.(type) {
			case *comment.Link, *comment.DocLink:
				links = append(links, t)
			}
		}
	}
	var blocks func(list []comment.Block)
	blocks = func(list []comment.Block) {
		for _, b := range list {
			switch b := b.(type) {
			case *comment.Paragraph:
				visit(b.Text)
			case *comment.Heading:
				visit(b.Text)
			case *comment.List:
				for _, item := range b.Items {
					blocks(item.Content)
				}
			}
		}
	}
	blocks(d.Content)
	return links
}
