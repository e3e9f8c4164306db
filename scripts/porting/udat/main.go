// Command udat looks up names of uDAPL's C API: what Go has for them, the documentation of that, and the recipes of the
// porting guide.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"

	"github.com/goudat/goudat/scripts/porting/internal/guide"
)

func main() {
	flag.Usage = func() {
		fmt.Fprint(flag.CommandLine.Output(), `Usage: udat NAME...

Looks up C names of uDAPL, as dat_ep_post_send, DAT_EVENT, user_cookie or DAT_IA_ATTR.max_evds, in either case. Prints
what Go has, its documentation, and the recipes of `+guide.File+`. Run it in goudat's folder, or in a module that
requires goudat, where the pages and the documentation are.
`)
	}
	flag.Parse()
	if flag.NArg() == 0 {
		flag.Usage()
		os.Exit(2)
	}
	if err := lookUp(os.Stdout, flag.Args(), goDoc); err != nil {
		fmt.Fprintln(os.Stderr, "udat:", err)
		os.Exit(1)
	}
}

// lookUp prints what is known of C names. document returns the documentation of a name of package udat, in the folder of goudat.
func lookUp(out io.Writer, names []string, document func(folder, symbol string) (string, error)) (err error) {
	g, err := guide.Read()
	if err != nil {
		return err
	}
	for _, name := range names {
		entries := find(g, name)
		if len(entries) == 0 {
			err = errors.Join(err, unknown(g, name))
		}
		var told []string
		for _, e := range entries {
			fmt.Fprintf(out, "%s: %s\n", e.C, e.Go)
			for _, symbol := range symbols(e) {
				if slices.Contains(told, symbol) {
					continue
				}
				told = append(told, symbol)
				text, failed := document(g.Folder, symbol)
				if failed != nil {
					err = errors.Join(err, failed)
					continue
				}
				fmt.Fprintf(out, "\n%s\n", strings.TrimSpace(text))
			}
			fmt.Fprintln(out)
		}
		recipes := append(g.Recipes(name), g.Old(name)...)
		for _, recipe := range recipes {
			fmt.Fprintf(out, "recipe: %s\n", recipe)
		}
		if len(recipes) > 0 {
			fmt.Fprintln(out)
		}
	}
	return err
}

// find returns the entries of a name: one, or those of all types that have the member.
func find(g *guide.Guide, name string) (entries []guide.Entry) {
	for c, e := range g.Entries {
		member := c[strings.LastIndexByte(c, '.')+1:]
		if c == e.C && (strings.EqualFold(c, name) || strings.EqualFold(member, name)) {
			entries = append(entries, e)
		}
	}
	slices.SortFunc(entries, func(a, b guide.Entry) int { return strings.Compare(a.C, b.C) })
	return entries
}

// unknown is the error of a name that is not in the tables. It says which are similar.
func unknown(g *guide.Guide, name string) error {
	var similar []string
	for c := range g.Entries {
		if strings.Contains(strings.ToLower(c), strings.ToLower(name)) {
			similar = append(similar, c)
		}
	}
	slices.Sort(similar)
	if len(similar) > 10 {
		similar = append(similar[:10], "...")
	}
	if len(similar) == 0 {
		return fmt.Errorf("%s is not a name of uDAPL 2.0", name)
	}
	return fmt.Errorf("%s is not a name of uDAPL 2.0; these are: %s", name, strings.Join(similar, ", "))
}

var symbol = regexp.MustCompile(`^\*?([A-Z]\w*(?:\.[A-Z]\w*)?)`)

// symbols are the names of package udat that an entry begins with. A function may have several, separated by semicolons.
func symbols(e guide.Entry) (names []string) {
	parts := []string{e.Go}
	if e.Kind == guide.Function {
		parts = strings.Split(e.Go, "; ")
	}
	for _, part := range parts {
		if match := symbol.FindStringSubmatch(part); match != nil {
			names = append(names, match[1])
		}
	}
	return names
}

// goDoc returns the documentation in the goudat of the folder.
func goDoc(folder, symbol string) (string, error) {
	cmd := exec.Command("go", "-C", folder, "doc", "github.com/goudat/goudat/udat", symbol)
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	text, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("the documentation of %s: %w: %s", symbol, err, bytes.TrimSpace(complaint.Bytes()))
	}
	return string(text), nil
}
