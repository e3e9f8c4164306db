package udat

import (
	"strings"
	"testing"
)

func TestLeakTextIsShort(t *testing.T) {
	text := leakText(make([]Origin, 23))
	if lines := strings.Split(text, "\n"); len(lines) != 23 || lines[21] != "\t3 more" || lines[22] != "" {
		t.Errorf("a leak of 23 objects is printed as %q", text)
	}
}
