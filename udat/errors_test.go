package udat_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/goudat/goudat/cgo"
	"github.com/goudat/goudat/udat"
)

// The codes of this package, in the order in which the headers have them.
var (
	returnTypes      = append(known[udat.ReturnType](1<<16, 1<<16, 64), udat.ErrNotImplemented)
	returnSubtypes   = known[udat.ReturnSubtype](0, 1, 256)
	dtoStatuses      = known[udat.DTOStatus](0, 1, 64)
	connectionEvents = known[udat.EventNumber](uint32(udat.EventConnectionEstablished), 1, 64)
	asyncEvents      = []udat.EventNumber{
		udat.EventAsyncErrorEVDOverflow, udat.EventAsyncErrorIACatastrophic, udat.EventAsyncErrorEPBroken,
		udat.EventAsyncErrorProviderInternalError,
	}
)

// known returns the n values from first on, in steps, that have a name.
func known[T interface {
	~uint32
	fmt.Stringer
}](first, step, n uint32) (values []T) {
	for i := range n {
		if v := T(first + i*step); strings.HasPrefix(v.String(), "DAT_") {
			values = append(values, v)
		}
	}
	return values
}

// Every code that can be made of the headers' classes, types and subtypes
// matches what it is made of, and nothing else, and says so.
func TestEveryCode(t *testing.T) {
	for _, class := range []cgo.ReturnClass{cgo.ReturnClassSuccess, cgo.ReturnClassWarning, cgo.ReturnClassError} {
		for _, typ := range returnTypes {
			for _, subtype := range returnSubtypes {
				testCode(t, udat.Return(class), typ, subtype)
			}
		}
	}
}

func testCode(t *testing.T, class udat.Return, typ udat.ReturnType, subtype udat.ReturnSubtype) {
	t.Helper()
	code := class | udat.Return(typ) | udat.Return(subtype)
	if code.Type() != typ || code.Subtype() != subtype {
		t.Errorf("0x%08x is taken apart into %v %v", uint32(code), code.Type(), code.Subtype())
	}
	err := &udat.Error{Op: "dat_test", Return: code}
	wantIs := func(target error, want bool) {
		// It has no cause to match: errors.Is would take ten times as long.
		if err.Is(target) != want {
			t.Errorf("that %v matches %v is %t", err, target, !want)
		}
	}
	for _, r := range returnTypes {
		wantIs(r, r == typ)
	}
	for _, s := range returnSubtypes {
		wantIs(s, s == subtype && s != udat.NoSubtype)
	}
	for target, types := range map[error][]udat.ReturnType{
		os.ErrDeadlineExceeded:   {udat.ErrTimeoutExpired},
		context.DeadlineExceeded: {udat.ErrTimeoutExpired},
		errors.ErrUnsupported:    {udat.ErrNotImplemented, udat.ErrModelNotSupported},
		context.Canceled:         nil,
		net.ErrClosed:            nil,
		udat.ErrClosed:           nil,
	} {
		wantIs(target, slices.Contains(types, typ))
	}

	text := "udat: dat_test: " + typ.String()
	if subtype != udat.NoSubtype {
		text += " " + subtype.String()
	}
	if err.Error() != text {
		t.Errorf("0x%08x says %q, want %q", uint32(code), err, text)
	}
}

func wantMatch(t *testing.T, err, target error, want bool) {
	t.Helper()
	if errors.Is(err, target) != want {
		t.Errorf("that %v matches %v is %t", err, target, !want)
	}
}

// Codes that no header has are errors too; they match only what they have in
// common with the known ones, and their text has the number.
func TestUnknownCodes(t *testing.T) {
	for _, c := range []struct {
		code    udat.Return
		matches []error
		text    string
	}{
		{0x80180000, []error{udat.ReturnType(0x180000)}, "(code 0x80180000)"},
		{0x00180000, []error{udat.ReturnType(0x180000)}, "(code 0x00180000)"},
		{0x4fff0002, []error{udat.ReturnType(0xfff0000), udat.ResourceMemory}, "DAT_RESOURCE_MEMORY (code 0x4fff0002)"},
		{0x80070068, []error{udat.ErrInvalidState, udat.ReturnSubtype(104)}, "DAT_INVALID_STATE ReturnSubtype(104) (code 0x80070068)"},
		{0x0007ffff, []error{udat.ErrInvalidState, udat.ReturnSubtype(0xffff)}, "(code 0x0007ffff)"},
		{0xc0050000, []error{udat.ErrInvalidHandle}, "DAT_INVALID_HANDLE"},
		{0xd0000007, []error{udat.ReturnType(cgo.ExtensionBase), udat.ReturnSubtype(7)}, "(code 0xd0000007)"},
	} {
		err := error(&udat.Error{Op: "dat_test", Return: c.code})
		want(t, err, c.matches...)
		if !strings.HasSuffix(err.Error(), c.text) {
			t.Errorf("0x%08x says %q, which does not end with %q", uint32(c.code), err, c.text)
		}
		for _, other := range []error{udat.ErrInternalError, udat.NoSubtype, os.ErrDeadlineExceeded, errors.ErrUnsupported} {
			wantMatch(t, err, other, false)
		}
	}
}

