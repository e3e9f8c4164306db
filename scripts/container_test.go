//go:build linux && amd64

package scripts

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// containerInstructions reads the Containerfile: lines of an instruction and the rest.
func containerInstructions(t *testing.T) (instructions [][2]string) {
	t.Helper()
	text, err := os.ReadFile("../Containerfile")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		instruction, rest, _ := strings.Cut(line, " ")
		instructions = append(instructions, [2]string{instruction, rest})
	}
	return instructions
}

// The files that the container's files name exist, and agree with each other.
func TestContainerFiles(t *testing.T) {
	needTime(t)
	var users, folders, paths []string
	for _, i := range containerInstructions(t) {
		switch i[0] {
		case "FROM":
			// A host would name a registry. The user chooses the registry.
			if strings.ContainsAny(i[1], "./") {
				t.Errorf("%s names more than an image and its version", i[1])
			}
		case "RUN":
			for _, script := range regexp.MustCompile(`scripts/\S+`).FindAllString(i[1], -1) {
				if info, err := os.Stat(filepath.Join("..", script)); err != nil || info.Mode()&0o111 == 0 {
					t.Errorf("%s does not run (%v)", script, err)
				}
			}
			if match := regexp.MustCompile(`useradd --create-home (\w+)`).FindStringSubmatch(i[1]); match != nil {
				users = append(users, match[1])
			}
		case "USER":
			users = append(users, i[1])
		case "ENV":
			folders = append(folders, regexp.MustCompile(`GOUDAT_NATIVE_DIR=(\S+)`).FindAllString(i[1], -1)...)
			paths = append(paths, regexp.MustCompile(`PKG_CONFIG_PATH=(\S+)`).FindAllString(i[1], -1)...)
		}
	}
	if len(folders) != 1 || len(paths) != 1 ||
		paths[0] != "PKG_CONFIG_PATH="+strings.TrimPrefix(folders[0], "GOUDAT_NATIVE_DIR=")+"/release/lib/pkgconfig" {
		t.Errorf("the native stack is built into %q and found by %q", folders, paths)
	}

	text, err := os.ReadFile("../.devcontainer/devcontainer.json")
	if err != nil {
		t.Fatal(err)
	}
	var container struct {
		Build             struct{ Dockerfile, Context string }
		RemoteUser        string
		PostCreateCommand string
	}
	if err := json.Unmarshal(text, &container); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{
		filepath.Join("../.devcontainer", container.Build.Dockerfile),
		filepath.Join("../.devcontainer", container.Build.Context, "go.mod"),
		filepath.Join("..", container.PostCreateCommand),
	} {
		if _, err := os.Stat(file); err != nil {
			t.Error(err)
		}
	}
	if users = append(users, container.RemoteUser); len(users) != 3 || len(slices.Compact(users)) != 1 {
		t.Errorf("the users are %q", users)
	}
}

// Building the container takes many minutes, and runs its own checks. Then an ordinary user's program runs in it.
func TestContainer(t *testing.T) {
	needTime(t)
	builder := containerBuilder(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	for _, args := range [][]string{
		{"build", "--tag", "goudat-test", "--file", "Containerfile", "."},
		{"run", "--rm", "goudat-test", "scripts/testbed", "ls", "/sys/class/infiniband"},
	} {
		cmd := exec.CommandContext(ctx, builder, args...)
		cmd.Dir = ".."
		output, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s %s: %v\n%s", builder, args[0], err, output)
		}
		if args[0] == "run" && !strings.Contains(string(output), "rxe0") {
			t.Errorf("the device is not there:\n%s", output)
		}
	}
}

// containerBuilder returns a program that builds containers. It skips the test if there is none, or if it lacks the
// base image.
func containerBuilder(t *testing.T) string {
	t.Helper()
	image := containerInstructions(t)[0][1]
	for _, builder := range []string{"podman", "docker"} {
		if exec.Command(builder, "image", "inspect", image).Run() == nil || exec.Command(builder, "pull", "--quiet", image).Run() == nil {
			return builder
		}
	}
	t.Skipf("there is neither podman nor docker that has the image %s, or can fetch it", image)
	return ""
}
