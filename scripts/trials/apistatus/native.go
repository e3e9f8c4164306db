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

// function is a function of the native API.
type function struct {
	prototype
	exported, macro bool
}

// linkable reports whether a C program can call the function. Headers declare some that the library does not export.
func (f *function) linkable() bool { return f.exported || f.macro || f.inline }

// nativePrefix is where the native stack is installed.
func nativePrefix() (string, error) {
	out, err := exec.Command("pkg-config", "--variable=prefix", "goudat").Output()
	if err != nil {
		return "", errors.New(`the native stack is not found: run scripts/native and ". ~/.local/share/goudat/release/env"`)
	}
	return strings.TrimSpace(string(out)), nil
}

var headerNames = []string{"dat.h", "dat_ib_extensions.h", "dat_registry.h", "udat.h"}

// nativeAPI returns the functions that the headers declare and those that the library exports, in the order of their
// names.
func nativeAPI(prefix string) ([]*function, error) {
	functions := map[string]*function{}
	for _, name := range headerNames {
		source, err := os.ReadFile(filepath.Join(prefix, "include", "dat2", name))
		if err != nil {
			return nil, err
		}
		prototypes, macros := parseHeader(string(source))
		for _, p := range prototypes {
			functions[p.name] = &function{prototype: p}
		}
		for _, name := range macros {
			if name == "dat_ia_open" || strings.HasPrefix(name, "dat_ib_") {
				functions[name] = &function{prototype: prototype{name: name}, macro: true}
			}
		}
	}
	exported, err := exportedSymbols(prefix)
	if err != nil {
		return nil, err
	}
	for _, name := range exported {
		if functions[name] == nil {
			functions[name] = &function{prototype: prototype{name: name}}
		}
		functions[name].exported = true
	}
	var sorted []*function
	for _, f := range functions {
		sorted = append(sorted, f)
	}
	slices.SortFunc(sorted, func(a, b *function) int { return strings.Compare(a.name, b.name) })
	return sorted, nil
}

// exportedSymbols returns the names of the functions that libdat2 exports. A package of a distribution has it in a folder
// of the architecture.
func exportedSymbols(prefix string) (names []string, err error) {
	files, _ := filepath.Glob(filepath.Join(prefix, "lib*", "libdat2.so"))
	more, _ := filepath.Glob(filepath.Join(prefix, "lib", "*", "libdat2.so"))
	files = append(files, more...)
	if len(files) == 0 {
		return nil, fmt.Errorf("no libdat2.so below %s", prefix)
	}
	f, err := elf.Open(files[0])
	if err != nil {
		return nil, fmt.Errorf("%s: %w", files[0], err)
	}
	defer f.Close()
	symbols, err := f.DynamicSymbols()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", files[0], err)
	}
	for _, s := range symbols {
		if s.Section != elf.SHN_UNDEF && elf.ST_TYPE(s.Info) == elf.STT_FUNC && strings.HasPrefix(s.Name, "dat") {
			names = append(names, s.Name)
		}
	}
	return names, nil
}
