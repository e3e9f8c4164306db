//go:build linux

package opening_test

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/goudat/goudat/cgo"
	"github.com/goudat/goudat/udat/internal/opening"
)

// A program with a sanitizer does not find the providers beside libdat2.
func TestLoadFailureBesideLibrary(t *testing.T) {
	folder := filepath.Dir(cgo.FileOf(0, "dat_ia_openv"))
	if text := opening.LoadFailure("libdaplofa.so.2", "no such file"); !strings.HasSuffix(text, ": set LD_LIBRARY_PATH="+folder) {
		t.Errorf("%q does not name the folder of the library, %s", text, folder)
	}
	if text := opening.LoadFailure("libnone7.so", "no such file"); strings.Contains(text, "LD_LIBRARY_PATH") {
		t.Errorf("of a library that is nowhere: %q", text)
	}
}

// Who may not read the library that a program was built with learns why the loader takes another.
func TestPassedOver(t *testing.T) {
	const library = "libdat2.so.2"
	t.Setenv("LD_LIBRARY_PATH", "")
	if text := opening.PassedOver(library); text != "" {
		t.Errorf("the loader has passed over the library of this program%s", text)
	}
	if os.Getuid() != 0 {
		t.Log("not tested: another user, which takes root")
		return
	}
	forbidden := t.TempDir() // whose parent only its owner may enter
	if err := errors.Join(os.WriteFile(filepath.Join(forbidden, library), nil, 0o644), os.Chmod(forbidden, 0o700)); err != nil {
		t.Fatal(err)
	}
	t.Setenv("LD_LIBRARY_PATH", forbidden+":/none7")
	outcome := make(chan string)
	go func() { // on a thread that ends with it
		runtime.LockOSThread()
		const nobody = 65534
		if err := syscall.Setfsuid(nobody); err != nil {
			t.Error(err)
		}
		outcome <- opening.PassedOver(library)
	}()
	text := <-outcome
	for _, words := range []string{forbidden + " (permission denied)", "/none7 (no such file", "--prefix /usr/local"} {
		if !strings.Contains(text, words) {
			t.Errorf("%q does not say %q", text, words)
		}
	}
}
