package udat_test

import (
	"cmp"
	"flag"
	"os"
	"testing"

	"github.com/goudat/goudat/udat/udattest"
)

func TestMain(m *testing.M) {
	flag.Parse()
	if os.Getenv("UDAT_TEST_IA") == "" {
		// Examples need a device as well, and cannot skip.
		skip := flag.Lookup("test.skip").Value
		if err := skip.Set("^Example|" + cmp.Or(skip.String(), "^Example")); err != nil {
			panic(err)
		}
	}
	udattest.Main(m)
}
