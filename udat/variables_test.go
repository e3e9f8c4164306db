package udat_test

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/udattest"
)

// wrongStateVariable names the adapter on which this test program is to make an endpoint whose
// shadow is led astray.
const wrongStateVariable = "UDAT_TEST_WRONG_STATE"

func init() {
	if name := os.Getenv(wrongStateVariable); name != "" {
		makeWrongState(name)
		os.Exit(0)
	}
}

func makeWrongState(name string) {
	must(udat.Open(name)).Close(udat.CloseAbrupt) // so that what the first adapter says is said once
	ia := must(udat.Open(name))
	defer ia.Close(udat.CloseAbrupt)
	ep := must(udat.CreateEP(ia, must(udat.CreatePZ(ia)), nil, nil, nil, nil))
	if udat.HasShadow(ep) {
		udat.ForceShadow(ep, udat.EPStateConnected)
	}
	must(ep.GetStatus())
}

// The environment variables are read when the program starts.
func TestVariables(t *testing.T) {
	for _, name := range udattest.Names(t) {
		for _, test := range []struct {
			variable string
			dies     bool
			output   string
		}{
			{"UDAT_ASSERT=", false, ""},
			{"UDAT_ASSERT=log", false, "udat: assertion: endpoint (made at variables_test.go:"},
			{"UDAT_ASSERT=panic", true, "udat: assertion: endpoint (made at variables_test.go:"},
			{"UDAT_ASSERT=sometimes", false, `udat: the environment variable UDAT_ASSERT is "sometimes", which does nothing: set it to panic or log`},
			{"UDAT_LEAKS=sometimes", false, `udat: the environment variable UDAT_LEAKS is "sometimes", which does nothing: set it to print`},
		} {
			cmd := exec.Command("/proc/self/exe")
			cmd.Env = append(os.Environ(), wrongStateVariable+"="+name, "UDAT_ASSERT=", test.variable)
			output, err := cmd.CombinedOutput()
			var exit *exec.ExitError
			if died := errors.As(err, &exit); died != test.dies || err != nil && !died {
				t.Errorf("with %s the child ends with %v: %s", test.variable, err, output)
			}
			if strings.Count(string(output), test.output) != 1 || test.output == "" && len(output) > 0 {
				t.Errorf("with %s the child says %s", test.variable, output)
			}
		}
	}
}
