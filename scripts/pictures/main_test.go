package main

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The pictures in the documentation match their texts, and are well formed.
func TestPicturesAreCurrent(t *testing.T) {
	const folder = "../../docs/pictures"
	texts, err := filepath.Glob(filepath.Join(folder, "*.txt"))
	if err != nil || len(texts) == 0 {
		t.Fatalf("no texts: %v", err)
	}
	for _, file := range texts {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		want, err := draw(string(text))
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		got, err := os.ReadFile(strings.TrimSuffix(file, ".txt") + ".svg")
		if err != nil || string(got) != want {
			t.Errorf("the picture of %s is stale (%v): run go generate ./...", file, err)
		}
		decoder := xml.NewDecoder(strings.NewReader(want))
		for err = nil; err == nil; {
			_, err = decoder.Token()
		}
		if !errors.Is(err, io.EOF) {
			t.Errorf("%s: %v", file, err)
		}
	}
}

func TestBadTexts(t *testing.T) {
	for text, want := range map[string]string{
		"# nothing":                   "empty",
		"circle":                      "neither layers nor timelines",
		"layers\nname | about":        "is not a name",
		"layers\nname | about | who":  "belongs to nobody",
		"timelines one":               "no two sides",
		"timelines a | b\nx":          "neither an arrow",
		"timelines a | b\nshout x | ": "no call",
	} {
		if _, err := draw(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want an error about %q", text, err, want)
		}
	}
}
