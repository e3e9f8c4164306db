package conformance

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The clauses are numbered consecutively, page by page.
func TestClauseNumbers(t *testing.T) {
	var want, got []string
	for _, page := range []struct {
		letter  byte
		clauses int
	}{{'C', 26}, {'G', 6}, {'M', 30}, {'D', 24}, {'F', 12}} {
		for i := range page.clauses {
			want = append(want, fmt.Sprintf("%c-%02d", page.letter, i+1))
		}
	}
	for _, c := range Clauses {
		got = append(got, c.ID)
		if !strings.HasSuffix(c.Text, ".") {
			t.Errorf("%s is not a sentence: %q", c.ID, c.Text)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the clauses (-want +got):\n%s", diff)
	}
}
