//go:build linux && amd64

package scripts

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The topics, in the order in which a distribution may stop after any.
var topics = []string{"build", "threads", "device", "conn", "scm", "evd", "cno", "posts", "srq", "ends", "goudat"}

func patchFiles(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("dapl/patches/*.patch")
	if err != nil || len(files) == 0 {
		t.Fatalf("there are no patches: %v", err)
	}
	return files
}

var patchForm = regexp.MustCompile(`(?s)\AFrom 0{40} .*?\nFrom: [^\n]+\s+<.+?>\nDate: .+?\nSubject: \[PATCH\] (.+?)\n\n(.+?\n)\ndiff --git `)

// patchProblems returns the topic of a patch, and what is wrong with its message.
func patchProblems(text string, tests map[string]bool) (topic string, problems []string) {
	m := patchForm.FindStringSubmatch(text)
	if m == nil {
		return "", []string{"has another form"}
	}
	subject, body := strings.ReplaceAll(m[1], "\n ", " "), m[2]
	topic, _, _ = strings.Cut(subject, ": ")
	if !slices.Contains(topics, topic) {
		problems = append(problems, "is of no topic: "+subject)
	}
	_, named, _ := strings.Cut(body, "\n\nTests: ")
	for _, name := range strings.FieldsFunc(named, func(r rune) bool { return r == ',' || r == '\n' || r == ' ' }) {
		if _, test, ok := strings.Cut("."+name, ".Test"); strings.HasPrefix(named, "none; ") {
			break
		} else if !ok || !tests["Test"+test] {
			problems = append(problems, "names no test: "+name)
		}
	}
	if named == "" || len(strings.Fields(body)) < 20 || !strings.Contains(body, "\n\nTo see it:") {
		problems = append(problems, "does not say why, how to see it, or which tests fail without it")
	}
	for line := range strings.Lines(subject + "\n" + body) {
		if len(line) > 81 {
			problems = append(problems, "has a line that is too long: "+strings.TrimSpace(line))
		}
	}
	return topic, problems
}

// Each patch says why, how to see it, and which tests fail without it, and the patches of a topic are together.
func TestPatchSeries(t *testing.T) {
	last, tests := 0, testNames(t)
	for _, file := range patchFiles(t) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		topic, problems := patchProblems(string(text), tests)
		for _, problem := range problems {
			t.Errorf("%s %s", file, problem)
		}
		at := slices.Index(topics, topic)
		if at < last {
			t.Errorf("%s is behind the patches of %s", file, topics[last])
		}
		last = max(last, at)
	}
}

// series makes commits of the patches and, from these, the same files; a tarball has the same bytes each time.
func TestSeries(t *testing.T) {
	if _, err := os.Stat(filepath.Join(cacheFolder(t), "archives/dapl_2.1.10.1.f1e05b7a.orig.tar.xz")); err != nil {
		t.Skipf("scripts/native has left no archive: %v", err)
	}
	work := t.TempDir()
	run := func(name string, arguments ...string) string {
		t.Helper()
		out, err := exec.Command(name, arguments...).CombinedOutput()
		if err != nil {
			t.Fatalf("%s %s: %v\n%s", name, arguments, err, out)
		}
		return string(out)
	}
	// A copy of the tool, so that it writes another folder than the one under test.
	run("mkdir", "-p", work+"/scripts/dapl")
	run("cp", "-a", "native", work+"/scripts")
	run("cp", "-a", "dapl/series", "dapl/patches", "dapl/debian", "dapl/goudat-dapl.spec", "dapl/README.md", work+"/scripts/dapl")
	series := work + "/scripts/dapl/series"

	run(series, "checkout", work+"/all")
	if commits := strings.Fields(run("git", "-C", work+"/all", "rev-list", "published..HEAD")); len(commits) != len(patchFiles(t)) {
		t.Errorf("%d patches make %d commits", len(patchFiles(t)), len(commits))
	}
	run(series, "checkout", work+"/some", "device")
	if subject := run("git", "-C", work+"/some", "log", "-1", "--format=%s"); !strings.HasPrefix(subject, "device: ") {
		t.Errorf("the series up to the topic device ends with %s", subject)
	}
	run(series, "write", work+"/all")
	run("diff", "-r", "dapl/patches", work+"/scripts/dapl/patches")
	run("git", "-C", work+"/all", "-c", "user.name=A", "-c", "user.email=a@b.c", "commit", "--allow-empty", "-q", "--amend", "-m", "goudat: another")
	run(series, "write", work+"/all")
	if out, err := exec.Command("diff", "-r", "dapl/patches", work+"/scripts/dapl/patches").CombinedOutput(); err == nil {
		t.Errorf("another commit gives the same patches\n%s", out)
	}
	run("rm", "-r", work+"/scripts/dapl/patches")
	run("cp", "-a", "dapl/patches", work+"/scripts/dapl")
	if first, second := run(series, "dist", work+"/1"), run(series, "dist", work+"/2"); len(first) < 64 || first != second {
		t.Errorf("dist prints %q, and %q", first, second)
	}
	run("diff", "-r", work+"/1", work+"/2")
	write(t, work+"/scripts/dapl/debian/source/options", "compression = \"xz\"\n")
	if first, second := run("ls", work+"/1"), run(series, "dist", work+"/3"); strings.Contains(second, strings.TrimSpace(first)) {
		t.Errorf("with another packaging, dist prints %q again", second)
	}
	for _, wrong := range [][]string{{"checkout", work + "/all"}, {"checkout", work + "/none", "nothing"}, {"write", work}, {"dist"}, {"other", work}} {
		if out, err := exec.Command(series, wrong...).CombinedOutput(); err == nil {
			t.Errorf("series %s succeeds: %s", wrong, out)
		}
	}
	if help := run(series, "--help"); !strings.HasPrefix(help, "Usage: ") {
		t.Errorf("--help prints %q", help)
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
