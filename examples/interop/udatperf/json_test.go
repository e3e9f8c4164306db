package main

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestJSONRoundTrip(t *testing.T) {
	for _, want := range [][]result{{}, someResults()} {
		var text strings.Builder
		r, err := newReporter("json", &text)
		if err != nil {
			t.Fatal(err)
		}
		reportAll(t, r, want)
		var got []result
		if err := json.Unmarshal([]byte(text.String()), &got); err != nil {
			t.Fatal(err)
		}
		rounded := []result{}
		for _, r := range want {
			rounded = append(rounded, r.rounded())
		}
		if diff := cmp.Diff(rounded, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if number := regexp.MustCompile(`\.\d{4,}`).FindString(text.String()); number != "" {
			t.Errorf("a number has too many digits: %s", number)
		}
	}
}

func TestJSONNames(t *testing.T) {
	var text strings.Builder
	r, err := newReporter("json", &text)
	if err != nil {
		t.Fatal(err)
	}
	reportAll(t, r, someResults()[2:3])
	for _, want := range []string{`"operation": "send"`, `"measure": "bandwidth"`, `"message_rate": 1234567`, `"window": 64`} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("%s is missing in\n%s", want, text.String())
		}
	}
	var r2 result
	if err := json.Unmarshal([]byte(`{"operation": "jump"}`), &r2); err == nil {
		t.Error("an unknown operation is read")
	}
}
