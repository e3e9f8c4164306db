package udat_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// fuzzing reports whether the test is run with -fuzz.
func fuzzing() bool { return flagValue("test.fuzz") != "" }

// fuzzWorker reports whether the process is one of those that make the calls for -fuzz.
func fuzzWorker() bool { return flagValue("test.fuzzworker") == "true" }

func flagValue(name string) string {
	if f := flag.Lookup(name); f != nil {
		return f.Value.String()
	}
	return ""
}

// fuzzLog keeps what a process did that is gone. With -fuzz the calls are made
// by processes whose output nobody sees, and that may end at any call. They
// write to a folder, each line before its call, and the process that started
// them reports it.
type fuzzLog struct {
	f      *testing.F
	folder string
	file   *os.File
	number int
	saved  time.Time

	footprints
	Counts map[string]int // of sequences, and of calls by their outcome
}

// fuzzLogFolder is the environment variable that tells the folder to the processes.
const fuzzLogFolder = "UDAT_TEST_FUZZ_LOG"

func openFuzzLog(f *testing.F) *fuzzLog {
	log := &fuzzLog{f: f, Counts: map[string]int{}}
	if !fuzzing() {
		return log
	}
	log.folder = os.Getenv(fuzzLogFolder)
	if !fuzzWorker() {
		log.folder = f.TempDir()
		os.Setenv(fuzzLogFolder, log.folder)
		return log
	}
	crash, err := os.OpenFile(log.path("crash"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err == nil {
		err = debug.SetCrashOutput(crash, debug.CrashOptions{})
	}
	if err != nil {
		f.Fatal(err)
	}
	debug.SetTraceback("all")
	return log
}

func (l *fuzzLog) path(kind string) string {
	return filepath.Join(l.folder, strconv.Itoa(os.Getpid())+"."+kind)
}

// begin starts the log of a sequence. That of the last one is kept too, as what
// it did may show late.
func (l *fuzzLog) begin(script []byte) {
	if !fuzzWorker() {
		return
	}
	if l.file != nil {
		l.file.Close()
	}
	l.number++
	file, err := os.Create(l.path("calls-" + strconv.Itoa(l.number%2)))
	if err != nil {
		panic(err)
	}
	l.file = file
	l.write(fmt.Sprintf("sequence %d of process %d\ngo test fuzz v1\n[]byte(%q)\n", l.number, os.Getpid(), script))
}

func (l *fuzzLog) write(text string) {
	if l.file != nil {
		l.file.WriteString(text)
	}
}

// end adds up what the calls came to.
func (l *fuzzLog) end(t *testing.T, s *sequence) {
	if t.Failed() {
		t.Logf("the calls:\n%s", strings.Join(s.history, "\n"))
	}
	l.check(t)
	for name, n := range s.counts {
		l.Counts[name] += n
	}
	l.Counts["sequences"]++
	if fuzzWorker() && time.Since(l.saved) > time.Second {
		l.saved = time.Now()
		text, err := json.Marshal(l)
		if err == nil {
			err = os.WriteFile(l.path("counts"), text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// report shows what the calls came to, and what processes did that failed. Those of deep must have succeeded.
func (l *fuzzLog) report(deep []string) {
	if fuzzWorker() {
		return
	}
	if fuzzing() {
		l.collect()
	}
	var table strings.Builder
	for _, name := range sortedKeys(surface()) {
		fmt.Fprintf(&table, "\n%-28s %7d %7d", name, l.Counts[name+" ok"], l.Counts[name+" failed"])
	}
	l.f.Logf("%d sequences, of which %d left an adapter behind, from %+v to %+v; calls that succeeded and that failed:%s",
		l.Counts["sequences"], l.LeftBehind, l.First, l.Now, &table)
	if fuzzing() || l.Counts["sequences"] < enoughSequences {
		return
	}
	for _, name := range deep {
		if l.Counts[name+" ok"] == 0 {
			l.f.Errorf("%s has never succeeded: the sequences lead nowhere", name)
		}
	}
}

// collect reads what the processes left.
func (l *fuzzLog) collect() {
	files, _ := filepath.Glob(filepath.Join(l.folder, "*"))
	slices.Sort(files)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if strings.HasSuffix(file, ".counts") && err == nil {
			err = json.Unmarshal(text, l)
		} else if l.f.Failed() {
			l.f.Logf("%s:\n%s", filepath.Base(file), text)
		}
		if err != nil {
			l.f.Error(err)
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
