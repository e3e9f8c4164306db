//go:build linux && amd64

package scripts

import (
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"
)

const modulePath = "github.com/goudat/goudat"

// repository is a small module that has the scripts for releases, and a scripts/test that does nothing.
type repository struct{ folder string }

const (
	oldAPI = "package udat\n\nfunc Open(name string) error { return nil }\n"
	// A program that calls Open builds with the first change, and not with the second.
	moreAPI  = oldAPI + "\nfunc Close() {}\n"
	otherAPI = "package udat\n\nfunc Open() error { return nil }\n"

	emptyChangelog = "# Changelog\n\n## [Unreleased]\n\n[Unreleased]: https://github.com/goudat/goudat/commits/main\n"
	added          = "### Added\n\n- Something.\n"
)

func newRepository(t *testing.T) *repository {
	t.Helper()
	r := &repository{t.TempDir()}
	for _, name := range []string{"release", "apichanges", "tools/go.mod", "tools/go.sum"} {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		r.write(t, "scripts/"+name, string(text))
	}
	r.write(t, "scripts/test", "#!/bin/sh\n[ ! -e fails ]\n")
	r.write(t, "go.mod", "module github.com/goudat/goudat\n\ngo 1.24\n")
	r.write(t, "go.work", "go 1.24\n\nuse (\n\t.\n\t./scripts/vm\n\t./scripts/own\n\t./examples/some\n)\n")
	r.write(t, "scripts/vm/go.mod", "module github.com/goudat/goudat/scripts/vm\n\ngo 1.24\n")
	r.write(t, "scripts/own/go.mod", "module example.com/own\n\ngo 1.24\n\nrequire github.com/goudat/goudat v0.0.0\n")
	r.write(t, "examples/some/go.mod", "module example.com/some\n\ngo 1.24\n\nrequire github.com/goudat/goudat v0.0.1\n")
	r.write(t, "udat/udat.go", oldAPI)
	r.write(t, "CHANGELOG.md", strings.Replace(emptyChangelog, "[Unreleased]\n\n[", "[Unreleased]\n\n"+added+"\n[", 1))
	// Without "vulnerable" it finds nothing; else it fails with the file's text.
	r.write(t, "scripts/govulncheck", "#!/bin/sh\n! cat vulnerable 2>/dev/null\n")
	r.git(t, "init", "--quiet", "--initial-branch=main")
	r.commit(t)
	return r
}

func (r *repository) write(t *testing.T, name, text string) {
	t.Helper()
	write(t, filepath.Join(r.folder, name), text)
	if filepath.Dir(name) == "scripts" {
		if err := os.Chmod(filepath.Join(r.folder, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
}

func (r *repository) git(t *testing.T, args ...string) string {
	t.Helper()
	output, err := r.run("git", args...)
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, output)
	}
	return output
}

func (r *repository) commit(t *testing.T) {
	t.Helper()
	r.git(t, "add", "--all")
	r.git(t, "commit", "--quiet", "--message", "change")
}

// change writes udat/udat.go, and adds an entry to the changelog.
func (r *repository) change(t *testing.T, api, news string) {
	t.Helper()
	changelog := filepath.Join(r.folder, "CHANGELOG.md")
	text, err := os.ReadFile(changelog)
	if err != nil {
		t.Fatal(err)
	}
	r.write(t, "CHANGELOG.md", strings.Replace(string(text), "## [Unreleased]\n", "## [Unreleased]\n\n"+news, 1))
	r.write(t, "udat/udat.go", api)
	r.commit(t)
}

func (r *repository) run(name string, args ...string) (string, error) {
	command := exec.Command(name, args...)
	command.Dir = r.folder
	command.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "GIT_AUTHOR_NAME=x", "GIT_AUTHOR_EMAIL=x@example.org",
		"GIT_COMMITTER_NAME=x", "GIT_COMMITTER_EMAIL=x@example.org", "GOFLAGS=",
		"PATH="+filepath.Join(r.folder, "scripts")+":"+os.Getenv("PATH"))
	output, err := command.CombinedOutput()
	return string(output), err
}

