//go:build linux && amd64

package scripts

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const (
	modulePath    = "github.com/goudat/goudat"
	moduleVersion = "v0.1.0"
	shortProgram  = `package main

import ("fmt"; "github.com/goudat/goudat/udat")

func main() { fmt.Println(udat.Providers()) }
`
)

// TestAnotherModule fetches this module into a module cache, as users do, and builds a program that uses it.
func TestAnotherModule(t *testing.T) {
	needTime(t)
	u := newUser(t)
	u.run(t, "go", "mod", "init", "example.com/program")
	u.run(t, "go", "get", modulePath+"/udat@"+moduleVersion)
	inTestbed := false
	t.Run("installed", func(t *testing.T) {
		if err := exec.Command("env", "-u", "PKG_CONFIG_PATH", "pkg-config", "--exists", "goudat").Run(); err != nil {
			t.Skip("no native stack is installed where pkg-config finds it by itself")
		}
		u.run(t, "go", "build")
		u.listsProviders(t)
		u.runsInTestbed(t, "")
		inTestbed = true
	})
	t.Run("vendored", func(t *testing.T) {
		// The C headers must be copied, too. No compiler runs.
		u.run(t, "go", "mod", "vendor")
		defer os.RemoveAll(filepath.Join(u.folder, "vendor"))
		headers, err := filepath.Glob("../include/goudat/*.h")
		if err != nil || len(headers) == 0 {
			t.Fatalf("no headers: %v", err)
		}
		for _, header := range headers {
			if _, err := os.Stat(filepath.Join(u.folder, "vendor", modulePath, "include/goudat", filepath.Base(header))); err != nil {
				t.Error(err)
			}
		}
	})
	t.Run("source", func(t *testing.T) {
		release := nativePrefix(t)
		u.run(t, "bash", "-c", `. "$1/env" && go build`, "bash", release)
		u.listsProviders(t)
		used := u.run(t, "ldd", "./program")
		_, path, _ := strings.Cut(used, "libdat2.so.2 => ")
		path, _, _ = strings.Cut(path, " ")
		if got, err := filepath.EvalSymlinks(path); err != nil || filepath.Dir(filepath.Dir(got)) != release {
			t.Errorf("the program does not use the libdat2 of %s:\n%s", release, used)
		}
		if !inTestbed { // once is enough
			u.runsInTestbed(t, ". '"+release+"/env'")
		}
	})
}

// user is someone who has a module of their own and has set nothing.
type user struct {
	folder      string
	environment []string
}

func newUser(t *testing.T) *user {
	t.Helper()
	folder := t.TempDir()
	proxy := filepath.Join(folder, "proxy")
	publishModule(t, proxy, modulePath, "..", moduleVersion)
	publishModule(t, proxy, testBedModule, "vm", moduleVersion)
	values, err := exec.Command("go", "env", "GOMODCACHE", "GOPROXY").Output()
	if err != nil {
		t.Fatal(explain(err))
	}
	cache, other, _ := strings.Cut(strings.TrimSpace(string(values)), "\n")

	u := &user{folder: filepath.Join(folder, "program")}
	u.environment = slices.DeleteFunc(os.Environ(), func(variable string) bool {
		name, _, _ := strings.Cut(variable, "=")
		return strings.HasPrefix(name, "CGO_") || name == "PKG_CONFIG_PATH" || name == "LD_LIBRARY_PATH" || name == "GOFLAGS"
	})
	config := filepath.Join(folder, "dat.conf")
	u.environment = append(u.environment, "DAT_OVERRIDE="+config, "GOMODCACHE="+filepath.Join(folder, "modules"), "GOWORK=off",
		"GOSUMDB=off", "GOPROXY=file://"+proxy+",file://"+filepath.Join(cache, "cache/download")+","+other)
	write(t, config, `somewhere u2.0 nonthreadsafe default libdaplofa.so.2 dapl.2.0 "eth0 0" ""`+"\n")
	write(t, filepath.Join(u.folder, "main.go"), shortProgram)
	// The files of a module cache are read-only. Only root and their owner can remove them.
	t.Cleanup(func() { u.run(t, "go", "clean", "-modcache") })
	return u
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

// listsProviders runs the program that was built.
func (u *user) listsProviders(t *testing.T) {
	t.Helper()
	if output := u.run(t, "./program"); !strings.Contains(output, "[{somewhere 2 0 false}] <nil>") {
		t.Errorf("the program prints %q", output)
	}
}
