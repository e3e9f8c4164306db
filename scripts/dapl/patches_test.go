//go:build linux && amd64

// Package dapl tests the form of the patches, and of the pages about them.
package dapl

import (
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The patches are a git series: numbered, applied in that order, and each says who, what, why and how to see it.
func TestPatchSeries(t *testing.T) {
	for _, series := range []string{"patches", "rdma-core"} {
		files, err := filepath.Glob(series + "/*")
		if err != nil || len(files) == 0 {
			t.Fatalf("there are no patches in %s: %v", series, err)
		}
		for i, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, problem := range patchProblems(i+1, filepath.Base(file), string(text)) {
				t.Errorf("%s %s", file, problem)
			}
		}
	}
}

var (
	patchName   = regexp.MustCompile(`^\d{4}-[a-z-]+\.patch$`)
	patchHeader = regexp.MustCompile(`^From [0-9a-f]{40} .*\nFrom: .+ <.+>\nDate: .+\nSubject: \[PATCH\] `)
	// A paragraph of its own says how the fault was seen, or what shows it.
	patchSeen    = regexp.MustCompile(`\n\n(Seen|To see) `)
	patchContent = regexp.MustCompile(`(?m)^diff --git a/(\S+) b/(\S+)$`)
)

// patchProblems returns what is wrong with a patch.
func patchProblems(number int, name, text string) (problems []string) {
	if !patchName.MatchString(name) || !strings.HasPrefix(name, fmt.Sprintf("%04d-", number)) {
		problems = append(problems, fmt.Sprintf("is number %d", number))
	}
	if !patchHeader.MatchString(text) {
		problems = append(problems, "has no header")
	}
	said, changes, found := strings.Cut(text, "\n---\n")
	if _, body, ok := strings.Cut(said, "\n\n"); !ok || len(strings.Fields(body)) < 20 {
		problems = append(problems, "does not say why")
	}
	if !patchSeen.MatchString(said) {
		problems = append(problems, "does not say how to see it")
	}
	if strings.Contains(said, "\nSigned-off-by:") {
		problems = append(problems, "is signed off: the sender does that")
	}
	for line := range strings.Lines(said[max(0, strings.Index(said, "\n\n")):]) {
		if len(line) > 81 {
			problems = append(problems, "has a line that is too long: "+strings.TrimSpace(line))
		}
	}
	for _, line := range linuxOnly(changes) {
		problems = append(problems, "has what Windows lacks, in a file that is built there: "+line)
	}
	for _, file := range notForWindows(changes) {
		problems = append(problems, "adds "+file+", and not to the sources for Windows")
	}
	if !found || !patchContent.MatchString(changes) {
		problems = append(problems, "changes nothing")
	}
	return problems
}

// linuxWords match what no file that Windows builds may use directly: dapl_osd.h has portable names. The Windows
// compiler knows C90 only, without designated initializers.
var linuxWords = regexp.MustCompile(`\b(pthread_|__thread\b|__attribute__|__atomic_|__sync_|nanosleep\b|usleep\b|MSG_DONTWAIT\b|accept4\b|pipe2\b|(SOCK|O)_CLOEXEC\b)|= *\{ *\.\w+ *=`)

