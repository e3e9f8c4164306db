package udat_test

import (
	"os"
	"testing"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/udattest"
)

// nativeFromSource reports whether the native library is the one that
// scripts/native builds, with patches.
func nativeFromSource() bool { return os.Getenv("GOUDAT_NATIVE") == "source" }

// hasPatches is for tests of what only patches can mend.
func hasPatches(t *testing.T) bool {
	t.Helper()
	if !nativeFromSource() {
		t.Log("nothing to test: this native library has no patches")
	}
	return nativeFromSource()
}

// afterBroken returns the listener for a connection that comes after one whose queue
// pair may have failed on the side that accepted it. Without patches the library
// leaves the request of that connection on its service point, and takes a later one
// with the same memory for it, so that a new service point is needed.
func afterBroken(t *testing.T, ia *udat.IA, listener *udattest.Listener) *udattest.Listener {
	t.Helper()
	if nativeFromSource() {
		return listener
	}
	return udattest.Listen(t, ia)
}
