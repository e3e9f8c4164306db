//go:build linux

package devicetest

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/goudat/goudat/cgo"
	"github.com/goudat/goudat/udat/udattest"
)

// namespaceVariable says that this process has a network namespace of its own.
const namespaceVariable = "DEVICETEST_NAMESPACE"

// Socket CM needs the loopback interface, which is down in a new network namespace. An open without it fails, leaves
// nothing behind, and succeeds once it is up.
func TestOpenWithoutLoopback(t *testing.T) {
	if os.Getenv(namespaceVariable) == "" {
		if !hasPatches(t) || !udattest.InTestbed(t) {
			return
		}
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		c := exec.CommandContext(udattest.Context(t), self, "-test.v", "-test.run", "^TestOpenWithoutLoopback$")
		c.Env = append(os.Environ(), namespaceVariable+"=1", "DAPL_SCM_NETDEV=lo")
		c.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
		out, err := c.CombinedOutput()
		t.Logf("%s", out)
		if err != nil {
			t.Errorf("a process of its own: %v", err)
		}
		return
	}
	watch(t)
	ip(t, "address", "add", "192.0.2.1/24", "dev", "lo") // which the adapter takes as its own
	for _, name := range udattest.Names(t) {
		if !strings.Contains(name, "scm") {
			continue
		}
		for range 3 {
			_, _, r := cgo.IAOpen(name, 8)
			outcome(t, "IAOpen", r, cgo.InvalidAddress, cgo.InvalidAddressUnreachable)
		}
		ip(t, "link", "set", "lo", "up")
		ia, _, r := cgo.IAOpen(name, 8)
		success(t, "IAOpen", r)
		success(t, "IAClose", cgo.IAClose(ia, cgo.CloseGraceful))
	}
}

func ip(t *testing.T, arguments ...string) {
	t.Helper()
	if out, err := exec.Command("ip", arguments...).CombinedOutput(); err != nil {
		t.Fatalf("ip: %v: %s", err, out)
	}
}
