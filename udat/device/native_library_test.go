//go:build linux

package device_test

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/goudat/goudat/cgo"
	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/device"
)

func TestNativeLibrary(t *testing.T) {
	if library, message := cgo.DLOpen(cma); library == 0 { // which brings librdmacm
		t.Fatal(message)
	}
	s, err := udat.NativeLibrary()
	want(t, err)
	if filepath.Base(s.Path) != "libdat2.so.2" || s.Version == "" || s.Revision < 1 {
		t.Errorf("libdat2 is %+v", s)
	}
	folder, path := filepath.Dir(s.Path), filepath.SplitList(cgo.RunPath())
	if os.Getenv("LD_LIBRARY_PATH") == "" && !slices.ContainsFunc(path, func(f string) bool { return filepath.Clean(f) == folder }) {
		t.Errorf("the program was linked with %s, and its run path is %q", folder, path)
	}
	for name, file := range map[string]struct{ path, version string }{"libibverbs": {s.VerbsPath, s.VerbsVersion}, "librdmacm": {s.RDMACMPath, s.RDMACMVersion}} {
		if filepath.Base(file.path) != name+".so."+file.version || file.version == "" {
			t.Errorf("%s is %+v", name, file)
		}
	}
}

// A libdat2 without revision, as that of the distributions, and one of an older revision
// are refused by what uses the library first. NativeLibrary still describes them.
func TestWrongLibrary(t *testing.T) {
	for name, revision := range map[string]int{"none": 0, "older": ownRevision(t) - 1} {
		t.Run(name, func(t *testing.T) {
			library := withRevision(t, nativeFile(t, "libdat2.so.2"), "dat_revision", revision)
			r := child{task: childTask{Native: []string{"cma:lo"}}, env: []string{"LD_LIBRARY_PATH=" + filepath.Dir(library)}}.run(t)
			wantWrongLibrary(t, r, map[string]string{"none": "without goudat's patches", "older": fmt.Sprintf("has revision %d", revision)}[name], library)
			if r.Stack.Path != library || r.Stack.Revision != revision || r.Stack.VerbsPath == "" {
				t.Errorf("the libraries are %+v", r.Stack)
			}
		})
	}
}

// A provider of another revision than libdat2's is refused before it does anything, under an
// entry of dat.conf, and with RegisterProvider.
func TestWrongProvider(t *testing.T) {
	for name, revision := range map[string]int{"none": 0, "newer": ownRevision(t) + 1} {
		t.Run(name, func(t *testing.T) {
			library := withRevision(t, nativeFile(t, cma), "dapl_revision", revision)
			config := "x u2.0 nonthreadsafe default " + library + ` dapl.2.0 "lo 0" ""` + "\n"
			r := child{task: childTask{Native: []string{"x"}, Provider: library}, config: &config}.run(t)
			wantWrongLibrary(t, r, map[string]string{"none": "without goudat's patches", "newer": fmt.Sprintf("has revision %d", revision)}[name], library, nativeFile(t, "libdat2.so.2"))
		})
	}
}

// Of a provider for another processor the loader says that the file does not exist.
func TestProviderForOtherProcessor(t *testing.T) {
	library := copyOf(t, nativeFile(t, cma), func(content []byte) { content[18] ^= 0xff })
	config := "x u2.0 nonthreadsafe default " + library + ` dapl.2.0 "lo 0" ""` + "\n"
	r := child{task: childTask{Native: []string{"x"}, Provider: library}, config: &config}.run(t)
	for _, o := range r.Opened {
		wantProblem(t, o, device.ProblemNoLibrary, library, "another processor", "deploy the whole folder")
	}
	if len(r.Opened) < 2 {
		t.Errorf("the child has tried %d things", len(r.Opened))
	}
}

// With two copies of libdat2 a provider would register itself with one of them, and the
// program ask the other.
func TestTwoLibraries(t *testing.T) {
	real := nativeFile(t, "libdat2.so.2")
	second := withRevision(t, real, "dat_revision", ownRevision(t))
	first, err := filepath.EvalSymlinks(real)
	want(t, err)
	r := child{task: childTask{Native: []string{"cma:lo"}, Load: second}}.run(t)
	wantWrongLibrary(t, r, "two copies", first, second)
}

// wantWrongLibrary fails the test unless each use of the library was refused for the reason.
func wantWrongLibrary(t *testing.T, r childResult, words ...string) {
	t.Helper()
	if len(r.Opened) == 0 {
		t.Error("the child has tried nothing")
	}
	for _, o := range r.Opened {
		wantRefusal(t, o, udat.ErrProviderNotFound, device.ProblemWrongLibrary, append(words, "scripts/native")...)
		t.Log(o.Text)
	}
}

// ownRevision is that of the libraries of this process, which is the least that is not refused.
func ownRevision(t *testing.T) int {
	t.Helper()
	s, err := udat.NativeLibrary()
	want(t, err)
	return s.Revision
}

// nativeFile returns the path of a library that lies beside the libdat2 of this process.
func nativeFile(t *testing.T, name string) string {
	t.Helper()
	s, err := udat.NativeLibrary()
	want(t, err)
	return filepath.Join(filepath.Dir(s.Path), name)
}

// withRevision copies a library, with another revision, or with none if that is 0.
func withRevision(t *testing.T, path, symbol string, revision int) string {
	t.Helper()
	return copyOf(t, path, func(content []byte) {
		file, err := elf.NewFile(bytes.NewReader(content))
		want(t, err)
		symbols, err := file.DynamicSymbols()
		want(t, err)
		i := slices.IndexFunc(symbols, func(s elf.Symbol) bool { return s.Name == symbol })
		if i < 0 {
			t.Fatalf("%s does not export %s", path, symbol)
		}
		section := file.Sections[symbols[i].Section]
		binary.NativeEndian.PutUint32(content[symbols[i].Value-section.Addr+section.Offset:], uint32(revision))
		if revision == 0 {
			content[bytes.Index(content, []byte("\x00"+symbol+"\x00"))+1] = 'x'
		}
	})
}

// copyOf copies a library with a change. The copy has its name, in a folder of its own.
func copyOf(t *testing.T, path string, change func(content []byte)) string {
	t.Helper()
	content, err := os.ReadFile(path)
	want(t, err)
	change(content)
	folder, err := os.MkdirTemp("", "library-") // any user may read it
	want(t, err)
	t.Cleanup(func() { os.RemoveAll(folder) })
	copied := filepath.Join(folder, filepath.Base(path))
	want(t, os.WriteFile(copied, content, 0o644))
	return copied
}
