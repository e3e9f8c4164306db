//go:build linux && amd64

package scripts

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// exists reports whether the checkout has a file or folder.
func exists(file string) bool {
	_, err := os.Stat(filepath.Join("..", file))
	return err == nil
}

func readFile(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// The page on troubleshooting has each Problem of udat/device, with its text, which is that of the documentation.
func TestTroubleshootingHasEachProblem(t *testing.T) {
	page, texts := readFile(t, "docs/troubleshooting.md"), readFile(t, "udat/internal/problem/problem.go")
	problems := regexp.MustCompile(`(?m)^\t(Problem[A-Z]\w+) .*// (.*)$`).FindAllStringSubmatch(readFile(t, "udat/device/problem.go"), -1)
	if len(problems) == 0 {
		t.Fatal("no problems were found in udat/device/problem.go")
	}
	for _, p := range problems {
		if row := "\n| `" + p[1] + "`: `" + p[2] + "` |"; !strings.Contains(page, row) {
			t.Errorf("the page has no row that begins with %s", row)
		}
		if !strings.Contains(texts, "// "+p[2]+"\n") {
			t.Errorf("no problem has the text %q of %s", p[2], p[1])
		}
	}
}

// The messages on the page on troubleshooting are in goudat's sources.
func TestTroubleshootingQuotesMessages(t *testing.T) {
	var sources strings.Builder
	for _, folder := range []string{"udat", "scripts"} {
		err := filepath.WalkDir(filepath.Join("..", folder), func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() || strings.HasSuffix(path, "_test.go") {
				return err
			}
			text, err := os.ReadFile(path)
			sources.Write(text)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	page := readFile(t, "docs/troubleshooting.md")
	foreign := regexp.MustCompile("(?s)\n## A program does not build.*?\n## ") // these are the compiler's and the linker's
	row := regexp.MustCompile("(?m)^\\| (`[^|]*) \\|")
	quoted := regexp.MustCompile("`([^`]*)`")
	for _, cell := range row.FindAllStringSubmatch(foreign.ReplaceAllString(page, "\n## "), -1) {
		for _, message := range quoted.FindAllStringSubmatch(cell[1], -1) {
			for part := range strings.SplitSeq(message[1], "...") {
				if part = strings.TrimSpace(part); strings.Contains(part, " ") && !strings.Contains(sources.String(), part) {
					t.Errorf("no source has the message %q", part)
				}
			}
		}
	}
}

// The written pages stay few and short, and none repeats another. What tools write, docs/reference, is apart.
func TestPagesAreFewAndShort(t *testing.T) {
	const mostPages, mostWords, mostOfReadme = 8, 17000, 1600
	pages, err := filepath.Glob("../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	pages = append(pages, "../README.md", "../CONTRIBUTING.md")
	if len(pages) > mostPages {
		t.Errorf("there are %d pages, at most %d may be: %v", len(pages), mostPages, pages)
	}
	words, sentences := 0, map[string]string{}
	for _, page := range pages {
		text := readFile(t, strings.TrimPrefix(page, "../"))
		n := len(strings.Fields(text))
		words += n
		if page == "../README.md" && n > mostOfReadme {
			t.Errorf("the README has %d words, at most %d may be", n, mostOfReadme)
		}
		for _, sentence := range regexp.MustCompile(`[.:|]\s|\n\n`).Split(pageCode.ReplaceAllString(text, "code"), -1) {
			sentence = strings.Join(strings.Fields(sentence), " ")
			if len(strings.Fields(sentence)) < 7 {
				continue
			}
			if first, again := sentences[sentence]; again {
				t.Errorf("%s and %s have the same sentence: %s", first, page, sentence)
			}
			sentences[sentence] = page
		}
	}
	if words > mostWords {
		t.Errorf("the pages have %d words, at most %d may be", words, mostWords)
	}
}

var (
	pageCode    = regexp.MustCompile("(?ms)^```.*?^```|^    .*?$|`[^`\n]*`")
	pageLink    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	pageHeading = regexp.MustCompile(`(?m)^#+ (.*)$`)
	notInAnchor = regexp.MustCompile(`[^\pL\d _-]`)
)

// anchors returns the fragments of a page's headings, as the repository's site makes them.
func anchors(page string) map[string]bool {
	found := map[string]bool{}
	for _, heading := range pageHeading.FindAllStringSubmatch(page, -1) {
		found[strings.ReplaceAll(notInAnchor.ReplaceAllString(strings.ToLower(heading[1]), ""), " ", "-")] = true
	}
	return found
}

// The links between the pages lead to files and headings that exist.
func TestLinks(t *testing.T) {
	const site = "https://" + modulePath + "/blob/main/"
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && (d.Name() == ".git" || path == "../native") {
			return fs.SkipDir
		} else if err != nil || filepath.Ext(path) != ".md" {
			return err
		}
		text, err := os.ReadFile(path)
		for _, link := range pageLink.FindAllStringSubmatch(pageCode.ReplaceAllString(string(text), ""), -1) {
			target, fragment, _ := strings.Cut(link[1], "#")
			file := filepath.Join(filepath.Dir(path), target)
			if within, ours := strings.CutPrefix(target, site); ours {
				file = filepath.Join("..", within)
			} else if target == "" {
				file = path
			} else if strings.Contains(target, "://") {
				continue
			}
			if page, err := os.ReadFile(file); !exists(strings.TrimPrefix(file, "../")) ||
				filepath.Ext(file) == ".md" && fragment != "" && (err != nil || !anchors(string(page))[fragment]) {
				t.Errorf("%s: the link %s leads nowhere", path, link[1])
			}
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

var goBlock = regexp.MustCompile("(?s)```go\n(.*?)```")

// Each Go snippet of the porting guide, and of the page on the native stack, is part of a test, line by line.
func TestPortingSnippets(t *testing.T) {
	files, err := filepath.Glob("../udat/*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	var program []byte
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		program = append(program, source...)
	}
	for _, page := range []string{"docs/porting.md", "docs/native.md"} {
		blocks := goBlock.FindAllStringSubmatch(readFile(t, page), -1)
		if len(blocks) == 0 {
			t.Errorf("%s has no snippets", page)
		}
		for _, block := range blocks {
			if !strings.Contains(string(program), block[1]) {
				t.Errorf("no test of udat has this part of %s:\n%s", page, block[1])
			}
		}
	}
}
