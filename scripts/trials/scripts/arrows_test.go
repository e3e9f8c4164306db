//go:build linux && amd64

package scripts

import (
	"encoding/json"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// listed is what "go list" says of a package.
type listed struct {
	ImportPath, Dir, Export    string
	GoFiles, CgoFiles, Imports []string
}

// list returns packages by their paths below the module, or in full if they are of another.
func list(t *testing.T, args ...string) map[string]listed {
	t.Helper()
	cmd := exec.Command("go", append([]string{"list", "-json=ImportPath,Dir,Export,GoFiles,CgoFiles,Imports"}, args...)...)
	cmd.Dir, cmd.Stderr = "..", os.Stderr
	output, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	packages := map[string]listed{}
	for decoder := json.NewDecoder(strings.NewReader(string(output))); ; {
		var p listed
		if err := decoder.Decode(&p); err == io.EOF {
			return packages
		} else if err != nil {
			t.Fatal(err)
		}
		packages[strings.TrimPrefix(p.ImportPath, modulePath+"/")] = p
	}
}

// Packages of the binding import those of lower floors alone. The page on the architecture has the floors.
func TestArrowsGoDown(t *testing.T) {
	page := readFile(t, "docs/architecture.md")
	_, page, _ = strings.Cut(page, "\n## Rooms\n")
	page, _, _ = strings.Cut(page, "\n## ")
	floors := map[string]int{}
	for n, line := range regexp.MustCompile(`(?m)^\d+\. (?:.*\n)(?:   .*\n)*`).FindAllString(page, -1) {
		for _, name := range regexp.MustCompile("`((?:include|cgo|udat)[a-z/]*)`").FindAllStringSubmatch(line, -1) {
			floors[name[1]] = n
		}
	}
	packages := list(t, "./include/...", "./cgo", "./udat/...")
	for name, n := range floors {
		p, ok := packages[name]
		if !ok {
			t.Errorf("there is no package %s", name)
		}
		for _, imported := range p.Imports {
			if imported, own := strings.CutPrefix(imported, modulePath+"/"); own {
				if at, known := floors[imported]; !known || at >= n {
					t.Errorf("%s imports %s, which is not on a lower floor: see docs/architecture.md", name, imported)
				}
			}
		}
	}
	if len(floors) < 10 {
		t.Errorf("only these packages have floors: %v", floors)
	}
}

// Files of udat hold one object each. Types refer to each other, and functions do not call each other in circles.
func TestCirclesOfUdat(t *testing.T) {
	const mostFiles = 15
	files, functions, fileOf := uses(t, "udat")
	for _, c := range circles(files) {
		if len(c) > mostFiles {
			t.Errorf("%d files are in a circle, at most %d may be: %v", len(c), mostFiles, c)
		}
	}
	for _, c := range circles(functions) {
		if slices.ContainsFunc(c, func(f string) bool { return fileOf[f] != fileOf[c[0]] }) {
			t.Errorf("functions of several files call each other in a circle: %v", c)
		}
	}
	const mostOfPost = 20
	if post := reach(functions, "(*"+modulePath+"/udat.EP).PostSend"); len(post) < 5 || len(post) > mostOfPost {
		t.Errorf("EP.PostSend reaches %d functions of udat, at most %d may be: %v", len(post), mostOfPost, post)
	}
}

// uses returns which files and which functions of a package use which others, and the files of the functions.
func uses(t *testing.T, name string) (files, functions map[string][]string, fileOf map[string]string) {
	t.Helper()
	packages := list(t, "-export", "-deps", "./"+name)
	p, set := packages[name], token.NewFileSet()
	var parsed []*ast.File
	for _, file := range p.GoFiles {
		f, err := parser.ParseFile(set, filepath.Join(p.Dir, file), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		parsed = append(parsed, f)
	}
	exported := importer.ForCompiler(set, "gc", func(path string) (io.ReadCloser, error) {
		return os.Open(packages[strings.TrimPrefix(path, modulePath+"/")].Export)
	})
	info := &types.Info{Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{}}
	pkg, err := (&types.Config{Importer: exported}).Check(p.ImportPath, set, parsed, info)
	if err != nil {
		t.Fatal(err)
	}
	files, functions, fileOf = map[string][]string{}, map[string][]string{}, map[string]string{}
	for _, file := range parsed {
		from := filepath.Base(set.Position(file.Pos()).Filename)
		for _, declaration := range file.Decls {
			function := ""
			if f, ok := declaration.(*ast.FuncDecl); ok {
				function = info.Defs[f.Name].(*types.Func).FullName()
				fileOf[function] = from
			}
			ast.Inspect(declaration, func(n ast.Node) bool {
				name, ok := n.(*ast.Ident)
				if !ok || info.Uses[name] == nil || info.Uses[name].Pkg() != pkg {
					return true
				}
				object := info.Uses[name]
				if f, ok := object.(*types.Func); ok && function != "" {
					functions[function] = append(functions[function], f.Origin().FullName())
				}
				files[from] = append(files[from], filepath.Base(set.Position(object.Pos()).Filename))
				return true
			})
		}
	}
	return files, functions, fileOf
}

// reach returns the names that can be reached from one.
func reach(graph map[string][]string, from string) map[string]bool {
	reached := map[string]bool{}
	for todo := []string{from}; len(todo) > 0; {
		last := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, to := range graph[last] {
			if !reached[to] {
				reached[to] = true
				todo = append(todo, to)
			}
		}
	}
	return reached
}

// circles returns the sets of more than one name that can all be reached from each other.
func circles(graph map[string][]string) (all [][]string) {
	reached := map[string]map[string]bool{}
	for from := range graph {
		reached[from] = reach(graph, from)
	}
	done := map[string]bool{}
	for from := range graph {
		var circle []string
		for to := range reached[from] {
			if reached[to][from] && !done[to] {
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
