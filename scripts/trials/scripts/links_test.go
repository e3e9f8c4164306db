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
