package testprogram

import (
	"context"
	"errors"
	"testing"

	"github.com/goudat/goudat/examples/interop/internal/getopt"
)

func TestExitCodes(t *testing.T) {
	wrong := errors.New("wrong")
	for _, c := range []struct {
		parsed, checked error
		code            int
		verdict         string // "" if the program has not run
	}{
		{getopt.ErrHelp, nil, 0, ""},
		{wrong, nil, exitUsage, ""},
		{nil, wrong, exitFailure, "FAILED"},
		{nil, nil, 0, "PASSED"},
	} {
		got := ""
		p := Program{
			Name: "test", Help: "-?", Usage: "Usage: test\n",
			Parse:    func([]string) error { return c.parsed },
			Run:      func(context.Context) { Check(c.checked) },
			LastLine: func(verdict string) string { got = verdict; return "" },
		}
		if code := p.main(t.Context(), nil); code != c.code || got != c.verdict {
			t.Errorf("%+v: code %d and verdict %q", c, code, got)
		}
	}
}
