//go:build linux && amd64

package scripts

import (
	"archive/zip"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
)

// publishModule adds versions of the module in a folder to a module proxy. The first version is the one that the proxy
// lists. A pseudo-version is also found by its commit.
func publishModule(t *testing.T, proxy, module, folder string, versions ...string) {
	t.Helper()
	mod, err := os.ReadFile(filepath.Join(folder, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	published := filepath.Join(proxy, module, "@v")
	write(t, filepath.Join(published, "list"), versions[0]+"\n")
	for _, version := range versions {
		info := `{"Version": "` + version + `"}`
		write(t, filepath.Join(published, version+".mod"), string(mod))
		write(t, filepath.Join(published, version+".info"), info)
		write(t, filepath.Join(published, version[strings.LastIndex(version, "-")+1:]+".info"), info)
		packModule(t, filepath.Join(published, version+".zip"), module+"@"+version, folder)
	}
}

// packModule packs a module as the go command does: without nested modules, and without files that are not in the
// repository.
func packModule(t *testing.T, file, prefix, folder string) {
	t.Helper()
	created, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	defer created.Close()
	archive := zip.NewWriter(created)
	files := os.DirFS(folder)
	err = fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (name == ".git" || name == "native" || name == "bin"):
			return fs.SkipDir
		case d.IsDir() && name != ".":
			if _, err := fs.Stat(files, path.Join(name, "go.mod")); err == nil {
				return fs.SkipDir
			}
		}
		if !d.Type().IsRegular() {
			return nil
		}
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return err
		}
		w, err := archive.Create(path.Join(prefix, name))
		if err == nil {
			_, err = w.Write(text)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
}
