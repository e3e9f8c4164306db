// Package programtest has what the tests of the programs of examples/mpi share.
package programtest

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/goudat/goudat/udat/udattest"
)

// Hydra runs the program under test on ranks that MPICH's launcher starts, once for each adapter. The test binary must
// run the program when a launcher has started it. The output must have each line once, where %s is the adapter.
func Hydra(t *testing.T, ranks int, lines []string, args ...string) {
	t.Helper()
	hydra, err := exec.LookPath("mpiexec.hydra")
	if err != nil {
		t.Skip("no mpiexec.hydra, which Debian's package mpich has")
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, adapter := range udattest.Names(t) {
		t.Run(adapter, func(t *testing.T) {
			command := append([]string{"-launcher", "fork", "-n", fmt.Sprint(ranks), program, "-provider", adapter}, args...)
			out, err := exec.CommandContext(udattest.Context(t), hydra, command...).CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			for _, line := range lines {
				line = strings.ReplaceAll(line, "%s", adapter)
				if strings.Count(string(out), line) != 1 {
					t.Errorf("not once %q in\n%s", line, out)
				}
			}
		})
	}
}
