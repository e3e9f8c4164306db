package messagesizes_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/goudat/goudat/examples/internal/messagesizes"
)

func TestParse(t *testing.T) {
	for list, want := range map[string][]int{"8": {8}, "1, 2,8": {1, 2, 8}, "8,1": {8, 1}} {
		got, err := messagesizes.Parse(list, 1, 8, 3)
		if err != nil {
			t.Errorf("%q: %v", list, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", list, diff)
		}
	}
	for _, list := range []string{"", "0", "9", "-1", "1,", "4k", "1,2,3,4"} {
		if got, err := messagesizes.Parse(list, 1, 8, 3); err == nil {
			t.Errorf("%q returned %v", list, got)
		}
	}
}
