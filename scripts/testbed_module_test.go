//go:build linux && amd64

package scripts

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const (
	testBedModule = modulePath + "/scripts/vm"
	untagged      = "v0.0.0-20261123010203-0123456789ab" // the test bed at a commit
)

// testBedUser is a user's system: the test bed in a module proxy, and scripts/testbed in a module cache, which has no
// run bits and not the test bed.
type testBedUser struct {
	folder      string
	environment []string
}

func newTestBedUser(t *testing.T) *testBedUser {
	t.Helper()
	u := &testBedUser{folder: t.TempDir()}
	publishModule(t, filepath.Join(u.folder, "proxy"), testBedModule, "vm", moduleVersion, untagged)
	u.environment = append(os.Environ(), "GOMODCACHE="+filepath.Join(u.folder, "modules"), "GOSUMDB=off", "GOFLAGS=", "GOWORK=off",
		"GOPROXY=file://"+filepath.Join(u.folder, "proxy"), "GOUDAT_CACHE="+filepath.Join(u.folder, "cache"))
	// Only root and their owner can remove the files of a module cache.
	t.Cleanup(func() {
		if output, err := u.command("go", "clean", "-modcache").CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, output)
		}
	})
	return u
}

func (u *testBedUser) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env = u.folder, u.environment
	return cmd
}

// TestTestBedFromModuleCache starts the test bed from this module's folder in a module cache.
func TestTestBedFromModuleCache(t *testing.T) {
	needTime(t)
	u := newTestBedUser(t)
	text, err := os.ReadFile("testbed")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ version, output, problem string }{
		{moduleVersion, "Usage: ", ""},
		{"v0.1.1-0.20261123010203-0123456789ab", "Usage: ", ""},
		{untagged, "Usage: ", ""},
		{"v0.9.0", "", "testbed: the module " + testBedModule + "@v0.9.0 cannot be fetched: "},
	} {
		script := filepath.Join(u.folder, "cached", modulePath+"@"+c.version, "scripts/testbed")
		write(t, script, string(text))
		cmd := u.command("bash", script, "--help")
		var complaints strings.Builder
		cmd.Stderr = &complaints
		output, err := cmd.Output()
		if (err == nil) != (c.problem == "") || !strings.HasPrefix(string(output), c.output) {
			t.Errorf("%s: %v, %.100q", c.version, err, output)
		}
		if said := complaints.String(); !strings.HasPrefix(said, c.problem) || c.problem == "" && said != "" || strings.Count(said, "\n") > 1 {
			t.Errorf("%s: it says %q, want %q", c.version, said, c.problem)
		}
	}
}

// TestTestBedIsMissing starts it from a checkout without the test bed's folder.
func TestTestBedIsMissing(t *testing.T) {
	needTime(t)
	text, err := os.ReadFile("testbed")
	if err != nil {
		t.Fatal(err)
	}
	script := filepath.Join(t.TempDir(), "scripts/testbed")
	write(t, script, string(text))
	output, err := exec.Command("bash", script, "true").CombinedOutput()
	if err == nil || !strings.Contains(string(output), "scripts/vm is missing") || strings.Count(string(output), "\n") != 1 {
		t.Errorf("%v, %q", err, output)
	}
}

// TestTestBedIsInstalled installs the test bed like a user who has nothing else of goudat.
func TestTestBedIsInstalled(t *testing.T) {
	needTime(t)
	u := newTestBedUser(t)
	u.environment = append(u.environment, "GOBIN="+u.folder)
	if output, err := u.command("go", "install", testBedModule+"@"+moduleVersion).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	output, err := u.command("./vm", "--help").CombinedOutput()
	if err != nil || !strings.HasPrefix(string(output), "Usage: ") {
		t.Errorf("%v, %.300q", err, output)
	}
	built, err := filepath.Glob(filepath.Join(u.folder, "cache/testbed-*/guest-amd64"))
	if err != nil || len(built) != 1 {
		t.Errorf("it has built %q (%v)", built, err)
	}
}
