package main

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestParseMirrors(t *testing.T) {
	const unknown = "$(ORIGIN)"
	for _, c := range []struct {
		name        string
		listed, all []string
		want        []string
	}{
		{"Debian with lists",
			[]string{"Debian|bookworm|http://a/debian/", "Debian|bookworm-security|http://a/security/", "Other|stable|http://b/"},
			[]string{unknown + "|bookworm|http://a/debian/", unknown + "|stable|http://b/"},
			[]string{"http://a/debian/"}},
		{"without lists", nil,
			[]string{unknown + "|trixie|mirror+file:/etc/mirrors/", unknown + "|trixie|mirror+file:/etc/mirrors/", unknown + "|trixie-security|http://s/"},
			[]string{"mirror+file:/etc/mirrors/"}},
		{"some have lists", []string{"Other|stable|http://b/"},
			[]string{unknown + "|stable|http://b/", unknown + "|trixie|http://a/"}, []string{"http://a/"}},
		{"Ubuntu", []string{"Ubuntu|noble|http://u/"}, []string{unknown + "|noble|http://u/"}, nil},
		{"nothing", nil, nil, nil},
	} {
		lines := func(l []string) string { return strings.Join(l, "\n") + "\n" }
		if got := parseMirrors(lines(c.listed), lines(c.all)); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// TestConfiguredMirrors has the system's apt read both kinds of configuration.
func TestConfiguredMirrors(t *testing.T) {
	for name, content := range map[string]string{
		"list":    "# deb http://no.example/ trixie main\ndeb [arch=amd64] http://mirror.example/debian trixie main\ndeb http://s.example/ trixie-security main\n",
		"sources": "Types: deb\nURIs: http://mirror.example/debian\nSuites: trixie trixie-updates\nComponents: main\n",
	} {
		folder := t.TempDir()
		writeFiles(t, folder, map[string]string{
			"parts/own." + name: content,
			"settings":          `Dir::Etc::SourceList "/dev/null"; Dir::Etc::SourceParts "` + folder + `/parts"; Dir::State::Lists "` + folder + `/lists";`,
		})
		t.Setenv("APT_CONFIG", filepath.Join(folder, "settings"))
		if got, want := configuredMirrors(), []string{"http://mirror.example/debian/"}; !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// An archive that is no mirror of Debian's is refused, and the error has the cause.
func TestArchiveRefuses(t *testing.T) {
	unsigned := t.TempDir()
	release := "Origin: Debian\nLabel: Debian\nSuite: trixie\nCodename: trixie\nComponents: main\nArchitectures: amd64\n" +
		"SHA256:\n e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855 0 main/binary-amd64/Packages\n"
	writeFiles(t, unsigned, map[string]string{"dists/trixie/Release": release, "dists/trixie/main/binary-amd64/Packages": ""})
	// Insecure settings of the system do not apply here.
	settings := filepath.Join(t.TempDir(), "settings")
	check(t, os.WriteFile(settings, []byte(`Acquire::AllowInsecureRepositories "true"; APT::Get::AllowUnauthenticated "true";`), 0o644))
	t.Setenv("APT_CONFIG", settings)
	for _, c := range []struct{ name, mirror, want string }{
		{"nobody has signed it", "file:" + unsigned, "is not signed"},
		{"there is none", "file:/nowhere", "does not have a Release file"},
		{"white space", "file:/a b", "white space"},
	} {
		_, err := openArchive(filepath.Join(t.TempDir(), "archive"), "trixie", amd64, c.mirror, &progress{out: io.Discard})
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), mirrorVariable) {
			t.Errorf("%s: %v, want an error with %q and %s", c.name, err, c.want, mirrorVariable)
		}
	}
	t.Setenv("PATH", t.TempDir())
	if _, err := openArchive(filepath.Join(t.TempDir(), "archive"), "trixie", amd64, "", nil); err == nil || !strings.Contains(err.Error(), "no apt-get") {
		t.Errorf("without apt-get: %v", err)
	}
}
