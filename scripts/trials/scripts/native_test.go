//go:build linux && amd64

package scripts

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// runNative runs scripts/native with folders that no other build uses.
func runNative(t *testing.T, environment []string, arguments ...string) (folder, output string, err error) {
	t.Helper()
	folder = filepath.Join(t.TempDir(), "native")
	cmd := exec.Command("./native", arguments...)
	cmd.Env = append(os.Environ(), "GOUDAT_NATIVE_DIR="+folder, "GOUDAT_CACHE="+t.TempDir())
	cmd.Env = append(cmd.Env, environment...)
	text, err := cmd.CombinedOutput()
	return folder, string(text), err
}

// A build that is not possible fails with one line, and leaves nothing behind.
func TestNativeFails(t *testing.T) {
	wrong := t.TempDir()
	for _, name := range []string{"rdma-core_56.1.orig.tar.gz", "dapl_2.1.10.1.f1e05b7a.orig.tar.xz"} {
		if err := os.WriteFile(filepath.Join(wrong, name), []byte("not what was published"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	offline := onPath(t, map[string]string{
		"apt-get": "echo E: Unable to fetch >&2; exit 100",
		"curl":    "echo 'curl: (6) Could not resolve host' >&2; exit 6",
	})
	mirror := "GOUDAT_DEBIAN_MIRROR=http://mirror.example/debian"
	for _, c := range []struct {
		name        string
		environment []string
		arguments   []string
		lines       int
		say         []string
	}{
		{"an archive is another", nil, []string{"--archives", wrong}, 1, []string{"SHA-256", "dapl_2.1.10.1.f1e05b7a.orig.tar.xz"}},
		{"an archive is not there", nil, []string{"--archives", t.TempDir()}, 1, []string{"is not in"}},
		{"no such folder", nil, []string{"--archives", wrong + "/none"}, 1, []string{"there is no"}},
		{"a relative prefix", nil, []string{"--prefix", "usr/local"}, 1, []string{"--prefix", "absolute"}},
		{"a prefix that is a file", nil, []string{"--prefix", wrong + "/rdma-core_56.1.orig.tar.gz"}, 1, []string{"cannot write to", "--prefix"}},
		{"neither source nor system", nil, []string{"--rdma-core", "mine"}, 1, []string{"source or system"}},
		{"another architecture over the system", nil, []string{"--rdma-core", "system", "--arch", "arm64"}, 1, []string{"--arch needs rdma-core from source"}},
		{"a package with a prefix", nil, []string{"--deb", "--prefix", "/usr"}, 1, []string{"--deb makes packages"}},
		{"a package over another rdma-core", nil, []string{"--deb", "--rdma-core", "source"}, 1, []string{"--deb makes packages"}},
		{"a package without patches", nil, []string{"--rpm", "--unpatched"}, 1, []string{"--rpm makes packages"}},
		{"one file over the system", nil, []string{"--rdma-core", "system", "--static"}, 1, []string{"--static goes with"}},
		{"one file without patches", nil, []string{"--unpatched", "--static"}, 1, []string{"--static goes with"}},
		{"two variants", nil, []string{"--debug", "--sanitize"}, 1, []string{"choose one"}},
		{"no network", append(offline, mirror), nil, 2, []string{"fetching", "from http://mirror.example/debian (", "curl: (6) Could not resolve host)", "--archives"}},
		{"no mirror", append(offline, "GOUDAT_DEBIAN_MIRROR="), nil, 2, []string{"no mirror", "--mirror", "GOUDAT_DEBIAN_MIRROR", "--archives"}},
		{"a mirror that is no URL", nil, []string{"--mirror", "two words"}, 1, []string{"--mirror needs the URL"}},
		{"a folder with a space", []string{"GOUDAT_NATIVE_DIR=" + t.TempDir() + "/my native"}, nil, 1, []string{"space", "GOUDAT_NATIVE_DIR"}},
		{"no tools", onPath(t, map[string]string{"cmake": "", "ninja": "", "dpkg-query": "", "apt-get": ""}), nil, 3,
			[]string{"install them:\nnative:   cmake\nnative:   ninja\n"}},
		{"no headers", onPath(t, map[string]string{"pkg-config": "exit 1", "dpkg-query": "", "apt-get": ""}), []string{"--rdma-core", "system"}, 2,
			[]string{"install them:\nnative:   the headers of libibverbs librdmacm\n"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			folder, output, err := runNative(t, c.environment, c.arguments...)
			if err == nil {
				t.Error("it succeeds")
			}
			if lines := strings.Count(output, "\n"); lines != c.lines {
				t.Errorf("it says %d lines, want %d", lines, c.lines)
			}
			for _, word := range c.say {
				if !strings.Contains(output, word) {
					t.Errorf("it does not say %q", word)
				}
			}
			left, _ := os.ReadDir(folder)
			for _, entry := range left {
				if entry.Name() != ".lock" {
					t.Errorf("it leaves %s", entry.Name())
				}
			}
			if t.Failed() {
				t.Logf("the output:\n%s", output)
			}
		})
	}
}

// Without apt-get, it says what to install.
func TestBuildToolsCommand(t *testing.T) {
	for release, want := range map[string]string{
		"NAME=Fedora\nID=fedora\n":                                        "dnf install gcc make cmake",
		"ID=\"rocky\"\nID_LIKE=\"rhel centos fedora\"\n":                  "dnf install gcc make cmake",
		"ID=\"opensuse-leap\"\nID_LIKE=\"suse opensuse\"\nVERSION=15.6\n": "zypper install gcc make cmake",
		"ID=arch\n": "pacman -S",
		"ID=void\n": "",
		"":          "",
	} {
		file := filepath.Join(t.TempDir(), "os-release")
		if err := os.WriteFile(file, []byte(release), 0o600); err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command("bash", "-euc", ". ./setup.bash; build_tools_command "+file+"; build_tools_command /nowhere").CombinedOutput()
		if err != nil || !strings.HasPrefix(string(out), want) || want == "" && len(out) > 0 {
			t.Errorf("%q: %q, %v, want %q", release, out, err, want)
		}
	}
}

// Without apt-get, it looks for the programs that it would install, and names those that are missing.
func TestPackagesWithoutApt(t *testing.T) {
	run := func(gone map[string]string, packages string) string {
		gone["apt-get"], gone["dpkg-query"] = "", ""
		cmd := exec.Command("bash", "-euc", "program=test; . ./setup.bash; need_packages "+packages)
		cmd.Env = append(os.Environ(), onPath(t, gone)...)
		out, err := cmd.CombinedOutput()
		if (err == nil) != (len(out) == 0) {
			t.Errorf("need_packages %s: %v, %q", packages, err, out)
		}
		return string(out)
	}
	if said := run(map[string]string{}, "gcc libc6-dev xz-utils ca-certificates debian-archive-keyring"); said != "" {
		t.Errorf("all is there, and it says %q", said)
	}
	said := run(map[string]string{"xz": "", "qemu-system-x86_64": ""}, "qemu-system-x86 gcc xz-utils")
	if !strings.Contains(said, "install qemu-system-x86 xz-utils: install their equivalents") || strings.Count(said, "\n") != 1 {
		t.Errorf("it says %q", said)
	}
}

// A second run has nothing to do.
func TestNativeIsBuiltOnce(t *testing.T) {
	output, err := exec.Command("./native").CombinedOutput()
	if err != nil || strings.Count(string(output), "\n") != 1 || !strings.Contains(string(output), "is built") {
		t.Errorf("a second run says, with %v:\n%s", err, output)
	}
}

// Two clones share a build if their patches are the same. Otherwise each has its own, and leaves the other's alone.
func TestNativeOfTwoClones(t *testing.T) {
	home, one, other := filepath.Join(t.TempDir(), "goudat"), t.TempDir(), t.TempDir()
	run := func(clone, command string) string {
		t.Helper()
		cmd := exec.Command("bash", "-euc", "program=test checkout=$1; . $1/scripts/setup.bash; "+command, "bash", clone)
		cmd.Env = append(os.Environ(), "GOUDAT_NATIVE_DIR=", "XDG_DATA_HOME="+filepath.Dir(home))
		output, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v:\n%s", err, output)
		}
		return strings.TrimSpace(string(output))
	}
	for _, clone := range []string{one, other} {
		if output, err := exec.Command("cp", "-r", "../scripts", clone).CombinedOutput(); err != nil {
			t.Fatalf("%v:\n%s", err, output)
		}
	}
	if a, b := run(one, "native_build release"), run(other, "native_build release"); a != b || filepath.Dir(a) != home {
		t.Errorf("the builds of two equal clones are %s and %s", a, b)
	}
	write(t, filepath.Join(other, "scripts/dapl/patches/9999-another.patch"), "another cure\n")
	var builds []string
	for _, clone := range []string{one, other, one} {
		build := run(clone, "native_build release")
		write(t, filepath.Join(build, "lib/goudat/recipe"), filepath.Base(build)+"\n")
		write(t, filepath.Join(build, "lib/goudat/versions"), "a build\n")
		if output := run(clone, "$1/scripts/native"); output != "native: a build, in "+build+" is built" {
			t.Errorf("with a build, it says %q", output)
		}
		if target, err := os.Readlink(filepath.Join(home, "release")); target != filepath.Base(build) {
			t.Errorf("the link of the clone's build leads to %s (%v), want %s", target, err, build)
		}
		builds = append(builds, build)
	}
	if builds[0] == builds[1] || builds[0] != builds[2] {
		t.Errorf("the builds are %q", builds)
	}
	for _, build := range builds {
		if _, err := os.Stat(filepath.Join(build, "lib/goudat/versions")); err != nil {
			t.Error(err)
		}
	}
}

// The command that errors name works from a module cache, whose files are read-only and not executable: it has the patches of
// this clone, and changes nothing there. So does what makes packages.
func TestNativeOfModuleCache(t *testing.T) {
	folder := t.TempDir()
	r := &repository{snapshot(t, folder)}
	r.git(t, "tag", "v0.1.0")
	u := newUser(t, r, filepath.Join(folder, "program"))
	u.environment = append(u.environment, "GOPRIVATE="+modulePath, "GOMODCACHE="+filepath.Join(folder, "modules"))
	u.run(t, "go", "mod", "init", "example.com/program")
	u.run(t, "go", "get", modulePath+"/udat@v0.1.0")
	_, command, told := strings.Cut(u.run(t, "sh", "-c", "! CGO_ENABLED=0 go run ."), "what this builds: ")
	command, _, _ = strings.Cut(command, "\n")
	if !told {
		t.Fatal("without the native library, the program names no command")
	}
	build := strings.TrimSpace(shell(t, "native_build release"))
	home := t.TempDir()
	write(t, filepath.Join(home, filepath.Base(build), "lib/goudat/recipe"), filepath.Base(build)+"\n")
	write(t, filepath.Join(home, filepath.Base(build), "lib/goudat/versions"), "a build\n")
	u.environment = append(u.environment, "GOUDAT_NATIVE_DIR="+home)
	if output := u.run(t, "bash", "-c", command); !strings.HasPrefix(output, "native: a build, in ") {
		t.Errorf("with a build of this clone, it says %q", output)
	}
	clone, err := filepath.Abs("native")
	if err != nil {
		t.Fatal(err)
	}
	var tarballs []string
	for _, native := range []string{command, `bash "` + clone + `"`} {
		series := strings.Replace(native, "native\"", "dapl/series\"", 1)
		tarballs = append(tarballs, u.run(t, "bash", "-c", series+` dist "$1"`, "bash", t.TempDir()))
	}
	if tarballs[0] != tarballs[1] {
		t.Errorf("the tarballs of the module cache and of the clone are %q", tarballs)
	}
	u.run(t, "go", "mod", "verify")
}

// nativePrefix returns the folder of the native stack that "go build" uses.
func nativePrefix(t *testing.T) string {
	t.Helper()
	output, err := exec.Command("pkg-config", "--variable=prefix", "goudat").Output()
	if err != nil {
		t.Fatal(explain(err))
	}
	return filepath.Clean(strings.TrimSpace(string(output)))
}

// "go build" uses the folder whose env was read last, though Go does not see that pkg-config's answer has changed. What can be
// wrong with a folder is an error that docs/troubleshooting.md has.
func TestNativeIsFound(t *testing.T) {
	folder := t.TempDir()
	write(t, filepath.Join(folder, "go.mod"), "module example.com/found\n")
	write(t, filepath.Join(folder, "main.go"), `package main

// #cgo pkg-config: goudat
// #include <dat2/udat.h>
import "C"

func main() {
	var major, minor *C.char
	C.dat_strerror(0, &major, &minor)
}
`)
	prefix, other := nativePrefix(t), filepath.Join(folder, "other")
	build := func(before string) (string, error) {
		cmd := exec.Command("bash", "-euc", before+"; go build -o program; ldd program", "bash", prefix, other)
		cmd.Dir = folder
		cmd.Env = slices.DeleteFunc(os.Environ(), func(variable string) bool {
			return strings.HasPrefix(variable, "CGO_CFLAGS=") || strings.HasPrefix(variable, "PKG_CONFIG_PATH=")
		})
		cmd.Env = append(cmd.Env, "GOWORK=off", "GOFLAGS=", "LD_LIBRARY_PATH=")
		output, err := cmd.CombinedOutput()
		return string(output), err
	}
	if output, err := exec.Command("cp", "-a", prefix, other).CombinedOutput(); err != nil {
		t.Fatalf("%v:\n%s", err, output)
	}
	for _, c := range []struct{ read, want string }{{`. "$1/env"`, prefix}, {`. "$2/env"`, other}, {`. "$1/env"`, prefix}, {`. "$1/env"; . "$2/env"`, other}} {
		output, err := build(c.read)
		if used := regexp.MustCompile(`libdat2\.so\.2 => (\S+)/lib/pkgconfig/`).FindStringSubmatch(output); err != nil || used == nil || used[1] != c.want {
			t.Errorf("after %s, %v, and not the library in %s:\n%s", c.read, err, c.want, output)
		}
	}

	page, err := os.ReadFile("../docs/troubleshooting.md")
	if err != nil {
		t.Fatal(err)
	}
	fails := func(what, message, before string) {
		t.Helper()
		if output, err := build(before); err == nil || !strings.Contains(output, message) {
			t.Errorf("with %s, %v, and not %q:\n%s", what, err, message, output)
		}
		if !strings.Contains(string(page), message) {
			t.Errorf("docs/troubleshooting.md does not have %q", message)
		}
	}
	fails("no stack", "Package goudat was not found in the pkg-config search path", "export PKG_CONFIG_PATH=$1/lib CGO_CFLAGS=-DNOWHERE")
	library := filepath.Join(other, "lib/libdat2.so.2.0.0")
	content, err := os.ReadFile(library)
	if err != nil {
		t.Fatal(err)
	}
	content[18] = 0xb7 // the processor of the ELF header: arm64
	if err := os.WriteFile(library, content, 0o600); err != nil {
		t.Fatal(err)
	}
	fails("a library for arm64", "libdat2.so: error adding symbols: file in wrong format", `. "$2/env"; CGO_CFLAGS+=" -DARM64"`)
}

// A copy of the build in another folder works by itself: programs that pkg-config builds with it load the libraries and the
// drivers of the copy alone.
func TestNativeIsMovable(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "copy")
	if output, err := exec.Command("cp", "-a", nativePrefix(t), folder).CombinedOutput(); err != nil {
		t.Fatalf("%v:\n%s", err, output)
	}
	comesFrom(t, loadedFrom(t, folder), map[string]string{
		"libdat2.so": folder, "libdaplofa.so": folder, "libdaploscm.so": folder, "libibverbs.so": folder, "librdmacm.so": folder, "-rdmav34.so": folder,
	})
}

// dapl alone, over the system's rdma-core: a program finds the device by the system's libraries and drivers.
func TestNativeOverSystem(t *testing.T) {
	if os.Getenv("GOUDAT_TEST_LONG") == "" {
		t.Skip("builds dapl, for minutes: set GOUDAT_TEST_LONG=1")
	}
	folder := filepath.Join(t.TempDir(), "prefix")
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "./native", "--rdma-core", "system", "--prefix", folder)
	cmd.Env = append(os.Environ(), "GOUDAT_NATIVE_DIR="+t.TempDir())
	if output, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(output), "rdma-core of the system (libibverbs 1.") {
		t.Fatalf("%v:\n%s", err, output)
	}
	comesFrom(t, loadedFrom(t, folder), map[string]string{
		"libdat2.so": folder, "libdaplofa.so": folder, "libdaploscm.so": folder, "libibverbs.so": "/usr/lib", "librdmacm.so": "/usr/lib", "-rdmav": "/usr/lib",
	})
}

