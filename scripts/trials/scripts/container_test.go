//go:build linux && amd64

package scripts

import (
	"context"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"
)

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
	text, err := os.ReadFile("../Containerfile")
	if err != nil {
		t.Fatal(err)
	}
	image := regexp.MustCompile(`(?m)^FROM (\S+)$`).FindStringSubmatch(string(text))[1]
	for _, builder := range []string{"podman", "docker"} {
		if exec.Command(builder, "image", "inspect", image).Run() == nil || exec.Command(builder, "pull", "--quiet", image).Run() == nil {
			return builder
		}
	}
	t.Skipf("there is neither podman nor docker that has the image %s, or can fetch it", image)
	return ""
}
