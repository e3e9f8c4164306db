package device_test

import (
	"errors"
	"runtime"
	"testing"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/udattest"
)

func TestMain(m *testing.M) { udattest.Main(m) }

// want fails the test unless err matches each target.
func want(t *testing.T, err error, targets ...error) {
	t.Helper()
	for _, target := range targets {
		if !errors.Is(err, target) {
			t.Errorf("error is %v, want one that matches %v", err, target)
		}
	}
	if len(targets) == 0 && err != nil {
		t.Error(err)
	}
}

// wantDetail demands an error that says what was wrong.
func wantDetail(t *testing.T, err error) {
	t.Helper()
	var e *udat.Error
	if !errors.As(err, &e) || e.Detail == "" {
		t.Errorf("the error does not explain itself: %v", err)
	}
}

func one(s udat.Segment) []udat.Segment { return []udat.Segment{s} }

// await returns once done reports true.
func await(t *testing.T, what string, done func() bool) {
	t.Helper()
	for ctx := udattest.Context(t); !done(); runtime.Gosched() {
		if ctx.Err() != nil {
			t.Fatalf("%s: that does not happen", what)
		}
	}
}
