//go:build linux && amd64

package scripts

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// archiveHost matches the hosts of the distributions' package archives.
var archiveHost = regexp.MustCompile(`(?i)\b(deb|ftp|http|snapshot|security|archive|ports|cdn-fastly|httpredir)(\.[a-z]{2})?\.(debian\.(org|net)|ubuntu\.com)\b`)

// All packages come from the user's apt sources, or from the mirror that the user names.
func TestNoArchiveHostIsNamed(t *testing.T) {
	if host := "http://deb." + "debian.org/"; !archiveHost.MatchString(host) {
		t.Fatalf("%s is not found", host)
	}
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == ".git" || path == "../native" || path == "../bin"):
			return filepath.SkipDir
		case !d.Type().IsRegular():
			return nil
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if host := archiveHost.Find(content); host != nil {
			t.Errorf("%s names %s", path, host)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
