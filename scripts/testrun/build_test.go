package main

import (
	"path"
	"testing"
)

// Binaries of the same name are built into different folders.
func TestBatches(t *testing.T) {
	var packages []testPackage
	for _, p := range []string{"a/x", "b/x", "a/y", "c/x", "b/y"} {
		packages = append(packages, testPackage{ImportPath: p})
	}
	built := 0
	for _, batch := range batches(packages) {
		names := map[string]bool{}
		for _, p := range batch {
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
