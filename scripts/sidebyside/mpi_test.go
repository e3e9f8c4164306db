package main

import (
	"context"
	"encoding/xml"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// measured is a report of two rounds.
func measured(t *testing.T) *messagePassing {
	t.Helper()
	m := &messagePassing{Command: "scripts/bench --mpi", Rounds: 2}
	for by, texts := range map[string][]string{
		"a-cma":         {"latency,8,20,us\nlatency,1048576,2000,us\nbandwidth,1048576,950,MB/s\nbarrier,0,7,us\n", "latency,8,22,us\nlatency,1048576,2000,us\nbandwidth,1048576,970,MB/s\nbarrier,0,9,us\n"},
		"MPICH, TCP":    {"latency,8,60,us\n", "latency,8,62,us\n"},
		"udat a-cma":    {"latency,8,15,us\nbandwidth,1048576,1000,MB/s\n"},
		"Open MPI, TCP": {"latency,8,70,us\n"},
	} {
		for _, text := range texts {
			rows, err := parseMPI(by, 2, text)
			if err != nil {
				t.Fatal(err)
			}
			m.add(rows)
		}
	}
	return m
}

func TestMessagePassing(t *testing.T) {
	m := measured(t)
	m.Failed = []string{"MPICH, TCP with 4 ranks, in round 2"}
	if got := m.by(); got[0] != "a-cma" || len(got) != 3 || slices.Contains(got, "udat a-cma") {
		t.Errorf("by %q", got)
	}
	if v, found := m.find("a-cma", 2, "latency", 8); v != 21 || !found {
		t.Errorf("the median is %v, %v", v, found)
	}
	text := m.markdown()
	for _, line := range []string{
		mpiTitle + "\n", "\n### 2 ranks\n",
		"| a-cma | round trip of 8 bytes, us | 21.0 | RDMA writes by udat | 15.0 | 1.40 | at most 1.3: missed |\n",
		"| a-cma | round trip of 8 bytes, us | 21.0 | MPICH, TCP | 61.0 | 0.34 | less than 1: met |\n",
		"| a-cma | 1 MiB, MB/s | 960 | an RDMA read by udat | 1000 | 0.96 | at least 0.9: met |\n",
		"| barrier |  | us | 8.00 |",
		"\n\nThese runs failed or did not end, and are missing: MPICH, TCP with 4 ranks, in round 2.\n\n",
	} {
		if !strings.Contains(text, line) {
			t.Errorf("no %q in\n%s", line, text)
		}
	}
}

func TestParseMPI(t *testing.T) {
	for _, text := range []string{"", "latency,8,20\n", "latency,8,fast,us\n", "latency,x,1,us\n"} {
		if rows, err := parseMPI("it", 2, text); err == nil {
			t.Errorf("%q: %v", text, rows)
		}
	}
	if v, err := typical("bytes,typical[us],avg\n8,12.5,13\n"); v != 12.5 || err != nil {
		t.Errorf("got %v, %v", v, err)
	}
	for _, text := range []string{"", "bytes,avg\n8,3\n", "bytes,typical\n8\n"} {
		if v, err := typical(text); err == nil {
			t.Errorf("%q: %v", text, v)
		}
	}
}

// The page keeps its other sections, and the plot is a picture.
func TestMPIPage(t *testing.T) {
	folder := t.TempDir()
	page := filepath.Join(folder, "README.md")
	if err := os.WriteFile(page, []byte("# mpi\n\n"+mpiTitle+"\n\nold\n\n## Limits\n\nnone\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if s := pageOf(t, report{MPI: measured(t)}, page, makeMPIPage); !strings.HasPrefix(s, "# mpi\n\n"+mpiTitle) || strings.Contains(s, "old") || !strings.HasSuffix(s, "\n## Limits\n\nnone\n") {
		t.Errorf("the page is\n%s", s)
	}
	plot, err := os.ReadFile(filepath.Join(folder, mpiPlot))
	if err != nil {
		t.Fatal(err)
	}
	for d := xml.NewDecoder(strings.NewReader(string(plot))); ; {
		if _, err := d.Token(); err == io.EOF {
			break
		} else if err != nil {
			t.Fatalf("%v in\n%s", err, plot)
		}
	}
	if !strings.Contains(string(plot), ">a-cma</text>") || strings.Contains(string(plot), "NaN") || strings.Contains(string(plot), "Inf") {
		t.Errorf("the plot is\n%s", plot)
	}
}

// shell measures with a script.
func shell(script string) mpiMeasurer {
	return mpiMeasurer{name: "it", command: func(int) []string { return []string{"sh", "-c", script} }}
}

// The launcher of a run that does not end is asked to end its ranks, and what they have printed is part of the error.
func TestMPIRunEnds(t *testing.T) {
	begun := filepath.Join(t.TempDir(), "begun")
	if err := syscall.Mkfifo(begun, 0o600); err != nil {
		t.Fatal(err)
	}
	m := shell(`sleep 60 & trap 'kill $!; echo ended; exit 3' TERM; echo latency,8,20,us; : >'` + begun + `'; wait`)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	go func() {
		os.ReadFile(begun) // returns when the script has its trap
		cancel()
	}()
	if rows, err := m.run(ctx, 2); err == nil || !strings.Contains(err.Error(), "latency,8,20,us\nended\n") {
		t.Errorf("got %v, %v", rows, err)
	}
}

// A library that fails is left out: a run, or all runs if it may be absent and failed in its first. A failure of our own ends
// the bench.
func TestMPIFailure(t *testing.T) {
	const works, fails = "echo latency,8,20,us", "exit 1"
	m := &messagePassing{}
	own := shell(fails)
	if m.measure(&own, 2, 0) == nil {
		t.Error("a failure of our own is no error")
	}
	for _, optional := range []bool{false, true} {
		m := &messagePassing{}
		it := shell(works)
		it.other, it.optional = true, optional
		for round, script := range []string{works, fails, works} {
			it.command = shell(script).command
			if err := m.measure(&it, 2, round); err != nil {
				t.Error(err)
			}
		}
		if len(m.Values) != 1 || len(m.Values[0].Rounds) != 2 || !slices.Equal(m.Failed, []string{"it with 2 ranks, in round 2"}) {
			t.Errorf("optional %v: got %v, failed %q", optional, m.Values, m.Failed)
		}
	}
	absent := shell(fails)
	absent.other, absent.optional = true, true
	for round, script := range []string{fails, works} {
		absent.command = shell(script).command
		if err := m.measure(&absent, 2, round); err != nil {
			t.Error(err)
		}
	}
	if len(m.Values) > 0 || len(m.Failed) > 0 {
		t.Errorf("what is absent was measured: %v, failed %q", m.Values, m.Failed)
	}
}
