//go:build linux && amd64

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/goudat/goudat/scripts/vm/wire"
)

func TestConsoleLog(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "new", "logs")
	job := wire.Job{Path: "/somewhere/x.test", Rank: 2}
	for _, said := range []string{"", "panic\n"} {
		log, err := createConsoleLog(folder, job)
		if err != nil {
			t.Fatal(err)
		}
		var shown bytes.Buffer
		if _, err := log.with(&shown).Write([]byte(said)); err != nil || shown.String() != said {
			t.Errorf("%v: shown is %q, want %q", err, shown.String(), said)
		}
		log.close()
	}
	files, err := filepath.Glob(filepath.Join(folder, "*"))
	if err != nil || len(files) != 1 {
		t.Fatalf("the files are %q, want one: %v", files, err)
	}
	if match, _ := filepath.Match("x.test-2-*.log", filepath.Base(files[0])); !match {
		t.Errorf("the file is %s", files[0])
	}
	if text, err := os.ReadFile(files[0]); err != nil || string(text) != "panic\n" {
		t.Errorf("%v: the file has %q", err, text)
	}
	var none *consoleLog
	if none.with(nil) != nil {
		t.Error("a console without a file is written")
	}
	none.close()
}

// A machine's console is in a file when the program has ended.
func TestConsoleLogOfMachine(t *testing.T) {
	needMachine(t)
	folder := t.TempDir()
	b := newBed(t, "--console-logs", folder, "--device", "none", "--verbose", "true")
	b.start()
	b.wait()
	b.wantExit(0)
	files, err := filepath.Glob(filepath.Join(folder, "true-0-*.log"))
	if err != nil || len(files) != 1 {
		t.Fatalf("the files are %q, want one: %v", files, err)
	}
	if text, err := os.ReadFile(files[0]); err != nil || !bytes.Contains(text, []byte("Linux version")) {
		t.Errorf("%v: the file has\n%s", err, text)
	}
}
