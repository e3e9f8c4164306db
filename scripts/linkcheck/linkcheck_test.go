package main

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// sample has a page with each kind of link. The links to "gone" lead nowhere.
var sample = map[string]string{
	"README.md": `# A project
[page](docs/page.md), [heading](docs/page.md#two-words-and-code), [again](docs/page.md#again-1), [here](#a-project),
[folder](docs), [line](pack/pack.go#L3-L4), [site](https://github.com/goudat/goudat/blob/main/docs/page.md#again),
[symbol](https://pkg.go.dev/github.com/goudat/goudat/pack#Thing.Do), [package](https://pkg.go.dev/github.com/goudat/goudat/pack),
[module](https://pkg.go.dev/github.com/goudat/goudat), [web](https://example.org/x), ` + "`[code](docs/gone.md)`" + `

    [code](docs/gone.md)

` + "```\n[code](docs/gone.md)\n```\n",
	"docs/page.md": "# Two words, and `code`\n## Again\n## Again\n[up](../README.md)\n",
	"pack/pack.go": "// Package pack is a [Thing]. [Thing.Do] does [pack.Thing], a []byte, [0 1].\npackage pack\n\n// Thing is one.\ntype Thing struct{ Field int }\n\n// Do does.\nfunc (Thing) Do() {}\n",
}

func write(t *testing.T, files map[string]string) string {
	t.Helper()
	folder := t.TempDir()
	for name, text := range files {
		file := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

func TestGoodLinks(t *testing.T) {
	problems, err := check(write(t, sample))
	if err != nil || len(problems) > 0 {
		t.Errorf("got %v and the problems %q", err, problems)
	}
}

func TestBadLinks(t *testing.T) {
	for text, want := range map[string]string{
		"[x](docs/gone.md)":                               "no such file",
		"[x](../outside.md)":                              "outside",
		"[x](docs/page.md#gone)":                          "no such heading",
		"[x](#gone)":                                      "no such heading",
		"[x](pack/pack.go#Thing)":                         "only pages",
		"[x]: docs/gone.md":                               "no such file",
		"<img src=\"docs/gone.svg\">":                     "no such file",
		"![x](docs/gone.svg)":                             "no such file",
		"[x](/docs/page.md)":                              "neither",
		"[x](file:docs/page.md)":                          "neither",
		"[x]()":                                           "no target",
		"[x](https://nowhere/x)":                          "no address",
		"[x](" + site + "/blob/main/docs/gone.md)":        "no such file",
		"[x](" + documentation + "/gone)":                 "no such package",
		"[x](" + documentation + "/pack#Gone)":            "no such symbol",
		"[x](" + documentation + "/pack#Thing.Gone)":      "no such symbol",
		"[x](" + documentation + "/pack@v0.1.0#Thing.Go)": "no such symbol",
	} {
		files := maps.Clone(sample)
		files["README.md"] += text + "\n"
		problems, err := check(write(t, files))
		if err != nil || len(problems) != 1 || !strings.Contains(problems[0], want) || !strings.HasPrefix(problems[0], "README.md:12: ") {
			t.Errorf("%s: got %v and the problems %q, want %q", text, err, problems, want)
		}
	}
}

func TestBadComments(t *testing.T) {
	for text, want := range map[string]string{
		"[Gone]":                               "[Gone]",
		"[Thing.Gone]":                         "[Thing.Gone]",
		"[github.com/goudat/goudat/pack.Gone]": "[github.com/goudat/goudat/pack.Gone]",
		"[page].\n//\n// [page]: " + site + "/blob/main/docs/gone.md": "no such file",
	} {
		files := maps.Clone(sample)
		files["pack/more.go"] = "package pack\n\n// More is " + text + "\nfunc More() {}\n"
		problems, err := check(write(t, files))
		if err != nil || len(problems) != 1 || !strings.Contains(problems[0], want) || !strings.Contains(problems[0], "the comment on More") {
			t.Errorf("%s: got %v and the problems %q, want %q", text, err, problems, want)
		}
	}
}

func TestPageWithoutLink(t *testing.T) {
	files := maps.Clone(sample)
	files["docs/lost.md"] = "# Lost\n[here](#lost), [self](lost.md)\n"
	problems, err := check(write(t, files))
	if err != nil || !slices.Equal(problems, []string{"docs/lost.md: no page has a link to it"}) {
		t.Errorf("got %v and the problems %q", err, problems)
	}
}
