package udat_test

import (
	"testing"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/udattest"
)

func TestProviders(t *testing.T) {
	names := udattest.Names(t)
	infos, err := udat.Providers()
	want(t, err)
	for _, name := range names {
		found := false
		for _, info := range infos {
			found = found || info.IAName == name && info.VersionMajor == 2 && !info.ThreadSafe
		}
		if !found {
			t.Errorf("%s is not among the providers: %+v", name, infos)
		}
	}
}