// release makes a release, and checks its output.
func (r *repository) release(t *testing.T, fine bool, says string, args ...string) {
	t.Helper()
	output, err := r.run("scripts/release", append([]string{"--date", "2027-01-31"}, args...)...)
	if (err == nil) != fine || !strings.Contains(output, says) {
		t.Errorf("release %v: %v, want %q\n%s", args, err, says, output)
	}
}

func TestRelease(t *testing.T) {
	needTime(t)
	r := newRepository(t)
	r.release(t, false, "the first version", "v0.2.0")
	r.release(t, false, "VERSION must be", "0.1.0")
	r.release(t, true, "v0.1.0, 2027-01-31\n\n"+added, "--dry-run", "v0.1.0")
	r.release(t, true, "git push origin main v0.1.0 scripts/vm/v0.1.0 examples/some/v0.1.0", "v0.1.0")
	changelog, err := os.ReadFile(filepath.Join(r.folder, "CHANGELOG.md"))
	if err != nil {
		t.Fatal(err)
	}
	want := "# Changelog\n\n## [Unreleased]\n\n## [0.1.0] - 2027-01-31\n\n" + added +
		"\n[Unreleased]: https://github.com/goudat/goudat/compare/v0.1.0...HEAD\n[0.1.0]: https://github.com/goudat/goudat/releases/tag/v0.1.0\n"
	if string(changelog) != want {
		t.Errorf("the changelog is\n%s\nwant\n%s", changelog, want)
	}
	if notes := r.git(t, "tag", "--list", "--format=%(contents)", "v0.1.0"); strings.TrimSpace(notes) != "v0.1.0\n\n"+strings.TrimSpace(added) {
		t.Errorf("the tag says\n%s", notes)
	}
	if tags := r.git(t, "tag", "--points-at", "HEAD"); tags != "examples/some/v0.1.0\nscripts/vm/v0.1.0\nv0.1.0\n" {
		t.Errorf("the release has the tags %q", tags)
	}
	if module := r.git(t, "show", "v0.1.0:examples/some/go.mod"); !strings.Contains(module, "goudat v0.1.0\n") {
		t.Errorf("a module of the release requires\n%s", module)
	}
	if left := r.git(t, "status", "--porcelain"); left != "" {
		t.Errorf("changes are left:\n%s", left)
	}

	r.release(t, false, "exists already", "v0.1.0")
	r.release(t, false, "is empty", "v0.1.1")
	r.change(t, moreAPI, "### Added\n\n- Close.\n")
	r.release(t, false, "does not come after", "v0.1.2")
	r.write(t, "udat/udat.go", otherAPI)
	r.release(t, false, "has changes", "v0.1.1")
	r.change(t, otherAPI, "### Changed\n\n- Open takes nothing.\n")
	r.release(t, false, "v0.1.1 may not break programs: choose v0.2.0", "v0.1.1")
	r.git(t, "checkout", "--quiet", "-b", "side")
	r.release(t, false, "the branch side", "v0.2.0")
	r.git(t, "checkout", "--quiet", "main")
	r.write(t, "vulnerable", "Vulnerability #1: GO-2027-0001\n")
	r.commit(t)
	r.release(t, false, "GO-2027-0001\nrelease: govulncheck complains", "v0.2.0")
	r.write(t, "vulnerable", "govulncheck: fetching vulnerabilities: no such host\n")
	r.commit(t)
	r.release(t, true, "\nrelease: known vulnerabilities were not looked for: no such host\nrelease: running", "--dry-run", "v0.2.0")
	r.write(t, "fails", "")
	r.commit(t)
	r.release(t, false, "scripts/test fails", "v0.2.0")
	r.git(t, "rm", "--quiet", "fails")
	r.commit(t)
	r.release(t, true, "git push origin main v0.2.0 scripts/vm/v0.2.0 examples/some/v0.2.0", "v0.2.0")
	changelog, err = os.ReadFile(filepath.Join(r.folder, "CHANGELOG.md"))
	if err != nil || !strings.Contains(string(changelog), "...HEAD\n[0.2.0]: https://github.com/goudat/goudat/compare/v0.1.0...v0.2.0\n[0.1.0]: ") {
		t.Errorf("%v: the changelog is\n%s", err, changelog)
	}
}

