package mem_test

import (
	"cmp"
	"errors"
	"flag"
	"os"
	"testing"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/udattest"
)

func TestMain(m *testing.M) {
	flag.Parse()
	if os.Getenv("UDAT_TEST_IA") == "" { // examples need a device as well, and cannot skip
		skip := flag.Lookup("test.skip").Value
		if err := skip.Set("^Example|" + cmp.Or(skip.String(), "^Example")); err != nil {
			panic(err)
		}
	}
	udattest.Main(m)
}

// want demands an error that matches each of the targets, or none without targets.
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

// wantSuccess takes the completion of the operation with that cookie.
func wantSuccess(t *testing.T, evd *udat.EVD, cookie uint64) {
	t.Helper()
	event := udattest.Expect(t, evd, udat.EventDTOCompletion)
	if want(t, event.Err()); event.Cookie != cookie {
		t.Errorf("operation %d has completed, want %d", event.Cookie, cookie)
	}
}

func one(s udat.Segment) []udat.Segment { return []udat.Segment{s} }

func second[T any](_ T, err error) error { return err }

// fill fills memory with bytes that differ by place and seed.
func fill(b []byte, seed byte) {
	for i := range b {
		b[i] = byte(i)*7 + seed
	}
}
