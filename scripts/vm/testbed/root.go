package main

import (
	"archive/tar"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// rootSuite is the last Debian suite with packages of uDAPL.
const rootSuite = "bookworm"

// rootPackages are what programs of another architecture need: the native stack, its build dependencies, and a
// compiler, since some tests compile C.
var rootPackages = []string{"libdapl-dev", "dapl2-utils", "libibverbs-dev", "librdmacm-dev", "ibverbs-providers",
	"libnl-3-dev", "libnl-route-3-dev", "libasan8", "gcc", "libc6-dev", "pkgconf", "dash", "bash", "coreutils", "grep", "sed", "iproute2"}

// unneededFolders are the parts of packages that no program needs.
var unneededFolders = []string{"usr/share/doc/", "usr/share/man/", "usr/share/locale/", "usr/share/info/", "usr/share/lintian/"}

// root returns a folder with the files of a Debian system of another architecture. It fetches and unpacks them if they
// are missing. No program in it has run, so it lacks what packages generate when they are installed.
func (c *cache) root(arch *architecture, mirror string, log *progress) (string, error) {
	key := sha256.New()
	fmt.Fprintln(key, "layout 1", arch.name, rootSuite, rootPackages, unneededFolders)
	return c.entry(fmt.Sprintf("root-%s-%x", arch.name, key.Sum(nil)[:6]), log, func(dir string) error {
		if err := os.Mkdir(dir, 0o755); err != nil {
			return err
		}
		if err := fetchRoot(arch, mirror, dir, log); err != nil {
			return fmt.Errorf("the packages of Debian %s for %s are not available: %w; GOUDAT_CACHE can name another folder than %s",
				rootSuite, arch.name, err, c.dir)
		}
		return nil
	})
}

func fetchRoot(arch *architecture, mirror, dir string, log *progress) error {
	folder := filepath.Join(dir, "archive")
	a, err := openArchive(folder, rootSuite, arch, mirror, log)
	if err != nil {
		return err
	}
	files, err := a.downloadAll(log, rootPackages...)
	if err != nil {
		return err
	}
	if err := makeMergedFolders(dir); err != nil {
		return err
	}
	log.setUp("unpacking %d packages for %s", len(files), arch.name)
	for _, file := range files {
		err := readPackage(file, func(r io.Reader) error { return unpackRoot(r, dir) })
		if err != nil {
			return fmt.Errorf("unpack %s: %w", filepath.Base(file), err)
		}
	}
	return os.RemoveAll(folder)
}

// mergedFolders are links into /usr on each Debian system. Packages may still have folders of these names.
var mergedFolders = []string{"bin", "sbin", "lib"}

func makeMergedFolders(dir string) error {
	for _, merged := range mergedFolders {
		if err := os.MkdirAll(filepath.Join(dir, "usr", merged), 0o755); err != nil {
			return err
		}
		if err := os.Symlink("usr/"+merged, filepath.Join(dir, merged)); err != nil {
			return err
		}
	}
	return nil
}

// rootName returns the path for a file of a package, or "" if the file is not needed.
func rootName(name string) string {
	name = strings.TrimPrefix(path.Clean("/"+name), "/")
	first, rest, _ := strings.Cut(name, "/")
	if slices.Contains(mergedFolders, first) && rest != "" {
		name = "usr/" + name
	}
	if slices.ContainsFunc(unneededFolders, func(folder string) bool { return strings.HasPrefix(name, folder) }) ||
		slices.Contains(mergedFolders, name) {
		return ""
	}
	return name
}

// unpackRoot writes the files of a package, from its tar stream.
func unpackRoot(r io.Reader, dir string) error {
	files := tar.NewReader(r)
	for {
		header, err := files.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		name := rootName(header.Name)
		if name == "" {
			continue
		}
		target := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
			return err
		}
		if header.Typeflag != tar.TypeDir {
			// Another package, or another version of this one, may have the file.
			if err := os.Remove(target); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
		switch header.Typeflag {
		case tar.TypeDir:
			err = os.MkdirAll(target, 0o755)
		case tar.TypeReg:
			err = writeFile(target, files, fs.FileMode(header.Mode).Perm()|0o644)
		case tar.TypeSymlink:
			err = os.Symlink(header.Linkname, target)
		case tar.TypeLink:
			err = os.Link(filepath.Join(dir, rootName(header.Linkname)), target)
		}
		if err != nil {
			return err
		}
	}
}

func writeFile(name string, content io.Reader, mode fs.FileMode) error {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, content)
	return errors.Join(err, f.Close())
}
