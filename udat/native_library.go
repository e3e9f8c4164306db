package udat

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/goudat/goudat/cgo"
	"github.com/goudat/goudat/udat/device"
	"github.com/goudat/goudat/udat/internal/machine"
	"github.com/goudat/goudat/udat/internal/opening"
	"github.com/goudat/goudat/udat/internal/problem"
)

// neededRevision is the least revision of the native library that this package works
// with: DAT_REVISION of dat_registry.h, which a patch raises.
const neededRevision = 3

// What the libraries export to say their revision.
const (
	revisionSymbol = "dat_revision"
	// In a program that has the libraries inside, for that of libibverbs and librdmacm.
	staticPrefix = "dat_static_"
)

// NativeStack describes the native libraries of the process. A path is that of the program if the
// library is linked into it. Versions of libibverbs and librdmacm end with that of rdma-core.
type NativeStack struct {
	Path, Version             string // of libdat2; Version is "" if the library does not say it
	Revision                  int    // of dapl's source with goudat's patches, 0 without them
	VerbsPath, VerbsVersion   string // of libibverbs
	RDMACMPath, RDMACMVersion string // of librdmacm, empty until the CMA provider is loaded
}

// NativeLibrary returns the native libraries of the process, and the error of Open if they are
// wrong: see device.ProblemWrongLibrary.
func NativeLibrary() (NativeStack, error) {
	const op = "dat_ia_open"
	if err := needLibrary(op); err != nil {
		return NativeStack{}, err
	}
	s := NativeStack{Path: cgo.FileOf(0, "dat_ia_openv"), Version: cgo.Text(0, "dat_version"), Revision: cgo.Number(0, revisionSymbol)}
	s.VerbsPath, s.VerbsVersion = usedFile("ibverbs")
	s.RDMACMPath, s.RDMACMVersion = usedFile("rdmacm")
	return s, needRevision(op)
}

// usedFile returns the library of rdma-core with this name that the process uses.
func usedFile(name string) (path, version string) {
	if version := cgo.Text(0, staticPrefix+name); version != "" {
		return cgo.FileOf(0, staticPrefix+name), version
	}
	prefix := "lib" + name + ".so."
	for _, path := range machine.LoadedFiles(prefix) {
		return path, strings.TrimPrefix(filepath.Base(path), prefix)
	}
	return "", ""
}

// needRevision is needLibrary for calls that use libdat2. It fails if that is not one that this
// package works with. It looks anew each time: a second copy of the library can come at any time.
func needRevision(op string) error {
	if err := needLibrary(op); err != nil {
		return err
	}
	copies := machine.LoadedFiles("libdat2.")
	if cgo.Text(0, staticPrefix+"ibverbs") != "" {
		copies = append(copies, cgo.FileOf(0, "dat_ia_openv"))
	}
	if len(copies) > 1 {
		return wrongLibrary(op, "the process has two copies of libdat2, %s and %s: have all that it loads use one", copies[0], copies[1])
	}
	revision := cgo.Number(0, revisionSymbol)
	if revision >= neededRevision {
		return nil
	}
	return wrongLibrary(op, "the loader found %s, which %s, and udat needs revision %d%s", cgo.FileOf(0, "dat_ia_openv"), having(revision), neededRevision, opening.PassedOver("libdat2.so.2"))
}

// checkProviderLibrary fails if a provider's library is not of libdat2's revision, which is right.
func checkProviderLibrary(op string, library cgo.Library) error {
	revision, needed := cgo.Number(library, "dapl_revision"), cgo.Number(0, revisionSymbol)
	if revision == needed {
		return nil
	}
	return wrongLibrary(op, "the provider is %s, which %s, and %s has revision %d", cgo.FileOf(library, "dat_provider_init"), having(revision), cgo.FileOf(0, revisionSymbol), needed)
}

func having(revision int) string {
	if revision == 0 {
		return "has no revision, as dapl without goudat's patches"
	}
	return fmt.Sprintf("has revision %d", revision)
}

func wrongLibrary(op, format string, args ...any) error {
	return withProblem(op, classError|Return(ErrProviderNotFound), fmt.Errorf("%w: %s; this builds the right ones, and says how to use them: %s",
		device.ProblemWrongLibrary, fmt.Sprintf(format, args...), problem.NativeCommand))
}
