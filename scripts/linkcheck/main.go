// Command linkcheck finds links that lead nowhere, without a network:
//
//	go run ./scripts/linkcheck
//
// In the pages of the checkout (*.md) it follows links to files and folders, with line numbers and headings; they may
// be relative, or addresses on this repository's site. It also follows links to this module on the Go documentation
// site, with their symbols. In Go comments it follows links to symbols of this module. Each page in docs must be linked
// from another page. It checks only the form of other addresses.
//
// It prints a line for each problem, and fails if there is one.
package main

import (
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	flag.Parse()
	if flag.NArg() > 0 {
		fmt.Fprintln(os.Stderr, "linkcheck: there are no arguments")
		os.Exit(2)
	}
	problems, err := check(".")
	if err != nil {
		fmt.Fprintln(os.Stderr, "linkcheck:", err)
		os.Exit(1)
	}
	for _, p := range problems {
		fmt.Println(p)
	}
	if len(problems) > 0 {
		os.Exit(1)
	}
}

const (
	module        = "github.com/goudat/goudat"
	site          = "https://" + module
	documentation = "https://pkg.go.dev/" + module
)

// checkout is a folder with pages and packages.
type checkout struct {
	folder   string
	pages    map[string]*page // by their names from the folder
	packages map[string]*docs // by their folders
	linked   map[string]bool  // pages that another page links to
}

// check returns a line for each problem.
func check(folder string) (problems []string, err error) {
	c := &checkout{folder: folder, pages: map[string]*page{}, packages: map[string]*docs{}, linked: map[string]bool{}}
	if err := c.read(); err != nil {
		return nil, err
	}
	for name, p := range c.pages {
		for _, l := range p.links {
			if reason := c.problem(name, l.target); reason != "" {
				problems = append(problems, fmt.Sprintf("%s:%d: %s: %s", name, l.line, l.target, reason))
			}
		}
	}
	for name := range c.pages {
		if path.Dir(name) == "docs" && !c.linked[name] {
			problems = append(problems, name+": no page has a link to it")
		}
	}
	for _, d := range c.packages {
		problems = append(problems, c.docProblems(d)...)
	}
	slices.Sort(problems)
	return problems, nil
}

// read finds the pages and packages.
func (c *checkout) read() error {
	return fs.WalkDir(os.DirFS(c.folder), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (name == "native" || name == "bin" || d.Name() == ".git" || d.Name() == "testdata"):
			return fs.SkipDir
		case d.IsDir():
			docs, err := readDocs(c.folder, name)
			if err == nil && docs != nil {
				c.packages[name] = docs
			}
			return err
		case path.Ext(name) != ".md":
			return nil
		}
		text, err := os.ReadFile(filepath.Join(c.folder, name))
		if err == nil {
			c.pages[name] = readPage(string(text))
		}
		return err
	})
}

// problem returns what is wrong with a link of a page.
func (c *checkout) problem(from, target string) string {
	address, fragment, hasFragment := strings.Cut(target, "#")
	switch {
	case strings.HasPrefix(target, documentation):
		return c.symbolProblem(strings.TrimPrefix(address, documentation), fragment)
	case address == site:
		return ""
	case strings.HasPrefix(address, site+"/blob/main/"), strings.HasPrefix(address, site+"/tree/main/"):
		parts := strings.SplitN(strings.TrimPrefix(address, site+"/"), "/", 3)
		return c.fileProblem(from, parts[2], fragment)
	case strings.HasPrefix(address, "https://"), strings.HasPrefix(address, "http://"):
		return addressProblem(address)
	case strings.Contains(address, ":"), strings.HasPrefix(address, "/"):
		return "neither a relative name nor an address of the web"
	case address == "" && hasFragment:
		return c.fileProblem(from, from, fragment)
	case address == "":
		return "no target"
	}
	// The Go documentation site resolves the links of README.md in the repository, as the repository's site does.
	return c.fileProblem(from, path.Join(path.Dir(from), address), fragment)
}

func addressProblem(address string) string {
	_, rest, _ := strings.Cut(address, "://")
	host, _, _ := strings.Cut(rest, "/")
	if !strings.Contains(host, ".") || strings.ContainsAny(address, " <>\"") {
		return "no address of the web"
	}
	return ""
}

// fileProblem looks for a file or folder, and for a heading or a line of it.
func (c *checkout) fileProblem(from, name, fragment string) string {
	if name == ".." || strings.HasPrefix(name, "../") {
		return "outside of the repository"
	}
	if _, err := os.Stat(filepath.Join(c.folder, name)); err != nil {
		return "there is no such file"
	}
	if from != name {
		c.linked[name] = true
	}
	if fragment == "" {
		return ""
	}
	p := c.pages[name]
	switch {
	case p == nil && lineFragment(fragment):
		return ""
	case p == nil:
		return "only pages have headings"
	case !p.anchors[fragment]:
		return "the page has no such heading"
	}
	return ""
}

// lineFragment reports whether a fragment names lines as the repository's site does: L12 or L12-L20.
func lineFragment(fragment string) bool {
	for part := range strings.SplitSeq(fragment, "-") {
		number, ok := strings.CutPrefix(part, "L")
		if !ok || number == "" || strings.Trim(number, "0123456789") != "" {
			return false
		}
	}
	return true
}

// symbolProblem looks for a package, and for a symbol in its documentation.
func (c *checkout) symbolProblem(folder, fragment string) string {
	folder, _, _ = strings.Cut(strings.Trim(folder, "/"), "@")
	if folder == "" && c.packages["."] == nil && fragment == "" {
		return "" // the module
	}
	d := c.packages[path.Clean(folder)]
	switch {
	case d == nil:
		return "there is no such package"
	case fragment != "" && !strings.HasPrefix(fragment, "section-") && !strings.HasPrefix(fragment, "pkg-") && !d.symbols[fragment]:
		return "the package has no such symbol"
	}
	return ""
}
