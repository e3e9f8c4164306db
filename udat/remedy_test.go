package udat_test

import (
	"regexp"
	"testing"
)

// remedies are the forms in which a refusal says what to do about it: after what
// is wrong, or as what must be.
var remedies = regexp.MustCompile(`: (%s$|.*[a-z]{2})|; [a-z%]|must be |make it `)

// Every refusal of the binding says what may be done about it.
func TestRefusalsNameRemedy(t *testing.T) {
	refusals := regexp.MustCompile(`\brefuse(?:Unsupported)?\([^"()]*"((?:[^"\\]|\\.)*)"`).FindAllStringSubmatch(sources(t, "."), -1)
	for _, m := range refusals {
		if text := m[1]; text != "%s" && !remedies.MatchString(text) { // else the caller has it
			t.Errorf("%q says what is wrong, and not what to do", text)
		}
	}
	if len(refusals) < 50 {
		t.Errorf("%d refusals were found, where are the others?", len(refusals))
	}
}