// linuxOnly lists the lines of a diff that add something that Windows lacks. Both systems build everything except the
// folders named linux and the providers for the coprocessor, which Windows never had.
func linuxOnly(diff string) (lines []string) {
	file := ""
	for line := range strings.Lines(diff) {
		if match := patchContent.FindStringSubmatch(strings.TrimSuffix(line, "\n")); match != nil {
			file = match[2]
		}
		if strings.HasPrefix(line, "+") && !strings.HasPrefix(line, "+++ ") && linuxWords.MatchString(line) &&
			!strings.Contains(file, "/linux/") && !strings.HasPrefix(file, "dapl/openib_mcm/") {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return lines
}

var newSource = regexp.MustCompile(`(?m)^diff --git a/dapl/(\S+\.c) b/\S+\nnew file mode`)

// notForWindows lists the new sources of a diff that it does not add to the build for Windows: to a file that includes
// the sources of a folder, or to a file named SOURCES.
func notForWindows(diff string) (files []string) {
	for _, match := range newSource.FindAllStringSubmatch(diff, -1) {
		file := match[1]
		if strings.Contains(file, "linux/") || strings.HasPrefix(file, "openib_mcm/") {
			continue
		}
		folder, name := path.Split(file)
		if !strings.Contains(diff, "\n+#include \""+strings.ReplaceAll(folder, "/", `\`)+name) &&
			!regexp.MustCompile(`(?m)^\+.*[\s\\]`+regexp.QuoteMeta(name)+`\b`).MatchString(diff) {
			files = append(files, "dapl/"+file)
		}
	}
	return files
}

// daplNames match the portable names that the files of the two systems define.
var daplNames = regexp.MustCompile(`(?m)^\+.*\b((?:dapl|DAPL)_(?:os|OS)_\w+)`)

// Portable names that the patches add for Linux are there for Windows, too.
func TestPatchesKeepWindows(t *testing.T) {
	files, err := filepath.Glob("patches/*")
	if err != nil {
		t.Fatal(err)
	}
	var linux, windows strings.Builder
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range strings.Split(string(text), "\ndiff --git ")[1:] {
			switch {
			case strings.HasPrefix(part, "a/dapl/udapl/linux/dapl_osd.h "):
				linux.WriteString(part)
			case strings.HasPrefix(part, "a/dapl/udapl/windows/dapl_osd.h "):
				windows.WriteString(part)
			}
		}
	}
	found := 0
	for _, match := range daplNames.FindAllStringSubmatch(linux.String(), -1) {
		// These lines are rewritten for Linux only. Windows has its own form of them.
		if match[1] == "dapl_os_atomic_read" || match[1] == "dapl_os_atomic_set" {
			continue
		}
		found++
		if !strings.Contains(windows.String(), match[1]) {
			t.Errorf("the patches add %s for Linux, and not for Windows", match[1])
		}
	}
	if found == 0 {
		t.Error("the patches add nothing for Linux, or it is not found")
	}
}

// README.md lists each patch, with its name and its subject.
func TestPatchesPage(t *testing.T) {
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(text)
	patches, err := filepath.Glob("patches/*.patch")
	if err != nil || len(patches) == 0 {
		t.Fatalf("no patches: %v", err)
	}
	subject := regexp.MustCompile(`(?s)\nSubject: \[PATCH\] (.*?)\n\n`)
	var rows []string
	for _, patch := range patches {
		text, err := os.ReadFile(patch)
		if err != nil {
			t.Fatal(err)
		}
		m := subject.FindStringSubmatch(string(text))
		if m == nil {
			t.Errorf("%s has no subject", patch)
			continue
		}
		number := strings.SplitN(filepath.Base(patch), "-", 2)[0]
		rows = append(rows, "| ["+number+"]("+patch+") | "+strings.ReplaceAll(m[1], "\n ", " ")+" |")
	}
	for _, row := range rows {
		if !strings.Contains(page, row+"\n") {
			t.Errorf("the page does not have the row\n%s", row)
		}
	}
	if got := strings.Count(page, "](patches/"); got != len(rows) || !slices.IsSorted(rows) {
		t.Errorf("the page has %d rows for %d patches", got, len(rows))
	}
}

// git can apply them as commits on the published source.
func TestPatchesApply(t *testing.T) {
	archive := filepath.Join(cacheFolder(t), "archives/dapl_2.1.10.1.f1e05b7a.orig.tar.xz")
	if _, err := os.Stat(archive); err != nil {
		t.Skipf("scripts/native has left no archive: %v", err)
	}
	patches, err := filepath.Glob("patches/*")
	if err != nil {
		t.Fatal(err)
	}
	for i, patch := range patches {
		if patches[i], err = filepath.Abs(patch); err != nil {
			t.Fatal(err)
		}
	}
	source := t.TempDir()
	run := func(name string, arguments ...string) string {
		t.Helper()
		cmd := exec.Command(name, arguments...)
		cmd.Dir = source
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=A", "GIT_AUTHOR_EMAIL=a@b.c",
			"GIT_COMMITTER_NAME=A", "GIT_COMMITTER_EMAIL=a@b.c")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s %s: %v\n%s", name, arguments[0], err, out)
		}
		return string(out)
	}
	run("tar", "-x", "--strip-components=1", "-f", archive)
	run("git", "init", "-q")
	run("git", "add", "--force", "--all")
	run("git", "commit", "-q", "-m", "as published")
	run("git", append([]string{"-c", "core.fsync=none", "am", "-q"}, patches...)...)
	if commits := strings.Fields(run("git", "rev-list", "HEAD")); len(commits) != len(patches)+1 {
		t.Errorf("%d patches make %d commits", len(patches), len(commits)-1)
	}
}

// cacheFolder is where scripts/native keeps what it has fetched.
func cacheFolder(t *testing.T) string {
	t.Helper()
	if folder := os.Getenv("GOUDAT_CACHE"); folder != "" {
		return folder
	}
	base, err := os.UserCacheDir()
	if err != nil {
		t.Skip(err)
	}
	return filepath.Join(base, "goudat")
}

func TestPatchProblems(t *testing.T) {
	header := "From " + strings.Repeat("0", 40) + " Mon Sep 17 00:00:00 2001\nFrom: A <a@b.c>\nDate: now\nSubject: [PATCH] a: b\n\n"
	why, seen := strings.Repeat("a word or two\n", 6), "\nSeen once.\n"
	body := why + seen + "---\n"
	diff := "diff --git a/x b/x\n"
	newFile := "diff --git a/dapl/common/x.c b/dapl/common/x.c\nnew file mode 100644\n"
	for _, c := range []struct{ name, text, problem string }{
		{"0001-good.patch", header + body + diff, ""},
		{"0002-second.patch", header + body + diff, "is number 1"},
		{"good.patch", header + body + diff, "is number 1"},
		{"0001-bare.patch", body + diff, "has no header"},
		{"0001-short.patch", header + "Mends it.\n---\n" + diff, "does not say why"},
		{"0001-empty.patch", header + body, "changes nothing"},
		{"0001-unseen.patch", header + why + "---\n" + diff, "does not say how to see it"},
		{"0001-signed.patch", header + why + seen + "\nSigned-off-by: A <a@b.c>\n---\n" + diff, "is signed off: the sender does that"},
		{"0001-linux.patch", header + body + diff + "+	pthread_join(thread);\n", "has what Windows lacks, in a file that is built there: +	pthread_join(thread);"},
		{"0001-exec.patch", header + body + diff + "+	pipe2(fds, O_CLOEXEC);\n", "has what Windows lacks, in a file that is built there: +	pipe2(fds, O_CLOEXEC);"},
		{"0001-initializer.patch", header + body + diff + "+	struct a b = { .c = 1 };\n", "has what Windows lacks, in a file that is built there: +	struct a b = { .c = 1 };"},
		{"0001-long.patch", header + why + strings.Repeat("long ", 17) + "\n" + seen + "---\n" + diff, "has a line that is too long: " + strings.TrimSpace(strings.Repeat("long ", 17))},
		{"0001-new.patch", header + body + newFile, "adds dapl/common/x.c, and not to the sources for Windows"},
		{"0001-listed.patch", header + body + newFile + "diff --git a/dapl/dapl_common_src.c b/dapl/dapl_common_src.c\n+#include \"common\\x.c\"\n", ""},
		{"0001-source.patch", header + body + newFile + "diff --git a/dapl/openib_scm/SOURCES b/dapl/openib_scm/SOURCES\n+\t..\\common\\x.c \\\n", ""},
		{"0001-there.patch", header + body + "diff --git a/x/linux/x b/x/linux/x\n+	pthread_join(thread);\n", ""},
	} {
		problems := patchProblems(1, c.name, c.text)
		switch {
		case c.problem == "" && len(problems) > 0:
			t.Errorf("%s has the problems %q", c.name, problems)
		case c.problem != "" && (len(problems) == 0 || problems[0] != c.problem):
			t.Errorf("%s has the problems %q, want %q", c.name, problems, c.problem)
		}
	}
}
