//go:build linux && amd64

package scripts

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

const withoutLibrary = "./scripts/trials/scripts/testdata/without_library"

// TestBuildWithoutLibrary builds packages that import udat where there is no native library. Their tests are vetted, too.
func TestBuildWithoutLibrary(t *testing.T) {
	packages := []string{"./udat", "./udat/udattest", "./cgo", withoutLibrary}
	platforms := []string{"linux/amd64", "linux/386"}
	if os.Getenv("GOUDAT_TEST_LONG") != "" {
		// Each takes half a minute of a processor: Go's own packages are compiled for it.
		platforms = append(platforms, "linux/arm64", "linux/arm", "windows/amd64", "darwin/arm64", "freebsd/amd64")
	}
	for _, platform := range platforms {
		t.Run(platform, func(t *testing.T) {
			t.Parallel()
			vetted := packages
			switch platform {
			case "linux/amd64":
				vetted = append(slices.Clone(packages), modulePath+"/examples/...")
			case "linux/386", "linux/arm": // the tests of udat have numbers of 64 bits
				vetted = []string{withoutLibrary}
			}
			system, processor, _ := strings.Cut(platform, "/")
			for _, args := range [][]string{
				append([]string{"vet"}, vetted...),
				{"build", "-buildvcs=false", "-o", filepath.Join(t.TempDir(), "program"), withoutLibrary},
			} {
				command := exec.Command("go", args...)
				command.Dir = ".."
				command.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+system, "GOARCH="+processor)
				if output, err := command.CombinedOutput(); err != nil {
					t.Errorf("go %s: %v\n%s", strings.Join(args, " "), err, output)
				}
			}
		})
	}
}

// TestCallsWithoutLibrary makes all calls in builds without the native library.
func TestCallsWithoutLibrary(t *testing.T) {
	for processor, advice := range map[string]string{"amd64": "CGO_ENABLED=1", "386": "64-bit"} {
		t.Run(processor, func(t *testing.T) {
			program := filepath.Join(t.TempDir(), "program")
			build := exec.Command("go", "build", "-buildvcs=false", "-o", program, withoutLibrary)
			build.Dir = ".."
			build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOARCH="+processor)
			if output, err := build.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, output)
			}
			output, err := exec.Command(program).CombinedOutput()
			if errors.Is(err, syscall.ENOEXEC) {
				t.Skip("the kernel runs no programs for this processor")
			}
			if err != nil {
				t.Errorf("%v\n%s", err, output)
			}
			if !strings.Contains(string(output), advice) {
				t.Errorf("the error does not say what to do:\n%s", output)
			}
		})
	}
}
