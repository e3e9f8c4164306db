package main

import (
	"bufio"
	"crypto/sha256"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"
)

// umlFiles are the configuration of User-Mode Linux and its patches. They have the kernel's license: uml/COPYING.
//
//go:embed uml/kernel.config uml/*.patch
var umlFiles embed.FS

const (
	// umlSuite has the source. Older kernels have neither fast system calls (seccomp) nor more than one processor under
	// User-Mode Linux.
	umlSuite = "trixie-backports"
	// umlSource is the kernel that the patches were made for. If the suite no longer has it, its newest kernel is used.
	umlSource = "linux-source-7.3"

	umlConfig = "uml/kernel.config"
)

// umlKernel returns the kernel. It builds one if the cache has none.
func (c *cache) umlKernel(mirror string, log *progress) (kernel, error) {
	configuration, patches, err := umlContent()
	if err != nil {
		return kernel{}, err
	}
	key := sha256.New()
	fmt.Fprintln(key, "layout 1", umlSuite, umlSource, configuration, patches)
	name := fmt.Sprintf("kernel-uml-%x", key.Sum(nil)[:6])
	dir, err := c.slowEntry(name, log, func(dir string) error {
		build := umlBuild{dir: filepath.Join(dir, "build"), mirror: mirror, log: log}
		image := filepath.Join(dir, imageFile)
		if err := build.run(configuration, patches, image); err != nil {
			return fmt.Errorf("the kernel of User-Mode Linux cannot be built: %w; the folder %s can be copied from the cache of another machine",
				err, name)
		}
		release, err := output("", image, "--version")
		if err != nil {
			return fmt.Errorf("%s does not run as User-Mode Linux: %w", image, err)
		}
		if err := os.WriteFile(filepath.Join(dir, releaseFile), []byte(strings.TrimSpace(release)), 0o644); err != nil {
			return err
		}
		return os.RemoveAll(build.dir)
	})
	if err != nil {
		return kernel{}, err
	}
	release, err := os.ReadFile(filepath.Join(dir, releaseFile))
	return kernel{dir: dir, image: filepath.Join(dir, imageFile), release: string(release)}, err
}

// umlContent returns all that a kernel depends on besides its source.
func umlContent() (configuration string, patches []umlPatch, err error) {
	text, err := umlFiles.ReadFile(umlConfig)
	if err != nil {
		return "", nil, err
	}
	configuration = string(text)
	files, err := fs.Glob(umlFiles, "uml/*.patch")
	if err != nil {
		return "", nil, err
	}
	for _, name := range files {
		text, err := umlFiles.ReadFile(name)
		if err != nil {
			return "", nil, err
		}
		patches = append(patches, umlPatch{path.Base(name), string(text)})
	}
	return configuration, patches, nil
}

type umlPatch struct{ name, text string }

// umlBuild builds a User-Mode Linux kernel from Debian's source. A build that was interrupted goes on where it stopped.
type umlBuild struct {
	dir    string // umlBuild makes it; the caller removes it
	mirror string // of Debian's archive; "" for the mirror of the system's apt
	log    *progress
}

func (b umlBuild) run(configuration string, patches []umlPatch, image string) error {
	if err := needBuildTools(b.log); err != nil {
		return err
	}
	if err := os.MkdirAll(b.dir, 0o755); err != nil {
		return err
	}
	file, err := b.sourcePackage()
	if err != nil {
		return err
	}
	configured := filepath.Join(b.dir, "configured")
	if _, err := os.Stat(configured); err != nil {
		if err := b.prepare(file, configuration, patches); err != nil {
			return err
		}
		if err := os.WriteFile(configured, nil, 0o644); err != nil {
			return err
		}
	}
	if err := b.compile(); err != nil {
		return err
	}
	_, err = output("", "strip", "-o", image, filepath.Join(b.source(), "linux"))
	return err
}

