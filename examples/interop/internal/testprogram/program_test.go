package testprogram

import (
	"context"
	"errors"
	"testing"
)

func TestExitCodes(t *testing.T) {
	wrong := errors.New("wrong")
	p := Program[string]{
		Name:  "test",
		Help:  "-?",
		Usage: "Usage: test\n",
		Parse: func(args []string) (string, error) {
			switch args[0] {
			case "help":
				return "", ErrHelp
			case "unknown":
				return "", wrong
			}
			return args[0], nil
		},
		Run: func(ctx context.Context, o string) error {
			if o == "fails" {
				return wrong
			}
			return nil
		},
	}
	for _, c := range []struct {
		arg     string
		code    int
		verdict string // "" if the program has not run
	}{
		{"help", 0, ""},
		{"unknown", exitUsage, ""},
		{"fails", exitFailure, "FAILED"},
		{"works", 0, "PASSED"},
	} {
		got := ""
		p.LastLine = func(o, verdict string) string {
			got = verdict
			return ""
		}
		if code := p.main(t.Context(), []string{c.arg}); code != c.code || got != c.verdict {
			t.Errorf("%s: code %d and verdict %q, want %d and %q", c.arg, code, got, c.code, c.verdict)
		}
	}
}

func TestFreeing(t *testing.T) {
	one, two := errors.New("one"), errors.New("two")
	var f Freeing
	f.Free(false, func() error { panic("it was not made") })
	f.Free(true, func() error { return one })
	f.Free(true, func() error { return nil })
	f.Free(true, func() error { return two })
	if err := f.Err(); !errors.Is(err, one) || !errors.Is(err, two) {
		t.Errorf("the errors are %v, want both", err)
	}
}
