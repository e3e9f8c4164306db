package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// column shows one number of a sample.
type column struct {
	name, title string
	scale       float64 // that the number is multiplied with
	goOnly      bool
}

type columns []column

var (
	crowdColumns = columns{
		{"create", "create, ms", 1e-6, false},
		{"connect", "connect, ms", 1e-6, false},
		{"message", "message, µs", 1e-3, false},
		{"free", "disconnect and free, ms", 1e-6, false},
		{"memory", "memory, KiB", 1.0 / 1024, false},
		{"heap", "Go's heap in it, KiB", 1.0 / 1024, true},
		{"files", "descriptors", 1, false},
	}
	waiterColumns = columns{
		{"wake", "wake all, ms", 1e-6, false},
		{"threads", "threads", 1, false},
		{"waiter", "memory of a waiter, KiB", 1.0 / 1024, false},
		{"evd", "of an event dispatcher, KiB", 1.0 / 1024, false},
	}
)

// cells returns "C / Go, ratio" for each column.
func (list columns) cells(inC, inGo []figures) (cells []string) {
	for _, c := range list {
		cells = append(cells, c.cell(inC, inGo))
	}
	return cells
}

func (c column) cell(inC, inGo []figures) string {
	g := c.median(inGo)
	if c.goOnly || len(inC) == 0 {
		return number(g)
	}
	base := c.median(inC)
	if base <= 0 || c.name == "threads" || c.name == "files" {
		return fmt.Sprintf("%s / %s", number(base), number(g))
	}
	return fmt.Sprintf("%s / %s = **%.2f**", number(base), number(g), g/base)
}

func (c column) median(samples []figures) float64 {
	return summarize(values(samples, c.name)).median * c.scale
}

func (list columns) text(inC, inGo []figures, missing string) string {
	if missing != "" {
		return "not measured: " + missing
	}
	var parts []string
	for i, cell := range list.cells(inC, inGo) {
		parts = append(parts, list[i].title+" "+strings.ReplaceAll(cell, "**", ""))
	}
	return strings.Join(parts, "; ")
}

// write writes a table. Each row begins with its number of endpoints or waiters.
func (list columns) write(w io.Writer, first ...string) {
	titles := append([]string{}, first...)
	for _, c := range list {
		titles = append(titles, c.title)
	}
	fmt.Fprintf(w, "| %s |\n|%s\n", strings.Join(titles, " | "), strings.Repeat("---:|", len(titles)))
}

func (list columns) row(w io.Writer, inC, inGo []figures, missing string, first ...string) {
	cells := append([]string{}, first...)
	if missing != "" {
		cells = append(append(cells, "not measured: "+missing), make([]string, len(list)-1)...)
	} else {
		cells = append(cells, list.cells(inC, inGo)...)
	}
	fmt.Fprintf(w, "| %s |\n", strings.Join(cells, " | "))
}

const scaleTitle = "## Many endpoints and many waiters"

const scaleIntroduction = scaleTitle + `

From a separate run of

    %s

on %s, of which the programs saw %d, with %d MiB of memory, load %s at the start; %s; %s. A cell has C / Go and their ratio: medians of
%d rounds, or fewer if they take longer than a minute. A cell with one number has Go's. All numbers are for one endpoint, one message or one waiter. Each row is a
new run of the programs.

`

const scaleExplanation = `[scripts/sidebyside/cscale](../../scripts/sidebyside/cscale) and [scripts/sidebyside/goscale](../../scripts/sidebyside/goscale) connect
all endpoints of a client to as many of one server. Both do the same in the same order. The numbers are the client's.

* **create**: an endpoint for 4 requests and 2 receives. With *event dispatchers of its own*, it includes one for completions and one
  for connection events. With *shared* ones, all endpoints use the same two.
* **connect**: from the call until the event is taken, one connection after the other. With the socket CM provider, each
  connection takes longer than the one before, in C and in Go: the provider's thread checks all sockets whenever one is ready.
* **message**: the client sends 8 bytes on each endpoint, one after the other, and takes the server's answers by polling.
* **disconnect and free**: one connection after the other, gracefully, with the event dispatchers that are not shared.
* **memory**: the growth of the process's resident size, from before the first endpoint until all were connected. With few
  endpoints, start-up costs dominate.
* **descriptors**: open descriptors for each endpoint. A process may have %d here. The socket CM provider has a socket for each
  connection. In C, an event dispatcher for completions has a completion channel. Many systems allow a process 1024 descriptors at
  first: Go's runtime raises that to the hard limit, a C program must call ` + "`" + `setrlimit` + "`" + `.

Threads and goroutines **wait** in ` + "`" + `dat_evd_wait` + "`" + ` and ` + "`" + `EVD.Wait` + "`" + ` until an event comes for each. *Wake all* is the time from the first
of these events until the last waiter has returned. In C only one thread may wait on an event dispatcher, so there is no number
for several. The C threads have a stack of 64 KiB.
`

// markdown returns a section of the page.
func (s *scale) markdown() string {
	var b strings.Builder
	m := s.Machine
	fmt.Fprintf(&b, scaleIntroduction, s.Command, m.Host, m.CPUs, s.Memory, m.Load, m.Stack, m.Go, s.Rounds)
	if !s.empty() {
		b.WriteString(image(endpointsPlot, "Memory and time of an endpoint over the number of endpoints, in C and in Go"))
	}
	title := ""
	for _, r := range s.sortedCrowds() {
		how := "shared by all"
		if r.Own {
			how = "of their own"
		}
		if now := fmt.Sprintf("### %s, event dispatchers %s", r.Adapter, how); now != title {
			title = now
			fmt.Fprintf(&b, "%s%s\n\n", emptyLineUnlessFirst(&b), title)
			crowdColumns.write(&b, "endpoints")
		}
		crowdColumns.row(&b, r.C, r.Go, r.Missing, fmt.Sprint(r.Count))
	}
	for _, r := range s.Waiters {
		if now := fmt.Sprintf("### %s, waiting", r.Adapter); now != title {
			title = now
			fmt.Fprintf(&b, "%s%s\n\n", emptyLineUnlessFirst(&b), title)
			waiterColumns.write(&b, "waiters", "event dispatchers")
		}
		waiterColumns.row(&b, r.C, r.Go, r.Missing, fmt.Sprint(r.Count), fmt.Sprint(r.EVDs))
	}
	fmt.Fprintf(&b, "\n"+scaleExplanation, s.Descriptors)
	return b.String()
}

// sortedCrowds sorts the results by adapter.
func (s *scale) sortedCrowds() []crowdResult {
	return slices.SortedStableFunc(slices.Values(s.Crowds), func(a, b crowdResult) int {
		if a.Own != b.Own && a.Adapter == b.Adapter {
			if b.Own {
				return -1
			}
			return 1
		}
		return strings.Compare(a.Adapter, b.Adapter)
	})
}

// emptyLineUnlessFirst returns what goes before a heading that follows a table.
func emptyLineUnlessFirst(b *strings.Builder) string {
	if strings.HasSuffix(b.String(), "\n\n") {
		return ""
	}
	return "\n"
}
