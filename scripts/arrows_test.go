package scripts

import (
	"flag"
	"os"
	"testing"

	"github.com/goudat/goudat/scripts/arrows"
)

// The rooms of the binding, from the ground up. A package may import those of the lines above its own.
var floors = [][]string{
	{"include/goudat"},
	{"cgo"},
	{"udat/internal/problem", "udat/internal/datconf"},
	{"udat/internal/machine"},
	{"udat/device"},
	{"udat/internal/opening", "udat/internal/life", "udat/internal/logging", "udat/internal/shadow", "udat/internal/notify", "udat/internal/pages"},
	{"udat"},
	{"udat/mem/internal/bufferpool", "udat/mem/internal/regcache"},
	{"udat/mem", "udat/udattest"},
}

func read(t *testing.T, name string) *arrows.Package {
	t.Helper()
	p, err := arrows.Read("..", name)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestArrowsGoDown(t *testing.T) {
	floor := map[string]int{}
	for n, packages := range floors {
		for _, p := range packages {
			floor[p] = n
		}
	}
	for name, n := range floor {
		for _, imported := range read(t, name).Imports {
			if at, known := floor[imported]; !known || at >= n {
				t.Errorf("%s imports %s, which is not on a lower floor: see floors", name, imported)
			}
		}
	}
}

// Files of udat hold one object each. Types refer to each other, and functions do not call each other in circles.
func TestCirclesOfUdat(t *testing.T) {
	const mostFiles = 15
	g := read(t, "udat")
	for _, c := range g.Files.Circles() {
		if len(c) > mostFiles {
			t.Errorf("%d files are in a circle, at most %d may be: %v", len(c), mostFiles, c)
		}
	}
	for _, c := range g.Functions.Circles() {
		files := map[string]bool{}
		for _, f := range c {
			files[g.FileOf[f]] = true
		}
		if len(files) > 1 {
			t.Errorf("functions of several files call each other in a circle: %v", c)
		}
	}
	for from, most := range map[string]struct{ functions, files int }{
		"(*EP).PostSend": {20, 7},
		"(*EVD).Wait":    {45, 8},
		"(*EP).Connect":  {30, 8},
		"(*EP).Free":     {25, 6},
		"(*LMR).Free":    {20, 6},
	} {
		reached, in := g.Functions.From(from), map[string]bool{}
		for _, f := range reached {
			if file := g.FileOf[f]; file != "" { // a method of an interface has none
				in[file] = true
			}
		}
		functions, files := len(reached), len(in)
		if functions < 2 || functions > most.functions || files > most.files {
			t.Errorf("%s reaches %d functions in %d files, at most %d in %d may be", from, functions, files, most.functions, most.files)
		}
	}
}

var updateFlag = flag.Bool("update", false, "draw the pictures in "+arrows.Page+" anew")

// The pictures are those of the code.
func TestPicturesAreFresh(t *testing.T) {
	file := "../" + arrows.Page
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	drawn, err := arrows.Draw("..", string(text))
	switch {
	case err != nil:
		t.Fatal(err)
	case drawn == string(text):
	case *updateFlag:
		if err := os.WriteFile(file, []byte(drawn), 0o644); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("the pictures in %s are stale: run go test ./scripts -run Pictures -update", arrows.Page)
	}
}
