package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// mirrorVariable names a mirror of Debian's archive, for systems whose apt has no such mirror.
const mirrorVariable = "GOUDAT_DEBIAN_MIRROR"

// archiveKeys is the file in which Debian and Ubuntu have the keys that sign Debian's archive.
const archiveKeys = "/usr/share/keyrings/debian-archive-keyring.gpg"

// archiveSettings are the settings in which an archive's apt differs from the system's. The system's proxies and
// passwords apply to it, too.
const archiveSettings = `APT::Architecture "%s";
APT::Sandbox::User "";
APT::Update::Error-Mode "any";
APT::Get::AllowUnauthenticated "false";
Acquire::AllowInsecureRepositories "false";
Acquire::AllowWeakRepositories "false";
Acquire::AllowDowngradeToInsecureRepositories "false";
Acquire::Languages "none";
#clear APT::Architectures;
#clear APT::Update::Pre-Invoke;
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
#clear Acquire::IndexTargets::deb::DEP-11;
`

// archive is a suite of Debian's package archive, read by an apt with lists and a cache in a folder of its own. The
// system's apt only says where the archive is.
type archive struct {
	suite  string
	arch   *architecture
	mirror string
	dir    string
}

// openArchive fetches the package lists of a suite for an architecture. The archive is in dir, which must not exist;
// the caller removes it. Without a mirror it takes the mirror of the system's apt.
func openArchive(dir, suite string, arch *architecture, mirror string, log *progress) (*archive, error) {
	if _, err := exec.LookPath("apt-get"); err != nil {
		return nil, errors.New("there is no apt-get, which fetches packages of Debian")
	}
	if _, err := os.Stat(archiveKeys); err != nil {
		return nil, fmt.Errorf("the keys of Debian's archive are missing: install the package debian-archive-keyring (%w)", err)
	}
	mirrors := []string{mirror}
	if mirror == "" {
		mirrors = configuredMirrors()
	}
	if len(mirrors) == 0 {
		return nil, errors.New("apt is configured with no mirror of Debian's archive: set " + mirrorVariable +
			" to the address of one, as sources.list of a Debian system has it")
	}
	// Take the first one whose lists have Debian's signature.
	var reasons []string
	for i, mirror := range mirrors {
		a := &archive{suite: suite, arch: arch, mirror: mirror, dir: filepath.Join(dir, strconv.Itoa(i))}
		log.setUp("fetching the package lists of %s from %s", suite, mirror)
		err := a.update()
		if err == nil {
			return a, nil
		}
		reasons = append(reasons, fmt.Sprintf("%s has no package lists of %s: %v", mirror, suite, err))
	}
	return nil, fmt.Errorf("%s (%s names another mirror of Debian's archive)", strings.Join(reasons, "; "), mirrorVariable)
}

// configuredMirrors lists possible mirrors of Debian's archive in the configuration of the system's apt: first those
// whose lists say that they are mirrors of Debian, then those without lists.
func configuredMirrors() []string {
	const format = "$(ORIGIN)|$(RELEASE)|$(REPO_URI)"
	listed, err := output("", "apt-get", "indextargets", "--format", format)
	if err != nil {
		return nil
	}
	all, err := output("", "apt-get", "indextargets", "--no-release-info", "--format", format)
	if err != nil {
		return nil
	}
	return parseMirrors(listed, all)
}

// parseMirrors extracts the mirrors from lines "origin|suite|mirror".
func parseMirrors(listed, all string) (mirrors []string) {
	seen := map[string]bool{}
	take := func(lines string, wanted func(origin string) bool) {
		for line := range strings.Lines(lines) {
			fields := strings.SplitN(strings.TrimSpace(line), "|", 3)
			// Security updates have a separate mirror with nothing else.
			if len(fields) != 3 || strings.Contains(fields[1], "security") || seen[fields[2]] {
				continue
			}
			seen[fields[2]] = true
			if wanted(fields[0]) {
				mirrors = append(mirrors, fields[2])
			}
		}
	}
	take(listed, func(origin string) bool { return origin == "Debian" })
	take(all, func(string) bool { return true })
	return mirrors
}

