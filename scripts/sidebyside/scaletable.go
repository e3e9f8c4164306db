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

// row begins with the numbers of endpoints or waiters.
func (list columns) row(inC, inGo []figures, missing string, first ...string) []string {
	if missing != "" {
		return append(append(first, "not measured: "+missing), make([]string, len(list)-1)...)
	}
	return append(first, list.cells(inC, inGo)...)
}

// write writes a table with a heading.
func (list columns) write(w io.Writer, title string, first []string, rows [][]string) {
	for _, c := range list {
		first = append(first, c.title)
	}
	fmt.Fprintf(w, "### %s\n\n", title)
	writeTable(w, strings.Repeat("r", len(first)), first, rows)
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
	s.writeTables(&b)
	fmt.Fprintf(&b, scaleExplanation, s.Descriptors)
	return b.String()
}

// writeTables writes a table for each adapter and each kind of event dispatchers.
func (s *scale) writeTables(w io.Writer) {
	for _, group := range groups(s.sortedCrowds(), func(r crowdResult) string {
		return r.Adapter + ", event dispatchers " + map[bool]string{false: "shared by all", true: "of their own"}[r.Own]
	}) {
		var rows [][]string
		for _, r := range group.list {
			rows = append(rows, crowdColumns.row(r.C, r.Go, r.Missing, fmt.Sprint(r.Count)))
		}
		crowdColumns.write(w, group.title, []string{"endpoints"}, rows)
	}
	for _, group := range groups(s.Waiters, func(r waiterResult) string { return r.Adapter + ", waiting" }) {
		var rows [][]string
		for _, r := range group.list {
			rows = append(rows, waiterColumns.row(r.C, r.Go, r.Missing, fmt.Sprint(r.Count), fmt.Sprint(r.EVDs)))
		}
		waiterColumns.write(w, group.title, []string{"waiters", "event dispatchers"}, rows)
	}
}

// group is a part of a list whose elements have the same title.
type group[T any] struct {
	title string
	list  []T
}

func groups[T any](list []T, title func(T) string) (found []group[T]) {
	for _, element := range list {
		i := slices.IndexFunc(found, func(g group[T]) bool { return g.title == title(element) })
		if i < 0 {
			i = len(found)
			found = append(found, group[T]{title: title(element)})
		}
		found[i].list = append(found[i].list, element)
	}
	return found
}

// sortedCrowds sorts the results by adapter.
func (s *scale) sortedCrowds() []crowdResult {
	return slices.SortedStableFunc(slices.Values(s.Crowds), func(a, b crowdResult) int {
		return strings.Compare(a.Adapter, b.Adapter)
	})
}
