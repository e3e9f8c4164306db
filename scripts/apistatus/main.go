// Command apistatus compares the native API with its Go wrappers. It writes docs/reference/api-status.md and
// docs/reference/porting-table.md.
//
//	go run ./scripts/apistatus          writes the pages
//	go run ./scripts/apistatus -check   prints a line for each problem, and fails if there is one
//
// The native API is what the installed headers declare (prototypes, inline functions, and the macros dat_ia_open and
// dat_ib_*) and the dynamic symbol table of libdat2. apistatus uses the same headers and library as cgo, with CC,
// CGO_CFLAGS and CGO_LDFLAGS.
//
// A Go function or method wraps the C functions whose prototypes are behind "Implements:" in an indented block at the end of
// its comment. In package cgo it is the raw wrapper, in package udat the method. The functions whose work a method of udat
// does itself are behind "Stands in for:", and calls.go says why. The type checker verifies which of the two is right:
// whether the method's declaration names the raw wrapper, directly or through other declarations. The types in a prototype must be those of
// the header; parameters may have other names. A second wrapper of a function may write "(...), see First" instead.
//
// A test uses a wrapper if the test names it, directly or through functions of the tests, of udattest or of an example.
// The type checker resolves the names. Calls through an interface, and calls from one wrapper to another, do not count.
//
// A type of udat is the counterpart of a C type if it is the object of that handle, or has the name of a type of cgo
// whose comment names the C type. A constant of udat has the C name beside it. A field has the member's name. For any
// other C name, answers.go says what to use instead, or why there is nothing.
//
// These are problems: a function without a raw wrapper, or without a test of its method; an exported function without a
// method, or a method of a function that is not exported; a prototype that differs from the header's; a method that
// does not call the C function that it implements, calls the one that it stands in for, or stands in without a reason; a
// type, member or constant without a Go name and without an answer; an answer that is not needed, or names something
// that does not exist; a page that differs from what apistatus would write.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

const pageFile = "docs/reference/api-status.md"

func main() {
	check := flag.Bool("check", false, "write nothing; print a line for each problem and fail if there is one")
	flag.Usage = func() {
		fmt.Fprintf(flag.CommandLine.Output(), "Usage: go run ./scripts/apistatus [-check]\n\n"+
			"Compares the native API with its Go wrappers and writes %s and\n%s.\n\n", pageFile, tableFile)
		flag.PrintDefaults()
	}
	flag.Parse()
	if flag.NArg() > 0 {
		flag.Usage()
		os.Exit(2)
	}
	problems, err := run(*check)
	if err != nil {
		fmt.Fprintf(os.Stderr, "apistatus: %v\n", err)
		os.Exit(1)
	}
	for _, problem := range problems {
		fmt.Println(problem)
	}
	if len(problems) > 0 {
		os.Exit(1)
	}
}

func run(check bool) (problems []string, err error) {
	m, err := findModule()
	if err != nil {
		return nil, err
	}
	s, err := m.examine()
	if err != nil {
		return nil, err
	}
	c, err := m.counterparts()
	if err != nil {
		return nil, err
	}
	table, tableProblems := s.portingTable(c)
	problems = slices.Concat(s.problems, tableProblems)
	for _, page := range []struct {
		file string
		text []byte
	}{{pageFile, s.page()}, {tableFile, table}} {
		file := filepath.Join(m.root, filepath.FromSlash(page.file))
		if !check {
			if err := os.WriteFile(file, page.text, 0o644); err != nil {
				return nil, err
			}
			continue
		}
		old, err := os.ReadFile(file)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, err
		}
		if !bytes.Equal(old, page.text) {
			problems = append(problems, page.file+" is stale: run go run ./scripts/apistatus")
		}
	}
	if !check {
		return nil, nil
	}
	return problems, nil
}

// counterparts reads the types and constants of both sides.
func (m *module) counterparts() (*counterparts, error) {
	d, err := m.toolchain.declarations()
	if err != nil {
		return nil, err
	}
	raw, err := m.goNames("cgo")
	if err != nil {
		return nil, err
	}
	own, err := m.goNames("udat")
	if err != nil {
		return nil, err
	}
	return findCounterparts(d, raw, own, answers), nil
}

// module is the Go module that wraps the native API.
type module struct {
	root, path string
	toolchain  toolchain
}

func findModule() (*module, error) {
	values, err := goEnv("GOMOD", "CC", "CGO_CFLAGS", "CGO_LDFLAGS")
	if err != nil {
		return nil, err
	}
	if filepath.Base(values[0]) != "go.mod" {
		return nil, errors.New("run it in goudat's folder")
	}
	m := &module{root: filepath.Dir(values[0])}
	m.toolchain = toolchain{
		cc:      strings.Fields(values[1]),
		cflags:  strings.Fields(values[2]),
		ldflags: strings.Fields(values[3]),
	}
	for flag, list := range map[string]*[]string{"--cflags": &m.toolchain.cflags, "--libs": &m.toolchain.ldflags} {
		flags, err := exec.Command("pkg-config", flag, "goudat").Output()
		if err != nil {
			return nil, commandError("pkg-config", err)
		}
		*list = append(*list, strings.Fields(string(flags))...)
	}
	path, err := m.goCommand("list", "-f", "{{.Module.Path}}", "./udat")
	m.path = strings.TrimSpace(string(path))
	return m, err
}

func goEnv(names ...string) ([]string, error) {
	out, err := exec.Command("go", append([]string{"env"}, names...)...).Output()
	if err != nil {
		return nil, commandError("go env", err)
	}
	return strings.Split(string(out), "\n"), nil
}

func (m *module) goCommand(args ...string) ([]byte, error) {
	cmd := exec.Command("go", args...)
	cmd.Dir = m.root
	out, err := cmd.Output()
	return out, commandError("go "+args[0], err)
}

// commandError adds the command's error output.
func commandError(name string, err error) error {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return fmt.Errorf("%s: %s", name, strings.TrimSpace(string(exit.Stderr)))
	}
	return err
}

// examine gathers everything.
func (m *module) examine() (*status, error) {
	api, err := m.toolchain.nativeAPI()
	if err != nil {
		return nil, err
	}
	raw, err := m.wrappers("cgo")
	if err != nil {
		return nil, err
	}
	methods, err := m.wrappers("udat")
	if err != nil {
		return nil, err
	}
	packages, err := m.list()
	if err != nil {
		return nil, err
	}
	uses, err := m.testUses(packages)
	if err != nil {
		return nil, err
	}
	callers, err := m.calls(packages)
	if err != nil {
		return nil, err
	}
	s := newStatus(api, raw, methods, uses)
	s.judgeCalls(callers)
	return s, nil
}
