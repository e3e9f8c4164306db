package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTable(t *testing.T) {
	var got strings.Builder
	reportAll(t, &tableReporter{w: &got}, someResults())
	const want = `a,"<1>: send latency, half round trip, polling
    bytes  iterations   min[us]   typical       avg     stdev       90%       99%     99.9%       max
        8         100      1.25      2.50      3.12      0.10      4.00      5.50  10000.00 123456.75
     4096         100      1.25      2.50      3.12      0.10      4.00      5.50  10000.00 123456.75

a,"<1>: send bandwidth, 64 outstanding, polling
    bytes  iterations  peak[MiB/s]   avg[MiB/s]    rate[msg/s]
        8         100       100.12         0.33        1234567

b: compare-swap latency, completion, waiting
    bytes  iterations   min[us]   typical       avg     stdev       90%       99%     99.9%       max
        8           7      1.25      2.50      3.12      0.10      4.00      5.50  10000.00 123456.75
`
	if diff := cmp.Diff(want, got.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
