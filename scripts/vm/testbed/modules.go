package main

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// moduleFile is a module as in the package.
type moduleFile struct {
	content    []byte
	compressed bool
	builtIn    bool // part of the kernel's image: nothing to load
}

// moduleSet maps names to modules. The names have underscores for dashes.
type moduleSet map[string]moduleFile

// moduleName returns the module's name from a file name.
func moduleName(file string) (name string, compressed, found bool) {
	name, suffix, found := strings.Cut(file, ".ko")
	if !found {
		return "", false, false
	}
	switch suffix {
	case "":
	case ".xz", ".zst", ".gz":
		compressed = true
	default:
		return "", false, false
	}
	return strings.ReplaceAll(name, "-", "_"), compressed, true
}

// addBuiltIn adds the modules in a file modules.builtin, which has one path per line.
func (s moduleSet) addBuiltIn(list string) {
	for line := range strings.Lines(list) {
		if name, _, found := moduleName(path.Base(strings.TrimSpace(line))); found {
			s[name] = moduleFile{builtIn: true}
		}
	}
}

// plain returns a module's ELF file.
func (s moduleSet) plain(name string) ([]byte, error) {
	module, found := s[name]
	if !found {
		return nil, fmt.Errorf("the kernel package has no module %s", name)
	}
	if !module.compressed {
		return module.content, nil
	}
	content, err := decompress(module.content)
	if err != nil {
		return nil, fmt.Errorf("decompress the module %s: %w", name, err)
	}
	s[name] = moduleFile{content: content}
	return content, nil
}

// order lists the wanted modules and their dependencies, each after its own dependencies and none twice. loaded has the
// modules of earlier lists; order adds to it.
func (s moduleSet) order(wanted []string, loaded map[string]bool) ([]string, error) {
	var names []string
	for _, name := range wanted {
		if loaded[name] {
			continue
		}
		loaded[name] = true
		module, found := s[name]
		if module.builtIn || !found && slices.Contains(optionalModules, name) {
			continue
		}
		content, err := s.plain(name)
		if err != nil {
			return nil, err
		}
		dependencies, err := moduleDependencies(content)
		if err != nil {
			return nil, fmt.Errorf("module %s: %w", name, err)
		}
		before, err := s.order(dependencies, loaded)
		if err != nil {
			return nil, fmt.Errorf("%w, which %s needs", err, name)
		}
		names = append(append(names, before...), name)
	}
	return names, nil
}

// moduleDependencies reads the entry depends= of a module's section .modinfo, whose strings end with a zero byte.
func moduleDependencies(content []byte) (names []string, err error) {
	_, rest, found := strings.Cut(string(content), "\x00depends=")
	if !found {
		return nil, errors.New("it does not say on which modules it depends")
	}
	list, _, _ := strings.Cut(rest, "\x00")
	return strings.FieldsFunc(strings.ReplaceAll(list, "-", "_"), func(r rune) bool { return r == ',' }), nil
}

// moduleLists are init's names for the files that say what to load.
var moduleLists = []struct {
	name   string
	wanted *[]string
}{{"modules.root", &rootModules}, {"modules.rdma", &rdmaModules}, {"modules.rxe", &rxeModules}, {"modules.siw", &siwModules}}

// write puts the modules of the lists, and the lists, into dir.
func (s moduleSet) write(dir string) error {
	if err := os.Mkdir(filepath.Join(dir, "modules"), 0o755); err != nil {
		return err
	}
	loaded := map[string]bool{}
	for _, list := range moduleLists {
		names, err := s.order(*list.wanted, loaded)
		if err != nil {
			return err
		}
		var lines strings.Builder
		for _, name := range names {
			file := "modules/" + name + ".ko"
			content, err := s.plain(name)
			if err != nil {
				return err
			}
			if err := os.WriteFile(filepath.Join(dir, file), content, 0o644); err != nil {
				return err
			}
			fmt.Fprintf(&lines, "/%s\n", file)
		}
		if err := os.WriteFile(filepath.Join(dir, list.name), []byte(lines.String()), 0o644); err != nil {
			return err
		}
	}
	return nil
}
