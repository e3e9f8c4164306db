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

// readme returns the README's code blocks in a language, unchanged.
func readme(t *testing.T, language string) (blocks []string) {
	t.Helper()
	text, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	block := regexp.MustCompile("(?ms)^```" + language + "\n(.*?)^```$")
	for _, m := range block.FindAllStringSubmatch(string(text), -1) {
		blocks = append(blocks, m[1])
	}
	if len(blocks) == 0 {
		t.Fatalf("the README has no block of %s", language)
	}
	return blocks
}

// The program in the README is examples/hello, and short. Its own test runs it.
func TestReadmeProgram(t *testing.T) {
	program := readFile(t, "examples/hello/main.go")
	if got := readme(t, "go"); len(got) != 1 || got[0] != program {
		t.Error("the program in the README is not examples/hello/main.go")
	}
	code := regexp.MustCompile(`(?m)^\s*[^\s/]`).FindAllString(program, -1)
	if len(code) < 20 || len(code) > 40 {
		t.Errorf("examples/hello/main.go has %d lines of code, 40 are enough", len(code))
	}
}

// The README's numbers of functions are those that scripts/trials/apistatus counts.
func TestReadmeCounts(t *testing.T) {
	status, err := os.ReadFile("../docs/reference/api-status.md")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	counted := regexp.MustCompile(`(\d+) have a raw wrapper, (\d+) a method, which stands in for (\d+) of`).FindStringSubmatch(string(status))
	said := regexp.MustCompile(`wraps (\d+) functions .*?has methods for (\d+).*?\s(\d+) stand in`).FindStringSubmatch(
		strings.ReplaceAll(string(text), "\n", " "))
	if counted == nil || said == nil || !slices.Equal(counted[1:], said[1:]) {
		t.Errorf("docs/reference/api-status.md has the numbers %q, the README %q", counted, said)
	}
}

// TestReadmeCommands runs the README's commands in an empty folder, like a user who has Go and git. Commands that clone
// the repository get this checkout. The test takes minutes.
func TestReadmeCommands(t *testing.T) {
	needTime(t)
	switch {
	case os.Getenv("UDAT_TESTBED") != "":
		t.Skip("there are no virtual machines in the test bed")
	case os.Getuid() != 0:
		t.Skip("only root can install packages")
	}
	folder := t.TempDir()
	write(t, filepath.Join(folder, "main.go"), readme(t, "go")[0])
	var script strings.Builder
	script.WriteString("set -e\ncd \"$README_FOLDER\"\nmkdir work\ncd work\n")
	for _, block := range readme(t, "sh") {
		if strings.HasPrefix(block, "go run ") {
			script.WriteString("cp \"$README_FOLDER/main.go\" .\n")
		}
		script.WriteString("set -x\n" + block + "{ set +x; } 2>/dev/null\n")
	}
	command := exec.Command("bash", "-c", script.String())
	command.Env = append(withoutSettings(), "README_FOLDER="+folder)
	// git takes this checkout for the address.
	command.Env = append(command.Env, "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=url."+snapshot(t, folder)+".insteadOf",
		"GIT_CONFIG_VALUE_0=https://"+modulePath)
	// apt-get asks before it installs.
	command.Stdin = strings.NewReader(strings.Repeat("y\n", 100))
	output, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	t.Logf("the output:\n%s", output)
	for _, want := range []string{
		"every byte was right", // the demo
		`received "hello"`,
		"10.77.0.2 is one of 10.77.0.1,10.77.0.2",
		"[flags] PROGRAM [ARGUMENTS...]",
	} {
		if !strings.Contains(string(output), want) {
			t.Errorf("the output does not have %q", want)
		}
	}
}

// withoutSettings returns the environment without the settings of a developer of goudat.
func withoutSettings() []string {
	return slices.DeleteFunc(os.Environ(), func(variable string) bool {
		name, _, _ := strings.Cut(variable, "=")
		return strings.HasPrefix(name, "CGO_") || strings.HasPrefix(name, "UDAT_") || strings.HasPrefix(name, "GOUDAT_NATIVE") ||
			slices.Contains([]string{"PKG_CONFIG_PATH", "LD_LIBRARY_PATH", "XDG_DATA_HOME", "GOFLAGS", "GOWORK", "GOPROXY", "DAT_OVERRIDE"}, name)
	})
}

// snapshot makes a repository of the checkout's files as they are, and returns its folder.
func snapshot(t *testing.T, folder string) string {
	t.Helper()
	repository := filepath.Join(folder, "repository")
	command := exec.Command("bash", "-e", "-c", `mkdir "$1"
tar -c -C .. --exclude=./.git --exclude=./native --exclude=./bin . | tar -x -C "$1"
cd "$1"
git init --quiet --initial-branch=main
git add --all
git -c user.name=goudat -c user.email=goudat@example.com commit --quiet --message snapshot`, "bash", repository)
	if output, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	return repository
}
