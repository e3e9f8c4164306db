package main

import (
	"encoding/csv"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCSVRoundTrip(t *testing.T) {
	for _, want := range [][]result{nil, someResults()} {
		var text strings.Builder
		reportAll(t, newCSVReporter(&text), want)
		records, err := csv.NewReader(strings.NewReader(text.String())).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(csvHeader, records[0]); diff != "" {
			t.Errorf("the header (-want +got):\n%s", diff)
		}
		var got []result
		for _, record := range records[1:] {
			got = append(got, parseRecord(t, record))
		}
		for i := range want {
			want[i] = want[i].rounded()
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

func parseRecord(t *testing.T, record []string) (r result) {
	t.Helper()
	column := make(map[string]string)
	for i, name := range csvHeader {
		column[name] = record[i]
	}
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	whole := func(name string) int {
		t.Helper()
		v, err := strconv.Atoi(column[name])
		check(err)
		return v
	}
	number := func(name string) float64 {
		t.Helper()
		v, err := strconv.ParseFloat(column[name], 64)
		check(err)
		return v
	}
	r = result{Adapter: column["adapter"], Timing: column["timing"], Bytes: whole("bytes"), Iterations: whole("iterations")}
	check(r.Operation.UnmarshalText([]byte(column["operation"])))
	check(r.Measure.UnmarshalText([]byte(column["measure"])))
	var err error
	r.Polling, err = strconv.ParseBool(column["polling"])
	check(err)
	if column["window"] != "" {
		r.Window = whole("window")
		r.Bandwidth = &bandwidth{Peak: number("bandwidth_peak"), Average: number("bandwidth_average"), MessageRate: number("message_rate")}
	}
	if column["min"] != "" {
		r.Latency = &latency{Min: number("min"), Typical: number("typical"), Average: number("average"), Deviation: number("deviation"),
			P90: number("p90"), P99: number("p99"), P999: number("p99_9"), Max: number("max")}
	}
	return r
}
