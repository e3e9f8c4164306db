package main

import (
	"testing"

	"golang.org/x/tools/go/analysis/analysistest"
)

// Each package of testdata has bad and good examples of one analyzer.
func TestExamples(t *testing.T) {
	packages := map[string]string{
		"udateventerr": "eventerr", "udatdroppederr": "droppederr", "udatregistered": "registered", "udatwaitbound": "waitbound",
		"udatcookie": "cookie", "udatafterfree": "afterfree",
	}
	for _, a := range analyzers {
		t.Run(a.Name, func(t *testing.T) {
			if packages[a.Name] == "" {
				t.Fatal("it has no examples")
			}
			analysistest.Run(t, analysistest.TestData(), a, packages[a.Name])
		})
	}
}