// sourcePackage returns the file of the package with the source. It downloads the file if there is none.
func (b umlBuild) sourcePackage() (file string, err error) {
	if files, _ := filepath.Glob(filepath.Join(b.dir, "*.deb")); len(files) > 0 {
		return files[0], nil
	}
	lists := filepath.Join(b.dir, "archive")
	if err := os.RemoveAll(lists); err != nil {
		return "", err
	}
	archive, err := openArchive(lists, umlSuite, amd64, b.mirror, b.log)
	if err != nil {
		return "", err
	}
	name, err := umlSourcePackage(archive)
	if err != nil {
		return "", err
	}
	files, err := archive.download(b.log, name)
	if err != nil {
		return "", err
	}
	file = filepath.Join(b.dir, filepath.Base(files[0]))
	return file, os.Rename(files[0], file)
}

// prepare unpacks, patches and configures the source.
func (b umlBuild) prepare(file, configuration string, patches []umlPatch) error {
	if err := os.RemoveAll(b.source()); err != nil {
		return err
	}
	name, _, _ := strings.Cut(filepath.Base(file), "_")
	b.log.setUp("unpacking %s", name)
	if err := b.unpack(file); err != nil {
		return fmt.Errorf("unpack %s: %w", filepath.Base(file), err)
	}
	for _, p := range patches {
		if err := b.patch(p); err != nil {
			if name == umlSource {
				return err
			}
			b.log.setUp("%s is built without %s, which does not apply to it", name, p.name)
		}
	}
	return b.configure(configuration)
}

func (b umlBuild) source() string { return filepath.Join(b.dir, "source") }

// umlSourcePackage returns umlSource if the suite has it, and otherwise the suite's newest kernel source.
func umlSourcePackage(a *archive) (string, error) {
	text, err := a.apt("apt-cache", "pkgnames", "linux-source-")
	if err != nil {
		return "", err
	}
	name := newestSource(strings.Fields(text))
	if name == "" {
		return "", fmt.Errorf("%s has no package %s", umlSuite, umlSource)
	}
	return name, nil
}

// newestSource returns umlSource if it is among the names, otherwise the highest version, or "" without any.
func newestSource(names []string) (newest string) {
	if slices.Contains(names, umlSource) {
		return umlSource
	}
	var highest [2]int
	for _, name := range names {
		var v [2]int
		if n, err := fmt.Sscanf(name, "linux-source-%d.%d", &v[0], &v[1]); err == nil && n == 2 && slices.Compare(v[:], highest[:]) > 0 {
			highest, newest = v, name
		}
	}
	return newest
}

// buildTools maps the files that a build needs to their packages.
var buildTools = []struct{ file, pack string }{
	{"gcc", "gcc"}, {"make", "make"}, {"flex", "flex"}, {"bison", "bison"}, {"bc", "bc"}, {"patch", "patch"},
	{"xz", "xz-utils"}, {"strip", "binutils"}, {"/usr/include/stdio.h", "libc6-dev"}, {"/usr/include/linux/types.h", "linux-libc-dev"},
}

