package udat_test

import (
	"errors"
	"os"
	"regexp"
	"strconv"
	"testing"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/udattest"
)

// Not every device has all that there is. A test leaves out what its device lacks, and logs that.

// hasSRQ reports whether the device has shared receive queues.
func hasSRQ(t testing.TB, ia *udat.IA) bool {
	t.Helper()
	pz := must(udat.CreatePZ(ia))
	defer func() { want(t, pz.Free()) }()
	srq, err := udat.CreateSRQ(ia, pz, udat.SRQAttr{MaxRecvDTOs: 1, MaxRecvIOV: 1})
	if errors.Is(err, udat.ErrModelNotSupported) {
		wantDetail(t, err)
		t.Log("not tested: the device has no shared receive queues")
		return false
	}
	want(t, err)
	want(t, srq.Free())
	return true
}

// forEachIAWithSRQ is udattest.ForEachIA for the devices that have shared receive queues.
func forEachIAWithSRQ(t *testing.T, test func(t *testing.T, ia *udat.IA)) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		if hasSRQ(t, ia) {
			test(t, ia)
		}
	})
}

// lacksOperation reports whether the device lacks an operation of the extensions. Then posts of it
// must be refused, and leave nothing behind.
func lacksOperation(t *testing.T, active, passive *udattest.Endpoint, op udat.DTO) bool {
	t.Helper()
	_, provider, err := active.IA.Query()
	want(t, err)
	if provider.Supports(op) {
		return false
	}
	remote, local := must(passive.Memory.RMRTriplet(0, 8)), active.Segment(t, 0, 8)
	switch op {
	case udat.DTOIBRDMAWriteImmed:
		err = active.PostRDMAWriteImmed(one(local), 1, remote, 1, 0)
	case udat.DTOIBFetchAdd:
		err = active.PostFetchAndAdd(1, local, 1, remote, 0)
	case udat.DTOIBCmpSwap:
		err = active.PostCmpAndSwap(1, 2, local, 1, remote, 0)
	}
	if !errors.Is(err, udat.ErrNotImplemented) || !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("posting %v returns %v", op, err)
	}
	wantDetail(t, err)
	t.Logf("not tested: the device does not have %v", op)
	return true
}

// takesSegments reports whether an operation may have so many segments.
func takesSegments(t testing.TB, ia *udat.IA, n int) bool {
	t.Helper()
	attr, _, err := ia.Query()
	want(t, err)
	if attr.MaxIOVSegmentsPerDTO < n {
		t.Logf("not tested: the device takes at most %d segments, not %d", attr.MaxIOVSegmentsPerDTO, n)
		return false
	}
	return true
}

var inlineOfShape = regexp.MustCompile(`max_inline=(\d+)`)

// sendsInline reports whether the adapter copies so many bytes in a post, and so needs the memory
// no more. No attribute says so: it supposes that all do but soft-iWARP, and devices whose limit
// scripts/dapl/devicetest/shapes has.
func sendsInline(t *testing.T, ia *udat.IA, length int) bool {
	t.Helper()
	most := length
	if shape, err := os.ReadFile(os.Getenv("UDAT_TEST_SHAPE")); err == nil {
		if limit := inlineOfShape.FindSubmatch(shape); limit != nil {
			most = must(strconv.Atoi(string(limit[1])))
		}
	}
	if udattest.IWARP(t, ia) {
		most = 0
	}
	if most < length {
		t.Logf("not tested: the device copies at most %d bytes in a post, and reads the memory later", most)
	}
	return most >= length
}
