package main

import (
	"path"
	"testing"
)

// Binaries of the same name are built into different folders, and those of two modules by two commands.
func TestBatches(t *testing.T) {
	var packages []testPackage
	for _, p := range []string{"a/x", "b/x", "a/y", "c/x", "b/y"} {
		packages = append(packages, testPackage{ImportPath: p})
	}
	for i := range packages[3:] {
		packages[3+i].Module.Dir = "another"
	}
	built := 0
	for _, batch := range batches(packages) {
		names := map[string]bool{}
		for _, p := range batch {
			if p.Module != batch[0].Module {
				t.Errorf("%s is in the batch of another module", p.ImportPath)
			}
			name := path.Base(p.ImportPath)
			if names[name] {
				t.Errorf("%s is twice in a batch", name)
			}
			names[name] = true
			built++
		}
	}
	if built != len(packages) {
		t.Errorf("%d packages are built", built)
	}
}