func TestStandardErrors(t *testing.T) {
	err := error(&udat.Error{Return: udat.Return(udat.ErrTimeoutExpired), Err: context.DeadlineExceeded})
	want(t, err, context.DeadlineExceeded, os.ErrDeadlineExceeded)
	var timeout interface{ Timeout() bool }
	if !errors.As(err, &timeout) || !timeout.Timeout() {
		t.Error("a time-out does not say that it is one")
	}
	err = &udat.Error{Return: udat.Return(udat.ErrInvalidHandle), Err: udat.ErrClosed}
	want(t, err, udat.ErrClosed, net.ErrClosed)
	wantMatch(t, err, os.ErrDeadlineExceeded, false)
}

// The texts are the library's, but for those that it has not, or has wrong.
func TestStrerror(t *testing.T) {
	own := map[string]bool{}
	rest := []udat.ReturnType{0, udat.ReturnType(cgo.Abort), udat.ReturnType(cgo.ReservedLMR), udat.ReturnType(cgo.PortInUse),
		udat.ReturnType(cgo.CommNotSupported), udat.ReturnType(cgo.ExtensionBase)}
	for _, typ := range append(rest, returnTypes...) {
		for subtype := range udat.ReturnSubtype(cgo.ThreadSafetyNotFound) + 1 {
			code := udat.Return(typ) | udat.Return(subtype)
			major, minor, err := udat.Strerror(code)
			if typ == udat.ReturnType(cgo.ExtensionBase) && subtype > 1 {
				want(t, err, udat.ErrInvalidParameter, udat.InvalidArg1)
				continue
			}
			want(t, err)
			libraryMajor, libraryMinor, r := cgo.Strerror(cgo.Return(code))
			if !r.OK() || minor != libraryMinor {
				own[major+" "+minor] = true
			} else if major != libraryMajor {
				t.Errorf("the text of 0x%08x is %q, the library's %q", uint32(code), major, libraryMajor)
			}
		}
	}
	for _, text := range []string{
		"DAT_CONN_QUAL_UNAVAILABLE ", "DAT_RESERVED_LMR ", "DAT_PORT_IN_USE ", "DAT_COMM_NOT_SUPPORTED ",
		"DAT_IB_ERR ", "DAT_IB_COLLECTIVE_ERR ",
		"DAT_INVALID_STATE DAT_INVALID_STATE_SRQ_OPERATIONAL", "DAT_INVALID_STATE DAT_INVALID_STATE_SRQ_ERROR",
		"DAT_INVALID_STATE DAT_INVALID_STATE_SRQ_IN_USE", "DAT_INVALID_STATE DAT_INVALID_STATE_SRQ_SHUTDOWN",
		"DAT_INVALID_STATE DAT_INVALID_STATE_EP_EVD_RECV",
	} {
		if !own[text] {
			t.Errorf("the library has the text %q", text)
		}
	}
	for _, code := range []udat.Return{0x80180000, 0x8007ffff, 0x00580001} {
		_, _, err := udat.Strerror(code)
		want(t, err, udat.ErrInvalidParameter, udat.InvalidArg1)
	}
}

// The failures among the events are errors that match themselves and nothing else.
func TestEventErrors(t *testing.T) {
	events := map[udat.Event]error{}
	for _, s := range dtoStatuses {
		events[udat.Event{Number: udat.EventDTOCompletion, Status: s}] = s
	}
	for _, c := range connectionEvents {
		events[udat.Event{Number: udat.EventNumber(c)}] = c
	}
	for _, a := range asyncEvents {
		events[udat.Event{Number: udat.EventNumber(a)}] = a
	}
	for _, n := range []udat.EventNumber{
		udat.EventDTOCompletion, udat.EventConnectionEstablished, udat.EventConnectionDisconnected, udat.EventConnectionRequest, udat.EventSoftware, 0, 0x99999,
	} {
		events[udat.Event{Number: n}] = nil
	}
	for event, wanted := range events {
		err := event.Err()
		if err != wanted {
			t.Errorf("%v, %v is the error %v, want %v", event.Number, event.Status, err, wanted)
		}
		for _, other := range events {
			if err != nil && other != nil {
				wantMatch(t, err, other, err == other)
			}
		}
		wantMatch(t, err, os.ErrDeadlineExceeded, err == udat.EventConnectionTimedOut)
		wantMatch(t, err, context.DeadlineExceeded, err == udat.EventConnectionTimedOut)
	}
}

func TestErrorText(t *testing.T) {
	_, err := udat.Open("no-such-adapter")
	const text = `udat: dat_ia_open: DAT_PROVIDER_NOT_FOUND DAT_NAME_NOT_REGISTERED: no entry in the registry: "no-such-adapter"`
	if err == nil || len(err.Error()) < len(text) || err.Error()[:len(text)] != text {
		t.Errorf("got %v, want %s...", err, text)
	}
	want(t, err, udat.ErrProviderNotFound, udat.NameNotRegistered)
	var e *udat.Error
	if !errors.As(err, &e) || e.Op != "dat_ia_open" {
		t.Errorf("%v is no udat.Error of dat_ia_open", err)
	}
	for _, name := range []string{"", "nul\x00", strings.Repeat("x", 256), strings.Repeat("x", 300)} {
		want(t, second(udat.Open(name)), udat.ErrInvalidParameter, udat.InvalidArg1)
	}
	want(t, second(udat.Open(strings.Repeat("x", 255))), udat.ErrProviderNotFound)
}
