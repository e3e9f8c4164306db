//go:build linux && amd64

package scripts

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const testBedModule = modulePath + "/scripts/vm"

// testBedUser is a user's system, with the test bed in a module proxy.
type testBedUser struct {
	folder      string
	environment []string
}

func newTestBedUser(t *testing.T) *testBedUser {
	t.Helper()
	u := &testBedUser{folder: t.TempDir()}
	publishModule(t, filepath.Join(u.folder, "proxy"), testBedModule, "vm", moduleVersion)
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

// TestTestBedIsInstalled installs the test bed like a user who has nothing else of goudat.
func TestTestBedIsInstalled(t *testing.T) {
	needTime(t)
	u := newTestBedUser(t)
	u.environment = append(u.environment, "GOBIN="+u.folder)
	if output, err := u.command("go", "install", testBedModule+"/testbed@"+moduleVersion).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	output, err := u.command("./testbed", "--help").CombinedOutput()
	if err != nil || !strings.HasPrefix(string(output), "Usage: ") {
		t.Errorf("%v, %.300q", err, output)
	}
	built, err := filepath.Glob(filepath.Join(u.folder, "cache/testbed-*/guest-amd64"))
	if err != nil || len(built) != 1 {
		t.Errorf("it has built %q (%v)", built, err)
	}
}
