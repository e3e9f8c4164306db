package main

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The order changes from round to round, and a failure ends the measurement.
func TestByTurns(t *testing.T) {
	var order []bool
	s := settings{rounds: 3, only: regexp.MustCompile("^Te")}
	err := s.byTurns("Test", 1, func(inGo bool) (string, error) {
		order = append(order, inGo)
		if len(order) == 5 {
			return "", errors.New("no more")
		}
		return "1 ns/op", nil
	})
	if want := []bool{false, true, true, false, false}; !slices.Equal(order, want) || err == nil {
		t.Errorf("the order was %v, %v", order, err)
	}
	if err := s.byTurns("Other", 1, nil); err != nil {
		t.Error(err)
	}
}

// The picture has the medians of both languages, for each adapter.
func TestPicture(t *testing.T) {
	var results, picture strings.Builder
	fmt.Fprintln(&results, "go: go1\nBenchmarkRoundTrip/how=wait/bytes=8/ia=one/in=C 2 1 ns/op")
	for _, adapter := range []string{"one", "two"} {
		for i, bytes := range []int{8, 32768} {
			for _, us := range []int{1000, 64, 16} { // one is disturbed
				fmt.Fprintf(&results, "BenchmarkRoundTrip/how=poll/bytes=%d/ia=%s/in=C 9 %d ns/op\t1 p99-ns/op\n", bytes, adapter, us*1000*(1+i))
				fmt.Fprintf(&results, "BenchmarkRoundTrip/how=poll/bytes=%d/ia=%s/in=Go 9 %d ns/op\n", bytes, adapter, us*2000*(1+i))
			}
		}
	}
	if err := drawRoundTrips(strings.NewReader(results.String()), &picture); err != nil {
		t.Fatal(err)
	}
	var points []string
	for decoder := xml.NewDecoder(strings.NewReader(picture.String())); ; {
		token, err := decoder.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if element, ok := token.(xml.StartElement); ok && element.Name.Local == "polyline" {
			points = append(points, element.Attr[0].Value)
		}
	}
	// From 64 µs at the bottom to 512 µs at the top.
	inC, inGo := "62.0,270.0 446.0,194.7", "62.0,194.7 446.0,119.3"
	if want := []string{inC, inGo, inC, inGo}; !slices.Equal(points, want) {
		t.Errorf("the picture has %q, want %q", points, want)
	}
	if drawRoundTrips(strings.NewReader("PASS\n"), io.Discard) == nil {
		t.Error("a picture shows nothing")
	}
}