// TestRehearsal makes releases of a copy of the checkout, serves the tags as a module proxy of files, and uses each module from an empty
// one, as people do who have the installed library, no clone, and have set nothing.
func TestRehearsal(t *testing.T) {
	needTime(t)
	folder := t.TempDir()
	r := &repository{snapshot(t, folder)}
	r.write(t, "scripts/test", "#!/bin/sh\n")
	r.write(t, "scripts/govulncheck", "#!/bin/sh\n")
	r.commit(t)
	r.release(t, true, "is tagged", "v0.1.0")
	module := readFile(t, "go.mod")
	r.write(t, "go.mod", module+"\nretract v0.1.0 // It is a rehearsal.\n")
	r.change(t, "package udat\n", "### Fixed\n\n- Something.\n")
	r.release(t, true, "is tagged", "v0.1.1")

	published := filepath.Join(folder, "published")
	u := newUser(t, r, filepath.Join(folder, "program"))
	proxies := u.environment[len(u.environment)-1]
	u.environment = append(u.environment, "GOPROXY=direct", "GOMODCACHE="+published)
	for tag := range strings.FieldsSeq(r.git(t, "tag")) {
		nested, version := path.Split(tag)
		u.run(t, "go", "mod", "download", path.Join(modulePath, nested)+"@"+version)
	}
	u.environment = append(u.environment, "GIT_CONFIG_COUNT=0", "GOMODCACHE="+filepath.Join(folder, "modules"), "GOBIN="+u.folder,
		strings.Replace(proxies, "=", "=file://"+published+"/cache/download,", 1))
	if exec.Command("env", "-u", "PKG_CONFIG_PATH", "pkg-config", "--exists", "goudat").Run() != nil {
		u.environment = append(u.environment, "PKG_CONFIG_PATH="+filepath.Join(nativePrefix(t), "lib/pkgconfig"))
	}

	for _, tool := range []string{"vm/testbed", "porting/udatvet", "porting/portcheck"} {
		u.run(t, "go", "install", modulePath+"/scripts/"+tool+"@latest")
	}
	u.run(t, "go", "mod", "init", "example.com/program")
	if output := u.run(t, "go", "get", modulePath+"/udat@v0.1.0"); !strings.Contains(output, "retracted by module author: It is a rehearsal.") {
		t.Errorf("go get of a version that was taken back says\n%s", output)
	}
	u.run(t, "go", "get", "-t", modulePath+"/udat@latest", modulePath+"/examples/interop/...@latest", modulePath+"/examples/mpi/...@latest")
	u.run(t, "go", "get", "-tool", modulePath+"/examples/mpi/heat@latest", modulePath+"/scripts/vm/testbed@latest")
	if output := u.run(t, "go", "list", "-m", "all"); !strings.Contains(output, modulePath+" v0.1.1\n") || strings.Contains(output, "=>") {
		t.Errorf("the modules are\n%s", output)
	}
	u.run(t, "go", "build")
	u.run(t, "go", "vet", "-vettool="+filepath.Join(u.folder, "udatvet"), "./...", modulePath+"/udat/stream", modulePath+"/examples/mpi/...")
	u.run(t, "go", "test", modulePath+"/udat", modulePath+"/udat/stream", modulePath+"/examples/mpi/...", modulePath+"/examples/interop/...")
	u.run(t, "go", "tool", "heat", "-help")
	if os.Getenv("UDAT_TESTBED") == "" { // there are no virtual machines in the test bed
		for _, args := range [][]string{{"./testbed", "./program", "rxe0"}, {"go", "run", "-exec", "go tool testbed", ".", "rxe0"}} {
			if output := u.run(t, args[0], args[1:]...); !strings.Contains(output, `received "hello"`) {
				t.Errorf("%q printed\n%s", args, output)
			}
		}
		u.run(t, "go", "run", "-exec", "go tool testbed", modulePath+"/examples/mpi/heat")
	}
	// The C headers and the programs of the test bed are vendored, too.
	u.run(t, "go", "mod", "vendor")
	u.run(t, "go", "build")
	u.run(t, "env", "GOUDAT_CACHE="+filepath.Join(folder, "cache"), "go", "tool", "testbed", "--help")
}

