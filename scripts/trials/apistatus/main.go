// Command apistatus writes docs/reference/api-status.md: the Go functions for each function of the native API.
//
//	go run ./scripts/trials/apistatus          writes the page
//	go run ./scripts/trials/apistatus -check   prints a line for each problem, and fails if there is one
//
// The native API is what the installed headers declare (prototypes, inline functions, and the macros dat_ia_open and
// dat_ib_*) and what libdat2 exports.
//
// A Go function or method wraps the C functions whose prototypes are behind "Implements:" in an indented block at the end of
// its comment: in package cgo as the raw wrapper, in package udat as the method. The functions whose work a method of udat
// does itself are behind "Stands in for:", and status.go says why. The types in a prototype must be those of the header;
// parameters may have other names. A second wrapper of a function may write "(...), see First" instead.
//
// These are problems: a function that a C program can call and that has no wrapper in cgo, or no method in udat and no
// reason in status.go; a reason that is not needed; a wrapper of a function that is not there; a prototype that differs
// from the header's; a method that implements a function of which package udat never names the raw wrapper, or stands in
// for one of which it does; a page that differs from what apistatus would write.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

const pageFile = "docs/reference/api-status.md"

func main() {
	check := flag.Bool("check", false, "write nothing; print a line for each problem and fail if there is one")
	flag.Parse()
	problems, err := run(".", *check)
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

func run(root string, check bool) (problems []string, err error) {
	prefix, err := nativePrefix()
	if err != nil {
		return nil, err
	}
	api, err := nativeAPI(prefix)
	if err != nil {
		return nil, err
	}
	s, err := examine(root, api)
	if err != nil {
		return nil, err
	}
	file := filepath.Join(root, filepath.FromSlash(pageFile))
	if !check {
		return nil, os.WriteFile(file, s.page(), 0o644)
	}
	old, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if !bytes.Equal(old, s.page()) {
		s.complain("%s is stale: run go run ./scripts/trials/apistatus", pageFile)
	}
	return s.problems, nil
}

// examine compares the native API with the packages cgo and udat in root.
func examine(root string, api []*function) (*status, error) {
	raw, err := wrappers(root, "cgo")
	if err != nil {
		return nil, err
	}
	methods, err := wrappers(root, "udat")
	if err != nil {
		return nil, err
	}
	s := newStatus(api, raw, methods)
	code, err := sourceBelow(filepath.Join(root, "udat"))
	if err != nil {
		return nil, err
	}
	s.judgeCalls(code)
	return s, nil
}

// sourceBelow returns the Go source below a folder, without tests.
func sourceBelow(folder string) (code string, err error) {
	var b strings.Builder
	err = filepath.WalkDir(folder, func(file string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
			return err
		}
		text, err := os.ReadFile(file)
		b.Write(text)
		return err
	})
	return b.String(), err
}
