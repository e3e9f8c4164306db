package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
)

// testPackage is a package that has tests.
type testPackage struct {
	ImportPath   string
	Dir          string
	TestGoFiles  []string
	XTestGoFiles []string
}

const module = "github.com/goudat/goudat/"

// listPackages finds the packages with tests that the patterns name, or all packages without a pattern. untested are
// the packages without tests. The patterns name folders, and go.work lists the modules.
func listPackages(ctx context.Context, patterns []string) (packages []testPackage, untested []string, err error) {
	if len(patterns) == 0 {
		patterns = []string{"./..."}
	}
	args := []string{"list", "-json=ImportPath,Dir,TestGoFiles,XTestGoFiles", "--"}
	for _, pattern := range patterns {
		args = append(args, importPaths(pattern))
	}
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Stderr = os.Stderr
	output, err := cmd.Output()
	if err != nil {
		return nil, nil, errors.New("the packages do not load, see above")
	}
	for decoder := json.NewDecoder(bytes.NewReader(output)); ; {
		var p testPackage
		switch err := decoder.Decode(&p); {
		case err == io.EOF:
			return packages, untested, nil
		case err != nil:
			return nil, nil, fmt.Errorf("read the list of packages: %w", err)
		case len(p.TestGoFiles)+len(p.XTestGoFiles) > 0:
			packages = append(packages, p)
		default:
			untested = append(untested, short(p.ImportPath))
		}
	}
}

// importPaths returns the pattern of import paths for one of folders. "..." then stands for packages of all modules; in
// a pattern of folders, it ends where another module begins.
func importPaths(pattern string) string {
	return path.Join(module, strings.TrimPrefix(pattern, module))
}

var testFunction = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Example)\w*)\(`)

// tests lists the tests in the package's files. This build may leave some out.
func (p testPackage) tests() ([]string, error) {
	var names []string
	for _, file := range append(append([]string(nil), p.TestGoFiles...), p.XTestGoFiles...) {
		text, err := os.ReadFile(filepath.Join(p.Dir, file))
		if err != nil {
			return nil, err
		}
		for _, match := range testFunction.FindAllSubmatch(text, -1) {
			if name := string(match[1]); name != "TestMain" {
				names = append(names, name)
			}
		}
	}
	return names, nil
}