// user is someone who has a module of their own.
type user struct {
	folder      string
	environment []string
}

// newUser returns one whose folder has README's program. The go command fetches the tags of the repository, and has all else in
// its cache, or from its proxies.
func newUser(t *testing.T, r *repository, folder string) *user {
	t.Helper()
	settings, err := exec.Command("go", "env", "GOMODCACHE", "GOPROXY").Output()
	if err != nil {
		t.Fatal(explain(err))
	}
	cache, proxies, _ := strings.Cut(strings.TrimSpace(string(settings)), "\n")
	write(t, filepath.Join(folder, "main.go"), readme(t, "go")[0])
	return &user{folder, append(withoutSettings(), "GOWORK=off", "GOSUMDB=off", "GOFLAGS=-modcacherw", "GIT_CONFIG_COUNT=1",
		"GIT_CONFIG_KEY_0=url."+r.folder+".insteadOf", "GIT_CONFIG_VALUE_0=https://"+modulePath, "GOPROXY=file://"+cache+"/cache/download,"+proxies)}
}

// run runs a command in the user's module.
func (u *user) run(t *testing.T, name string, args ...string) string {
	t.Helper()
	command := exec.Command(name, args...)
	command.Dir, command.Env = u.folder, u.environment
	output, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, output)
	}
	return string(output)
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestAPIChanges(t *testing.T) {
	needTime(t)
	r := newRepository(t)
	if output, err := r.run("scripts/apichanges"); err == nil || !strings.Contains(output, "there is no release") {
		t.Errorf("without a tag: %v\n%s", err, output)
	}
	r.git(t, "tag", "v0.1.0")
	for _, c := range []struct{ api, all, incompatible string }{
		{oldAPI, "", ""},
		{moreAPI, "udat since v0.1.0:\nCompatible changes:\n- Close: added\n", ""},
		{otherAPI, "Incompatible changes:\n- Open: changed from func(string) error to func() error\n", "Open: changed from"},
	} {
		r.write(t, "udat/udat.go", c.api)
		for _, s := range []struct {
			want string
			args []string
		}{{c.all, nil}, {c.incompatible, []string{"--incompatible"}}} {
			output, err := r.run("scripts/apichanges", s.args...)
			if err != nil || s.want == "" && output != "" || !strings.Contains(output, s.want) {
				t.Errorf("%v: got %v and %q, want %q", s.args, err, output, s.want)
			}
		}
	}
}

// The bill of a program has what it links.
func TestSBOM(t *testing.T) {
	program := filepath.Join(t.TempDir(), "hello")
	output, err := exec.Command("bash", "-euc", `cd .. && go build -buildvcs=false -o "$1" ./examples/hello && scripts/sbom "$1"`, "bash", program).Output()
	if err != nil {
		t.Fatal(explain(err))
	}
	for _, want := range []string{"SPDXVersion: SPDX-2.3\n", "PackageName: github.com/goudat/goudat\n", "PackageName: Go\n", "PackageName: dapl\n", "PackageName: rdma-core\n", "PackageName: glibc\n"} {
		if !strings.Contains(string(output), want) {
			t.Errorf("the bill lacks %q:\n%s", want, output)
		}
	}
	if strings.Contains(string(output), "PackageName: github.com/google/go-cmp\n") {
		t.Error("the bill has what only tests use")
	}
}
