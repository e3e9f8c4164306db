package adapter_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/goudat/goudat/examples/internal/adapter"
	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/udattest"
)

func TestMain(m *testing.M) { udattest.Main(m) }

func TestOpen(t *testing.T) {
	names := udattest.Names(t)
	registered, err := adapter.Names("")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range append(names, "") {
		ia, err := adapter.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		want := name
		if name == "" {
			want = registered[0]
		}
		if ia.Name() != want {
			t.Errorf("%q opens %s, want %s", name, ia.Name(), want)
		}
		if err := ia.Close(udat.CloseGraceful); err != nil {
			t.Error(err)
		}
	}
}

func TestNames(t *testing.T) {
	names := udattest.Names(t)
	got, err := adapter.Names("")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if !slices.Contains(got, name) {
			t.Errorf("%s opens, and is not in %q", name, got)
		}
	}
	got, err = adapter.Names("one,two")
	if diff := cmp.Diff([]string{"one", "two"}, got); err != nil || diff != "" {
		t.Errorf("error %v (-want +got):\n%s", err, diff)
	}
}
