package udat_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/goudat/goudat/cgo"
	"github.com/goudat/goudat/udat"
)

// The codes of this package, in the order in which the headers have them.
var (
	returnTypes      = append(known[udat.ReturnType](1<<16, 1<<16, 64), udat.ErrNotImplemented)
	returnSubtypes   = known[udat.ReturnSubtype](0, 1, 256)
	returnClasses    = []udat.ReturnClass{udat.ClassSuccess, udat.ClassWarning, udat.ClassError}
	dtoStatuses      = known[udat.DTOStatus](0, 1, 64)
	connectionEvents = known[udat.ConnectionEvent](uint32(udat.ConnectionEstablished), 1, 64)
	asyncEvents      = []udat.AsyncEvent{
		udat.AsyncErrorEVDOverflow, udat.AsyncErrorIACatastrophic, udat.AsyncErrorEPBroken,
		udat.AsyncErrorProviderInternalError,
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

// headers returns the native headers, as the preprocessor leaves them.
func headers(t *testing.T) string {
	t.Helper()
	cmd := exec.Command("sh", "-c", "exec ${CC:-cc} $CGO_CFLAGS $(pkg-config --cflags goudat) -E -P -dD -x c -")
	cmd.Stdin = strings.NewReader("#include <dat2/udat.h>\n#include <dat2/dat_ib_extensions.h>\n")
	var text, complaints bytes.Buffer
	cmd.Stdout, cmd.Stderr = &text, &complaints
	if err := cmd.Run(); err != nil {
		t.Fatalf("reading the headers: %v\n%s", err, &complaints)
	}
	return text.String()
}

// constant is one that a header has.
type constant struct {
	Name  string
	Value uint32
}

// enum returns the constants of a C enumeration in which every first one, or every one, has a literal value.
func enum(t *testing.T, headers, name string) (constants []constant) {
	t.Helper()
	body := regexp.MustCompile(`(?s)enum ` + name + `\s*\{(.*?)\}`).FindStringSubmatch(headers)
	if body == nil {
		t.Fatalf("the headers have no enum %s", name)
	}
	known := map[string]uint32{"DAT_EXTENSION_BASE": uint32(cgo.ExtensionBase)}
	var next uint32
	for _, entry := range strings.Split(body[1], ",") {
		name, value, given := strings.Cut(strings.TrimSpace(entry), "=")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		if name == "" {
			continue
		}
		if v, ok := known[value]; ok {
			next = v
		} else if given {
			v, err := strconv.ParseUint(value, 0, 32)
			if err != nil {
				t.Fatal(err)
			}
			next = uint32(v)
		}
		constants = append(constants, constant{name, next})
		next++
	}
	return constants
}

func constants[T interface {
	~uint32
	fmt.Stringer
}](values []T) (constants []constant) {
	for _, v := range values {
		constants = append(constants, constant{v.String(), uint32(v)})
	}
	return constants
}

// The constants of this package are among those of the installed headers.
func TestCodesAreTheHeaders(t *testing.T) {
	text := headers(t)
	var classes []constant
	for _, m := range regexp.MustCompile(`(?m)^#define (DAT_CLASS_\w+)\s+(0x\w+)`).FindAllStringSubmatch(text, -1) {
		v, err := strconv.ParseUint(m[2], 0, 32)
		want(t, err)
		classes = append(classes, constant{m[1], uint32(v)})
	}
	slices.Reverse(classes)
	events := enum(t, text, "dat_event_number")
	part := func(prefixes ...string) (some []constant) {
		for _, e := range events {
			if slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(e.Name, p) }) {
				some = append(some, e)
			}
		}
		return some
	}
	for _, c := range []struct {
		name    string
		go_, in []constant
	}{
		{"class", constants(returnClasses), classes},
		{"type", constants(returnTypes), enum(t, text, "dat_return_type")},
		{"subtype", constants(returnSubtypes), enum(t, text, "dat_return_subtype")},
		{"completion status", constants(dtoStatuses), enum(t, text, "dat_dto_completion_status")},
		{"connection event", constants(connectionEvents), part("DAT_CONNECTION_EVENT_")},
		{"asynchronous event", constants(asyncEvents), part("DAT_ASYNC_", "DAT_HA_")},
	} {
		for _, constant := range c.go_ {
			if !slices.Contains(c.in, constant) {
				t.Errorf("%s: the headers have no %+v", c.name, constant)
			}
		}
	}
}

// Every code that can be made of the headers' classes, types and subtypes
// matches what it is made of, and nothing else, and says so.
func TestEveryCode(t *testing.T) {
	for _, class := range returnClasses {
		for _, typ := range returnTypes {
			for _, subtype := range returnSubtypes {
				testCode(t, class, typ, subtype)
			}
		}
	}
}

