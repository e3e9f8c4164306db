package udat_test

import (
	"flag"
	"fmt"
	"strings"
	"testing"
)

// fuzzing reports whether the test is run with -fuzz.
func fuzzing() bool {
	f := flag.Lookup("test.fuzz")
	worker := flag.Lookup("test.fuzzworker")
	return f != nil && f.Value.String() != "" || worker != nil && worker.Value.String() == "true"
}

// fuzzLog adds up what the calls of the sequences came to.
type fuzzLog struct {
	sequences int
	counts    map[string]int // of calls, by their outcome
}

func (l *fuzzLog) end(t *testing.T, s *sequence) {
	if t.Failed() {
		t.Logf("the calls:\n%s", strings.Join(s.history, "\n"))
	}
	for name, n := range s.counts {
		l.counts[name] += n
	}
	l.sequences++
}

// report shows what the calls came to. Those of deep must have succeeded.
func (l *fuzzLog) report(f *testing.F, deep []string) {
	var table strings.Builder
	for _, name := range sortedKeys(surface()) {
		fmt.Fprintf(&table, "\n%-28s %7d %7d", name, l.counts[name+" ok"], l.counts[name+" failed"])
	}
	f.Logf("%d sequences; calls that succeeded and that failed:%s", l.sequences, &table)
	if fuzzing() || l.sequences < enoughSequences {
		return
	}
	for _, name := range deep {
		if l.counts[name+" ok"] == 0 {
			f.Errorf("%s has never succeeded: the sequences lead nowhere", name)
		}
	}
}

// deepCalls are calls that succeed only after many others, and do so in any
// enoughSequences sequences. iWARP does not have those of the extension.
var (
	deepCalls = []string{
		"CR.Accept", "CR.Reject", "EP.Disconnect", "EP.DupConnect", "EP.Modify", "EP.PostSend", "EP.PostRecv", "EP.PostRDMARead", "EP.PostRDMAWrite",
		"EP.Reset", "SRQ.PostRecv", "CNO.Wait", "EVD.Wait", "EVD.PostSE",
	}
	extensionCalls = []string{"EP.PostRDMAWriteImmed", "EP.PostFetchAndAdd", "EP.PostCmpAndSwap"}
)

const enoughSequences = 60