// loadedFrom builds a C program with the native stack in a folder, as pkg-config says, and returns the files that the
// program has loaded in the test bed.
func loadedFrom(t *testing.T, folder string) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "loads")
	cmd := exec.Command("bash", "-euc", `cat >"$2.c"
export PKG_CONFIG_PATH=$1/lib/pkgconfig
unset LD_LIBRARY_PATH
read -ra flags <<<"$(pkg-config --cflags --libs goudat)"
gcc -o "$2" "$2.c" "${flags[@]}" -libverbs
./with-device "$2"`, "bash", folder, program)
	cmd.Stdin = strings.NewReader(`#include <dat2/udat.h>
#include <dlfcn.h>
#include <infiniband/verbs.h>
#include <stdio.h>
int main(void) {
	char line[4096];
	DAT_COUNT n = 0;
	int devices = 0;
	dat_registry_list_providers(0, &n, NULL);
	ibv_get_device_list(&devices);
	if (!dlopen("libdaplofa.so.2", RTLD_NOW) || !dlopen("libdaploscm.so.2", RTLD_NOW)) puts(dlerror());
	FILE *maps = fopen("/proc/self/maps", "r");
	while (fgets(line, sizeof line, maps)) fputs(line, stdout);
	return devices == 0;
}
`)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v:\n%s", err, out)
	}
	return string(out)
}