func testCode(t *testing.T, class udat.ReturnClass, typ udat.ReturnType, subtype udat.ReturnSubtype) {
	t.Helper()
	code := udat.Return(class) | udat.Return(typ) | udat.Return(subtype)
	if code.OK() || code.Class() != class || code.Type() != typ || code.Subtype() != subtype {
		t.Errorf("0x%08x is taken apart into %v %v %v, OK %t", uint32(code), code.Class(), code.Type(), code.Subtype(), code.OK())
	}
	err := &udat.Error{Op: "dat_test", Return: code}
	wantIs := func(target error, want bool) {
		// It has no cause to match: errors.Is would take ten times as long.
		if err.Is(target) != want {
			t.Errorf("that %v matches %v is %t", err, target, !want)
		}
	}
	if class == udat.ClassSuccess {
		class = udat.ClassError // the providers leave it out
	}
	for _, c := range returnClasses {
		wantIs(c, c == class)
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
		{0x80180000, []error{udat.ReturnType(0x180000), udat.ClassError}, "(code 0x80180000)"},
		{0x00180000, []error{udat.ReturnType(0x180000), udat.ClassError}, "(code 0x00180000)"},
		{0x4fff0002, []error{udat.ReturnType(0xfff0000), udat.ResourceMemory, udat.ClassWarning}, "DAT_RESOURCE_MEMORY (code 0x4fff0002)"},
		{0x80070068, []error{udat.ErrInvalidState, udat.ReturnSubtype(104)}, "DAT_INVALID_STATE ReturnSubtype(104) (code 0x80070068)"},
		{0x0007ffff, []error{udat.ErrInvalidState, udat.ReturnSubtype(0xffff)}, "(code 0x0007ffff)"},
		{0xc0050000, []error{udat.ErrInvalidHandle, udat.ReturnClass(0xc0000000)}, "DAT_INVALID_HANDLE"},
		{0xd0000007, []error{udat.ReturnType(cgo.ExtensionBase), udat.ReturnSubtype(7)}, "(code 0xd0000007)"},
	} {
		err := error(&udat.Error{Op: "dat_test", Return: c.code})
		want(t, err, c.matches...)
		if !strings.HasSuffix(err.Error(), c.text) {
			t.Errorf("0x%08x says %q, which does not end with %q", uint32(c.code), err, c.text)
		}
		for _, other := range []error{udat.ErrInternalError, udat.NoSubtype, udat.ClassSuccess, os.ErrDeadlineExceeded, errors.ErrUnsupported} {
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
	var failures []error
	for _, s := range dtoStatuses {
		event := udat.Event{Number: udat.EventDTOCompletion, Status: s}
		failures = wantEventError(t, failures, &event, s, s != udat.DTOSuccess)
	}
	for _, c := range connectionEvents {
		event := udat.Event{Number: udat.EventNumber(c)}
		orderly := c == udat.ConnectionEstablished || c == udat.ConnectionDisconnected
		failures = wantEventError(t, failures, &event, c, !orderly)
	}
	for _, a := range asyncEvents {
		event := udat.Event{Number: udat.EventNumber(a)}
		failures = wantEventError(t, failures, &event, a, true)
	}
	for _, n := range []udat.EventNumber{udat.EventConnectionRequest, udat.EventSoftware, 0, 0x99999} {
		event := udat.Event{Number: n}
		failures = wantEventError(t, failures, &event, nil, false)
	}
	if len(failures) != len(dtoStatuses)-1+len(connectionEvents)-2+len(asyncEvents) {
		t.Errorf("there are %d failures", len(failures))
	}
	for i, err := range failures {
		for j, other := range failures {
			wantMatch(t, err, other, i == j)
		}
		wantMatch(t, err, os.ErrDeadlineExceeded, err == udat.ConnectionTimedOut)
		wantMatch(t, err, context.DeadlineExceeded, err == udat.ConnectionTimedOut)
	}
}

func wantEventError(t *testing.T, failures []error, event *udat.Event, value error, failure bool) []error {
	t.Helper()
	err := event.Err()
	switch {
	case !failure && err != nil:
		t.Errorf("%v, a success, is the error %v", event.Number, err)
	case failure && err != value:
		t.Errorf("%v is the error %v, want %v", event.Number, err, value)
	case failure:
		failures = append(failures, err)
	}
	return failures
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
		_, err := udat.Open(name)
		want(t, err, udat.ErrInvalidParameter, udat.InvalidArg1)
	}
	_, err = udat.Open(strings.Repeat("x", 255))
	want(t, err, udat.ErrProviderNotFound)
}