// update fetches the package lists.
func (a *archive) update() error {
	if strings.ContainsAny(a.mirror, " \t\n") {
		return errors.New("the address has white space")
	}
	for _, folder := range []string{"state/lists/partial", "cache/archives/partial"} {
		if err := os.MkdirAll(filepath.Join(a.dir, folder), 0o755); err != nil {
			return err
		}
	}
	for name, content := range map[string]string{
		"settings":     fmt.Sprintf(archiveSettings, a.arch.name),
		"state/status": "",
		"list.sources": fmt.Sprintf("Types: deb\nURIs: %s\nSuites: %s\nComponents: main\nSigned-By: %s\n", a.mirror, a.suite, archiveKeys),
	} {
		if err := os.WriteFile(filepath.Join(a.dir, name), []byte(content), 0o644); err != nil {
			return err
		}
	}
	_, err := a.apt("apt-get", "update", "-q")
	return err
}

// depends lists the dependencies of a package, without alternatives.
func (a *archive) depends(name string) ([]string, error) {
	text, err := a.apt("apt-cache", "depends", name)
	if err != nil {
		return nil, fmt.Errorf("%s has no package %s: %w", a.suite, name, err)
	}
	var names []string
	for line := range strings.Lines(text) {
		if f := strings.Fields(line); len(f) == 2 && f[0] == "Depends:" && !strings.HasPrefix(f[1], "<") {
			names = append(names, f[1])
		}
	}
	return names, nil
}

// download fetches packages into the archive's folder and returns their files.
func (a *archive) download(log *progress, names ...string) (files []string, err error) {
	log.setUp("fetching %s", strings.Join(names, ", "))
	folder := filepath.Join(a.dir, "packages")
	if err := os.Mkdir(folder, 0o755); err != nil {
		return nil, err
	}
	if _, err := a.aptIn(folder, "apt-get", append([]string{"download", "-q"}, names...)...); err != nil {
		return nil, fmt.Errorf("fetch %s: %w", strings.Join(names, ", "), err)
	}
	files, err = filepath.Glob(filepath.Join(folder, "*.deb"))
	if err == nil && len(files) != len(names) {
		err = fmt.Errorf("apt-get download %s left %d packages, not %d", strings.Join(names, " "), len(files), len(names))
	}
	return files, err
}

// downloadAll fetches packages and all their dependencies into the archive's folder, and returns their files.
func (a *archive) downloadAll(log *progress, names ...string) (files []string, err error) {
	log.setUp("fetching the packages of %s for %s: %s", a.suite, a.arch.name, strings.Join(names, ", "))
	// Nothing is installed: this apt sees no installed packages, and leaves the downloads in its cache.
	_, err = a.apt("apt-get", append([]string{"install", "-q", "-y", "--no-install-recommends", "--download-only"}, names...)...)
	if err != nil {
		return nil, fmt.Errorf("fetch %s: %w", strings.Join(names, ", "), err)
	}
	return filepath.Glob(filepath.Join(a.dir, "cache/archives/*.deb"))
}

// apt runs a tool of apt and returns what it prints.
func (a *archive) apt(tool string, args ...string) (string, error) { return a.aptIn("", tool, args...) }

func (a *archive) aptIn(folder, tool string, args ...string) (string, error) {
	own := []string{"-c", filepath.Join(a.dir, "settings")}
	for _, setting := range []struct{ name, value string }{
		{"Dir::Etc::SourceList", filepath.Join(a.dir, "list.sources")},
		{"Dir::Etc::SourceParts", "/dev/null"},
		{"Dir::Etc::Preferences", "/dev/null"},
		{"Dir::Etc::PreferencesParts", "/dev/null"},
		{"Dir::State", filepath.Join(a.dir, "state")},
		{"Dir::State::status", filepath.Join(a.dir, "state/status")},
		{"Dir::Cache", filepath.Join(a.dir, "cache")},
	} {
		own = append(own, "-o", setting.name+"="+setting.value)
	}
	out, err := collect(command(folder, tool, append(own, args...)...), tool+" "+args[0])
	return string(out), err
}

// firstComplaint returns the first error of an apt, which is the cause. The last line often only says that something
// failed.
func firstComplaint(text string) string {
	for _, kind := range []string{"E: ", "W: "} {
		for line := range strings.Lines(text) {
			if complaint, found := strings.CutPrefix(line, kind); found {
				return strings.TrimSpace(complaint)
			}
		}
	}
	return lastLine(text)
}