func needBuildTools(log *progress) error {
	var missing []string
	for _, tool := range buildTools {
		var err error
		if filepath.IsAbs(tool.file) {
			_, err = os.Stat(tool.file)
		} else {
			_, err = exec.LookPath(tool.file)
		}
		if err != nil {
			missing = append(missing, tool.pack)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return installPackages(log, missing...)
}

// unneededSource matches source that User-Mode Linux does not need: two thirds of it. The files that describe the
// configuration must stay.
var unneededSource = []string{"arch/[!ux]*", "drivers/gpu/*", "drivers/media/*", "drivers/net/ethernet/*",
	"drivers/net/wireless/*", "drivers/scsi/*", "drivers/staging/*", "drivers/usb/*", "sound/*", "tools/testing/*"}

// unpack extracts the kernel's source from a package, which has it in a compressed archive.
func (b umlBuild) unpack(file string) error {
	if err := os.Mkdir(b.source(), 0o755); err != nil {
		return err
	}
	whole := filepath.Join(b.dir, "package")
	if _, err := output("", "dpkg-deb", "--extract", file, whole); err != nil {
		return err
	}
	archives, _ := filepath.Glob(filepath.Join(whole, "usr/src/linux-source-*.tar.xz"))
	if len(archives) == 0 {
		return errors.New("it has no kernel source")
	}
	args := []string{"--extract", "--file=" + archives[0], "--strip-components=1", "--no-same-owner", "--directory=" + b.source()}
	for _, folder := range unneededSource {
		args = append(args, "--exclude=linux-source-*/"+folder+".[chS]", "--exclude=linux-source-*/"+folder+".dts*")
	}
	_, err := output("", "tar", args...)
	return err
}

// patch applies a patch, or leaves the source as it was.
func (b umlBuild) patch(p umlPatch) error {
	for _, dry := range []string{"--dry-run", "--no-backup-if-mismatch"} {
		if _, err := filter([]byte(p.text), "patch", "--batch", "--forward", "--fuzz=0", "--strip=1", dry, "--directory="+b.source()); err != nil {
			return fmt.Errorf("%s does not apply: %w", p.name, err)
		}
	}
	return nil
}

// make prepares a run of make that ignores the caller's settings for other builds.
func (b umlBuild) make(args ...string) *exec.Cmd {
	cmd := command("", "make", append([]string{"--directory=" + b.source(), "ARCH=um"}, args...)...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + b.dir, "LC_ALL=C", "KBUILD_BUILD_USER=goudat", "KBUILD_BUILD_HOST=testbed"}
	return cmd
}

// configure also checks that the kernel has all settings: make silently drops a setting whose conditions are not met.
func (b umlBuild) configure(configuration string) error {
	wanted := filepath.Join(b.dir, "wanted.config")
	if err := os.WriteFile(wanted, []byte(configuration), 0o644); err != nil {
		return err
	}
	cmd := b.make("allnoconfig")
	cmd.Env = append(cmd.Env, "KCONFIG_ALLCONFIG="+wanted)
	if _, err := collect(cmd, "make allnoconfig"); err != nil {
		return err
	}
	got, err := os.ReadFile(filepath.Join(b.source(), ".config"))
	if err != nil {
		return err
	}
	if missing := unmetSettings(configuration, string(got)); len(missing) > 0 {
		return fmt.Errorf("its configuration cannot have %s", strings.Join(missing, ", "))
	}
	return nil
}

// unmetSettings lists the settings of a configuration that another one lacks.
func unmetSettings(wanted, got string) (missing []string) {
	has := map[string]bool{}
	for line := range strings.Lines(got) {
		has[strings.TrimSpace(line)] = true
	}
	for line := range strings.Lines(wanted) {
		line = strings.TrimSpace(line)
		name, isOff := strings.CutSuffix(line, "=n")
		switch {
		case line == "" || strings.HasPrefix(line, "#") || has[line]:
		case isOff && !slices.ContainsFunc([]string{"=y", "=m"}, func(value string) bool { return has[name+value] }):
		default:
			missing = append(missing, line)
		}
	}
	return missing
}

// umlSteps is about the number of lines that make prints.
const umlSteps = 1350

// compile prints its progress now and then.
func (b umlBuild) compile() error {
	cmd := b.make(fmt.Sprintf("--jobs=%d", runtime.NumCPU()), "linux")
	complaints := &tail{}
	cmd.Stderr = complaints
	// The compilers are in one group, so that none outlives an aborted build.
	cmd.SysProcAttr.Setpgid = true
	lines, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	start := time.Now()
	b.log.setUp("building the kernel, once: minutes on few processors")
	if err := cmd.Start(); err != nil {
		return toolError("make", err, "")
	}
	const interval = 20 * time.Second
	steps, next := 0, start.Add(interval)
	for scanner := bufio.NewScanner(lines); scanner.Scan(); {
		steps++
		if now := time.Now(); now.After(next) {
			b.log.setUp("building the kernel: %d %% after %s", min(99, steps*100/umlSteps), now.Sub(start).Round(time.Second))
			next = now.Add(interval)
		}
	}
	if err := cmd.Wait(); err != nil {
		syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		return fmt.Errorf("make: %w:\n%s", err, complaints)
	}
	b.log.step("make has printed %d lines", steps)
	b.log.setUp("the kernel is built, in %s", time.Since(start).Round(time.Second))
	return nil
}
