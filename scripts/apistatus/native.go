package main

import (
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// toolchain is the C compiler as cgo calls it.
type toolchain struct {
	cc, cflags, ldflags []string
}

// function is a function of the native API.
type function struct {
	prototype
	declared bool // by a header
	exported bool // by the library
	macro    bool
	alias    bool   // a macro that is another name of callee
	callee   string // what a macro calls
}

// kind says what the function is: exported, inline, a macro, or only declared.
func (f *function) kind() string {
	switch {
	case f.exported:
		return "yes"
	case f.macro:
		return "macro"
	case f.inline:
		return "inline"
	}
	return "**no**"
}

var headerNames = []string{"dat.h", "dat_ib_extensions.h", "dat_registry.h", "udat.h"}

// nativeAPI reads the installed headers and the library's symbols.
func (tc toolchain) nativeAPI() ([]*function, error) {
	var headers []string
	files, err := tc.headers()
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		headers = append(headers, string(source))
	}
	library, err := tc.library()
	if err != nil {
		return nil, err
	}
	symbols, err := exportedSymbols(library)
	if err != nil {
		return nil, err
	}
	return combine(headers, symbols), nil
}

// combine returns the functions that the headers declare and those that are
// exported, in the order of their names.
func combine(headers, exported []string) []*function {
	functions := map[string]*function{}
	var macros []macro
	for _, source := range headers {
		prototypes, found := parseHeader(source)
		macros = append(macros, found...)
		for _, p := range prototypes {
			functions[p.name] = &function{prototype: p, declared: true}
		}
	}
	for _, name := range exported {
		if functions[name] == nil {
			functions[name] = &function{prototype: prototype{name: name}}
		}
		functions[name].exported = true
	}
	for _, m := range macros {
		callee := functions[m.callee]
		if m.name != "dat_ia_open" && !strings.HasPrefix(m.name, "dat_ib_") || callee == nil {
			continue
		}
		functions[m.name] = &function{prototype: m.prototype(callee.prototype), declared: true, macro: true, alias: m.alias, callee: m.callee}
	}
	var sorted []*function
	for _, f := range functions {
		sorted = append(sorted, f)
	}
	slices.SortFunc(sorted, func(a, b *function) int { return strings.Compare(a.name, b.name) })
	return sorted
}

// includeHeaders is a C program that includes all headers that a uDAPL program can.
const includeHeaders = "#include <netinet/in.h>\n#include <dat2/udat.h>\n" +
	"#include <dat2/dat_ib_extensions.h>\n#include <dat2/dat_registry.h>\n"

// preprocess runs the compiler on that program.
func (tc toolchain) preprocess(args ...string) (string, error) {
	cmd := tc.command(append(args, "-x", "c", "-")...)
	cmd.Stdin = strings.NewReader(includeHeaders)
	out, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		first, _, _ := strings.Cut(string(exit.Stderr), "\n")
		return "", fmt.Errorf("the uDAPL headers cannot be read: run scripts/native and \". ~/.local/share/goudat/release/env\" (%s)", first)
	}
	return string(out), err
}

// headers asks the compiler which files it would include.
func (tc toolchain) headers() (files []string, err error) {
	out, err := tc.preprocess("-M")
	if err != nil {
		return nil, err
	}
	const space = "\x00" // a space within a name
	rule := strings.NewReplacer("\\\n", " ", `\ `, space).Replace(out)
	for _, file := range strings.Fields(rule) {
		file = strings.ReplaceAll(file, space, " ")
		if filepath.Base(filepath.Dir(file)) == "dat2" && slices.Contains(headerNames, filepath.Base(file)) {
			files = append(files, file)
		}
	}
	if len(files) != len(headerNames) {
		return nil, fmt.Errorf("the C compiler names only these of the headers: %q", files)
	}
	return files, nil
}

func (tc toolchain) command(args ...string) *exec.Cmd {
	all := slices.Concat(tc.cc, tc.cflags, args)
	return exec.Command(all[0], all[1:]...)
}

// library finds libdat2 where the linker would.
func (tc toolchain) library() (string, error) {
	var folders []string
	for i, flag := range tc.ldflags {
		if filepath.Base(flag) == "libdat2.so" {
			folders = append(folders, filepath.Dir(flag))
		}
		folder, ok := strings.CutPrefix(flag, "-L")
		if ok && folder == "" && i+1 < len(tc.ldflags) {
			folder = tc.ldflags[i+1]
		}
		if folder != "" && ok {
			folders = append(folders, folder)
		}
	}
	folders = append(folders, filepath.SplitList(os.Getenv("LIBRARY_PATH"))...)
	names := []string{"libdat2.so", "libdat2.so.2"}
	for _, folder := range folders {
		for _, name := range names {
			file := filepath.Join(folder, name)
			if _, err := os.Stat(file); err == nil {
				return file, nil
			}
		}
	}
	for _, name := range names {
		out, err := tc.command("-print-file-name=" + name).Output()
		if err != nil {
			return "", commandError(tc.cc[0], err)
		}
		// A file that the compiler does not find keeps its bare name.
		if file := strings.TrimSpace(string(out)); file != name {
			return file, nil
		}
	}
	return "", errors.New("libdat2 cannot be found: run scripts/native and \". ~/.local/share/goudat/release/env\"")
}

// exportedSymbols returns the names of the functions that a library exports, if they have a prefix of the API.
func exportedSymbols(file string) (names []string, err error) {
	f, err := elf.Open(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	defer f.Close()
	symbols, err := f.DynamicSymbols()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	for _, s := range symbols {
		if s.Section != elf.SHN_UNDEF && elf.ST_TYPE(s.Info) == elf.STT_FUNC && strings.HasPrefix(s.Name, "dat") {
			names = append(names, s.Name)
		}
	}
	return names, nil
}
