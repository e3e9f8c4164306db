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
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// testPackage is a package that has tests.
type testPackage struct {
	ImportPath   string
	Dir          string
	TestGoFiles  []string
	XTestGoFiles []string
	Module       struct{ Dir string }
}

const module = "github.com/goudat/goudat/"

// testBedModule is the folder of the nested module that is tested with this one.
const testBedModule = "scripts/vm"

// listPackages finds the packages with tests that the patterns name, or all packages without a pattern. untested are
// the packages without tests.
func listPackages(ctx context.Context, patterns []string) (packages []testPackage, untested []string, err error) {
	if len(patterns) == 0 {
		patterns = []string{"./..."}
	}
	own, testBed := patternsByModule(patterns)
	for folder, patterns := range map[string][]string{".": own, testBedModule: testBed} {
		if len(patterns) == 0 {
			continue
		}
		tested, others, err := listModule(ctx, folder, patterns)
		if err != nil {
			return nil, nil, err
		}
		packages, untested = append(packages, tested...), append(untested, others...)
	}
	slices.SortFunc(packages, func(a, b testPackage) int { return strings.Compare(a.ImportPath, b.ImportPath) })
	slices.Sort(untested)
	return packages, untested, nil
}

// patternsByModule divides the patterns by module. One with "..." may match both.
func patternsByModule(patterns []string) (own, testBed []string) {
	for _, pattern := range patterns {
		name := strings.TrimPrefix(strings.TrimPrefix(pattern, module), "./")
		start, wild := strings.CutSuffix(name, "...")
		switch within, found := strings.CutPrefix(name, testBedModule); {
		case found && (within == "" || within[0] == '/'):
			testBed = append(testBed, "."+within)
			continue
		case wild && strings.HasPrefix(testBedModule+"/", start):
			testBed = append(testBed, "./...")
		}
		own = append(own, pattern)
	}
	return own, testBed
}

func listModule(ctx context.Context, folder string, patterns []string) (packages []testPackage, untested []string, err error) {
	args := []string{"-C", folder, "list", "-json=ImportPath,Dir,TestGoFiles,XTestGoFiles,Module", "--"}
	cmd := exec.CommandContext(ctx, "go", append(args, patterns...)...)
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
