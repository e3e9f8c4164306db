package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What gotestsum gets says where a package is tested. A test that is skipped on a device fails, and so does a pattern that no
// test has.
func TestRead(t *testing.T) {
	const output = `{"Action":"start","Package":"github.com/goudat/goudat/udat"}
{"Action":"run","Package":"github.com/goudat/goudat/udat","Test":"TestA"}
{"Action":"output","Package":"github.com/goudat/goudat/udat","Test":"TestA","Output":"    --- PASS: TestA/part (0.00s)\n"}
{"Action":"skip","Package":"github.com/goudat/goudat/udat","Test":"TestA","Elapsed":1}
{"Action":"pass","Package":"github.com/goudat/goudat/udat"}
{"Action":"pass","Package":"github.com/goudat/goudat/udat/mem"}
`
	for _, test := range []struct {
		name   string
		job    job
		failed bool
		want   string
	}{
		{"host", job{}, false, "run udat TestA, skip udat TestA, pass udat, pass udat/mem"},
		{"device", job{run: run{title: "device", device: true}, shard: "1/4"}, true,
			"run udat device 1/4 TestA, output udat device 1/4 TestA, fail udat device 1/4 TestA, pass udat device 1/4, pass udat/mem device 1/4"},
		{"pattern", job{run: run{only: "^TestA$"}}, true, "run udat TestA, skip udat TestA, pass udat, output udat/mem, fail udat/mem"},
	} {
		var b bytes.Buffer
		r := &results{to: json.NewEncoder(&b), running: map[string]string{}}
		if failed := r.read(strings.NewReader(output), test.job); failed != test.failed || r.failed != failed {
			t.Errorf("%s: failed is %v", test.name, failed)
		}
		var got []string
		for line := range strings.Lines(b.String()) {
			var e event
			if err := json.Unmarshal([]byte(line), &e); err != nil {
				t.Fatal(err)
			}
			got = append(got, strings.TrimSpace(e.Action+" "+e.Package+" "+e.Test))
		}
		if diff := cmp.Diff(test.want, strings.Join(got, ", ")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}
