//go:build linux && amd64

// Package scripts has the tests of the shell scripts, of the pages, and of what all packages have in common.
package scripts

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestMain has the tests run in the folder of the scripts.
func TestMain(m *testing.M) {
	if err := os.Chdir("../.."); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// with-device finds the device of a virtual machine without the test bed's description of it. Soft-iWARP has an adapter of the
// CMA provider only, and only the kernel of User-Mode Linux has it.
func TestDeviceIsFound(t *testing.T) {
	needMachine(t)
	for device, want := range map[string]string{"rxe": `DAPL_DBG_TYPE=0
DAPL_SCM_NETDEV=dummy0
UDAT_TEST_ADDR=10.77.0.1
UDAT_TEST_IA=ofa-v2-cma-rxe0,ofa-v2-scm-rxe0
ofa-v2-cma-rxe0 u2.0 nonthreadsafe default libdaplofa.so.2 dapl.2.0 "dummy0 0" ""
ofa-v2-scm-rxe0 u2.0 nonthreadsafe default libdaploscm.so.2 dapl.2.0 "rxe0 1" ""
`, "siw": `DAPL_DBG_TYPE=0
DAPL_SCM_NETDEV=dummy0
UDAT_TEST_ADDR=10.77.0.1
UDAT_TEST_IA=ofa-v2-cma-siw0
ofa-v2-cma-siw0 u2.0 nonthreadsafe default libdaplofa.so.2 dapl.2.0 "dummy0 0" ""
`} {
		if device == "siw" && os.Getenv("TESTBED_ACCEL") != "uml" {
			continue
		}
		output, err := exec.Command("./testbed", "--device", device, "env", "-u", "UDAT_TEST_IA", "-u", "UDAT_TEST_ADDR", "-u", "DAT_OVERRIDE",
			"./with-device", "bash", "-c", `env | grep -E "^(UDAT_TEST_|DAPL_)" | sort && cat "$DAT_OVERRIDE"`).Output()
		if err != nil {
			t.Fatal(explain(err))
		}
		if string(output) != want {
			t.Errorf("got\n%swant\n%s", output, want)
		}
	}
}

// TestSoftIWARPIsAdded makes a device in a machine as scripts/test does. All drivers are built into that kernel, so a
// stand-in for modprobe decides whether it has soft-RoCE.
func TestSoftIWARPIsAdded(t *testing.T) {
	needMachine(t)
	if os.Getenv("TESTBED_ACCEL") != "uml" {
		t.Log("not tested: the machine is not under User-Mode Linux")
		return
	}
	const script = `
set -euo pipefail
. ./device.bash
. ./soft-iwarp.bash
folder=$(mktemp -d)
PATH=$folder:$PATH
printf '#!/bin/sh\nexit 0\n' >"$folder/modprobe"
chmod +x "$folder/modprobe"
! add_soft_iwarp || echo "instead of soft-RoCE"
printf '#!/bin/sh\n[ "$2" != --dry-run ]\n' >"$folder/modprobe"
add_soft_iwarp
! add_soft_iwarp || echo "twice"
echo "$device $netdev $address" /sys/class/infiniband/*
remove_soft_iwarp
! find_device || echo "it is still there"
ip link show "$netdev" 2>/dev/null || true`
	output, err := exec.Command("./testbed", "--device", "none", "bash", "-c", script).Output()
	if err != nil {
		t.Fatal(explain(err))
	}
	if want := "goudat_siw goudat-siw 10.77.1.1 /sys/class/infiniband/goudat_siw\n"; string(output) != want {
		t.Errorf("got\n%swant\n%s", output, want)
	}
}

func TestDeviceIsMissing(t *testing.T) {
	needMachine(t)
	demo := exec.Command("./demo")
	// Its inner half runs in a machine without the module rdma_rxe.
	demo.Env = append(os.Environ(), "TESTBED_FLAGS=--device none", "UDAT_TEST_IA=")
	output, err := demo.CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 1 {
		t.Errorf("without a device the demo ended with: %v", err)
	}
	if !strings.Contains(string(output), "neither of the kernel modules rdma_rxe and siw is loaded") {
		t.Errorf("the output does not say why:\n%s", output)
	}
	if strings.Contains(string(output), "round trip") {
		t.Errorf("without a device data was transferred:\n%s", output)
	}
}

// needTime skips a test that only the nightly runs make.
func needTime(t *testing.T) {
	t.Helper()
	if os.Getenv("GOUDAT_TEST_LONG") == "" {
		t.Skip("runs at night: set GOUDAT_TEST_LONG=1")
	}
}

// needMachine skips the test where it should start no virtual machine.
func needMachine(t *testing.T) {
	t.Helper()
	switch {
	case testing.Short():
		t.Skip("starts a virtual machine")
	case os.Getenv("UDAT_TESTBED") != "":
		t.Skip("runs in the test bed, not in a machine of it")
	}
	if devices, err := filepath.Glob("/sys/class/infiniband/*"); err != nil || len(devices) > 0 {
		t.Skip("this machine has an RDMA device, with which the scripts start no virtual machine")
	}
}

// explain adds the error output of a program.
func explain(err error) string {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return err.Error() + "\n" + string(exit.Stderr)
	}
	return err.Error()
}