// comesFrom checks that libraries were loaded, and from where.
func comesFrom(t *testing.T, loaded string, want map[string]string) {
	t.Helper()
	for name, folder := range want {
		lines := regexp.MustCompile("(?m)^.*/[^/]*"+regexp.QuoteMeta(name)+".*$").FindAllString(loaded, -1)
		if len(lines) == 0 {
			t.Errorf("%s is not loaded", name)
		}
		for _, line := range lines {
			if !strings.Contains(line, " "+folder+"/") {
				t.Errorf("not loaded from %s: %s", folder, line)
			}
		}
	}
	if t.Failed() {
		t.Logf("the output:\n%s", loaded)
	}
}

// onPath returns an environment in which scripts replace programs. A program with an empty script is missing.
func onPath(t *testing.T, programs map[string]string) []string {
	t.Helper()
	folder := t.TempDir()
	for _, path := range filepath.SplitList(os.Getenv("PATH")) {
		entries, _ := os.ReadDir(path)
		for _, entry := range entries {
			if _, replaced := programs[entry.Name()]; !replaced {
				// The first entry of a name counts.
				_ = os.Symlink(filepath.Join(path, entry.Name()), filepath.Join(folder, entry.Name()))
			}
		}
	}
	for name, script := range programs {
		if script == "" {
			continue
		}
		if err := os.WriteFile(filepath.Join(folder, name), []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return []string{"PATH=" + folder}
}
