//go:build linux

// Package between builds what tests have in C. Its own library comes between the native uDAPL libraries and what they call.
// It has a call fail (failing.c: see package failures), or gives the device the limits of another one (shape.c: see package
// shapes).
package between

import (
	"bytes"
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

//go:embed testdata
var sources embed.FS

// Library builds the library, until the test ends.
func Library(t testing.TB) string {
	t.Helper()
	folder := t.TempDir()
	if err := os.CopyFS(folder, sources); err != nil {
		t.Fatal(err)
	}
	return compile(t, asPreload, "-O1", filepath.Join(folder, "testdata/failing.c"), filepath.Join(folder, "testdata/shape.c"))
}

// Preload builds a library to be preloaded from C source, and Program a program.
func Preload(t testing.TB, source string, flags ...string) string {
	t.Helper()
	return compile(t, asPreload, append([]string{write(t, source)}, flags...)...)
}

// Program is like Preload.
func Program(t testing.TB, source string, flags ...string) string {
	t.Helper()
	return compile(t, `"$@" $(pkg-config --cflags --libs goudat)`, append([]string{write(t, source)}, flags...)...)
}

// What stands between is not what the thread sanitizer is to watch.
const asPreload = `$(pkg-config --cflags goudat) -fno-sanitize=thread -shared -fPIC "$@" -ldl`

func write(t testing.TB, source string) (file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "source.c")
	if err := os.WriteFile(file, []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func compile(t testing.TB, how string, args ...string) (file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "built")
	args = append([]string{"-c", "exec gcc $CGO_CFLAGS -Wall -Wextra -Werror " + how, "sh", "-o", file}, args...)
	if out, err := exec.Command("sh", args...).CombinedOutput(); err != nil {
		t.Fatalf("gcc: %v\n%s", err, out)
	}
	return file
}

// patience is far longer than a child takes that does not hang.
const patience = 90 * time.Second

// Command runs this test program again, with a library and the environment. When the context ends, it says where it hangs.
func Command(ctx context.Context, library string, environment ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "/proc/self/exe")
	cmd.Env = append(append(os.Environ(), "LD_PRELOAD="+library, "GOTRACEBACK=all"), environment...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGQUIT) }
	cmd.WaitDelay = 10 * time.Second
	return cmd
}

// Child does what a variable asks for in such a program, and ends it. Otherwise it returns.
func Child(variable string, do func(what string) error) {
	what := os.Getenv(variable)
	if what == "" {
		return
	}
	if err := do(what); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	os.Exit(0)
}

// Run runs such a program, and decodes the JSON that it prints. The error of one that crashes or hangs has its stacks.
func Run(library string, result any, environment ...string) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := Command(ctx, library, environment...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if err == nil {
		err = json.Unmarshal(stdout.Bytes(), result)
	}
	if ctx.Err() != nil {
		err = errors.New("it hangs")
	}
	if err != nil {
		return fmt.Errorf("the process: %w\n%s%s", err, stdout.String(), withoutAddresses(stderr.String()))
	}
	return nil
}

// withoutAddresses returns what a process says that crashes: the reason, and the calls of the goroutines that are not
// the runtime's own.
func withoutAddresses(out string) string {
	var b strings.Builder
	for part := range strings.SplitSeq(out, "\n\n") {
		if strings.HasPrefix(part, "goroutine") && !strings.Contains(part, "/udat") {
			continue
		}
		for line := range strings.SplitSeq(part, "\n") {
			if !strings.HasPrefix(line, "\t") && !strings.HasPrefix(line, "runtime.") {
				line, _, _ = strings.Cut(line, " gp=")
				b.WriteString("\t\t" + line + "\n")
			}
		}
	}
	return b.String()
}
