// Command portcheck reads C programs that use uDAPL, and says what a port to Go has to do.
package main

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/goudat/goudat/scripts/porting/internal/guide"
)

func main() {
	brief := flag.Bool("brief", false, "print the places with warnings, and the summary")
	flag.Usage = func() {
		fmt.Fprint(flag.CommandLine.Output(), `Usage: portcheck [-brief] FILE|FOLDER...
       portcheck NAME...

Reads the C source of one program that uses uDAPL 1.x or 2.x. Prints what Go has for each name of uDAPL at its place,
the recipes of `+guide.File+` at the first place of a name in a file, and warnings of what a port must not repeat.
Then what has no counterpart, and what was not understood. Of folders, it reads the files of C and C++. It needs no
headers, and looks at all branches of #if. Run it in goudat's folder, or in a module that requires goudat, which has the pages. It reads C++ as C: it meets the names of uDAPL, but not all that is around them.

With names of uDAPL, such as dat_ep_post_send, user_cookie or DAT_IA_ATTR.max_evds, it prints what Go has for them.

`)
		flag.PrintDefaults()
	}
	flag.Parse()
	if flag.NArg() == 0 {
		flag.Usage()
		os.Exit(2)
	}
	out := bufio.NewWriter(os.Stdout)
	err := run(out, flag.Args(), *brief)
	if err := errors.Join(err, out.Flush()); err != nil {
		fmt.Fprintln(os.Stderr, "portcheck:", err)
		os.Exit(1)
	}
}

func run(out io.Writer, paths []string, brief bool) error {
	g, err := guide.Read()
	if err != nil {
		return err
	}
	if _, err := os.Stat(paths[0]); err != nil && cName.MatchString(paths[0]) {
		return lookUp(out, g, paths)
	}
	names, err := sourceFiles(paths)
	if err != nil {
		return err
	}
	p, err := newParser()
	if err != nil {
		return err
	}
	defer p.Close()
	var files []*source
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		files = append(files, p.file(name, text))
	}
	c := &checker{guide: g, program: newProgram(files)}
	r := newReport(out, brief)
	for _, s := range files {
		r.file(c.check(s))
	}
	r.summary()
	return nil
}

var cName = regexp.MustCompile(`^[A-Za-z_]\w*(\.[A-Za-z_]\w*)*$`)

// lookUp prints what Go has for C names, in either case, and the recipes. A member has entries of all types that have it.
func lookUp(out io.Writer, g *guide.Guide, names []string) (err error) {
	for _, name := range names {
		found := false
		for _, c := range sorted(g.Entries) {
			e := g.Entries[c]
			if c == e.C && (strings.EqualFold(c, name) || strings.EqualFold(c[strings.LastIndexByte(c, '.')+1:], name)) {
				found = true
				fmt.Fprintf(out, "%s: %s\n", e.C, e.Go)
			}
		}
		if !found {
			err = errors.Join(err, fmt.Errorf("%s is not a name of uDAPL 2.0, nor a file", name))
		}
		for _, recipe := range append(g.Recipes(name), g.Old(name)...) {
			fmt.Fprintf(out, "recipe: %s\n", recipe)
		}
	}
	return err
}

// extensions are those of C, and of C++.
var extensions = []string{".c", ".h", ".cc", ".cpp", ".cxx", ".hh", ".hpp"}

// sourceFiles lists the files, and those of folders.
func sourceFiles(paths []string) (names []string, err error) {
	for _, path := range paths {
		info, err := os.Stat(path)
		if err == nil && !info.IsDir() {
			names = append(names, path)
			continue
		}
		// With the slash, a link to a folder is followed.
		err = filepath.WalkDir(path+"/", func(name string, _ fs.DirEntry, err error) error {
			if err == nil && slices.Contains(extensions, filepath.Ext(name)) {
				if info, err := os.Stat(name); err == nil && info.Mode().IsRegular() {
					names = append(names, name)
				}
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("no C source in %s", strings.Join(paths, " "))
	}
	return names, nil
}
