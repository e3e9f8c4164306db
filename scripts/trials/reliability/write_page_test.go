//go:build linux

package reliability

import (
	"flag"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/goudat/goudat/scripts/trials/internal/process"
	"github.com/goudat/goudat/scripts/vm/control"
)

var pageFlag = flag.String("reliability.page", "", "write what was seen to this file")

// findings are what the program saw, by scenario.
type findings struct {
	order     []string
	providers []string
	saw       map[string]map[string][]string
}

var page = findings{saw: map[string]map[string][]string{}}

func (f *findings) add(what, provider, text string) {
	if f.saw[what] == nil {
		f.saw[what] = map[string][]string{}
		f.order = append(f.order, what)
	}
	if !slices.Contains(f.providers, provider) {
		f.providers = append(f.providers, provider)
	}
	f.saw[what][provider] = append(f.saw[what][provider], text)
}

func (f *findings) table() string {
	var b strings.Builder
	fmt.Fprintf(&b, "| what happens | %s |\n|---%s|\n", strings.Join(f.providers, " | "), strings.Repeat("|---", len(f.providers)))
	for _, what := range f.order {
		fmt.Fprintf(&b, "| %s |", what)
		for _, provider := range f.providers {
			fmt.Fprintf(&b, " %s |", strings.Join(f.saw[what][provider], "; "))
		}
		b.WriteString("\n")
	}
	return b.String()
}

// TestWritePage runs last, and writes the table into the page.
func TestWritePage(t *testing.T) {
	if rank, err := control.Rank(); *pageFlag == "" || err != nil || rank != nearRank {
		return
	}
	made := fmt.Sprintf("Seed %d; processors of each machine: %d.\n\n", *seedFlag, runtime.NumCPU())
	if err := process.ReplaceInPage(*pageFlag, "<!-- what was seen -->\n", "<!-- end -->", func(string) string { return made + page.table() }); err != nil {
		t.Fatal(err)
	}
}
