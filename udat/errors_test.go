package udat_test

import (
	"context"
	"errors"
	"os"
	"testing"

	"github.com/goudat/goudat/cgo"
	"github.com/goudat/goudat/udat"
)

func TestErrorMatching(t *testing.T) {
	const classed = 0x80000000
	for _, c := range []struct {
		code    udat.Return
		matches []error
		not     []error
	}{
		{
			classed | udat.Return(udat.ErrInvalidState) | udat.Return(udat.InvalidStateEPConnected),
			[]error{udat.ErrInvalidState, udat.InvalidStateEPConnected},
			[]error{udat.ErrInvalidHandle, udat.InvalidStateEPUnconnected, udat.NoSubtype, os.ErrDeadlineExceeded, errors.ErrUnsupported, udat.ErrClosed},
		},
		// The providers leave out the class bit of many codes.
		{udat.Return(udat.ErrTimeoutExpired), []error{udat.ErrTimeoutExpired, os.ErrDeadlineExceeded}, []error{udat.ErrQueueEmpty, udat.NoSubtype}},
		{udat.Return(udat.ErrNotImplemented), []error{udat.ErrNotImplemented, errors.ErrUnsupported}, []error{udat.ErrModelNotSupported}},
		{udat.Return(udat.ErrModelNotSupported), []error{udat.ErrModelNotSupported, errors.ErrUnsupported}, []error{udat.ErrNotImplemented}},
	} {
		err := error(&udat.Error{Op: "dat_test", Return: c.code})
		for _, target := range c.matches {
			if !errors.Is(err, target) {
				t.Errorf("%v does not match %v", err, target)
			}
		}
		for _, target := range c.not {
			if errors.Is(err, target) {
				t.Errorf("%v matches %v", err, target)
			}
		}
	}
	err := error(&udat.Error{Return: udat.Return(udat.ErrTimeoutExpired), Err: context.DeadlineExceeded})
	want(t, err, context.DeadlineExceeded, os.ErrDeadlineExceeded)
	var timeout interface{ Timeout() bool }
	if !errors.As(err, &timeout) || !timeout.Timeout() {
		t.Error("a time-out does not say that it is one")
	}
}

// The names that the binding gives are those of the library, for every code
// that the library knows.
func TestNamesAreTheLibrarys(t *testing.T) {
	known := 0
	for typ := udat.Return(0); typ < 0x40; typ++ {
		for subtype := udat.Return(0); subtype <= udat.Return(udat.ThreadSafetyNotFound); subtype++ {
			code := typ<<16 | subtype
			major, minor, r := cgo.Strerror(code)
			if !r.OK() {
				continue
			}
			known++
			if name := code.Type().String(); name != major {
				t.Errorf("code 0x%08x is %q here and %q in the library", uint32(code), name, major)
			}
			if minor == "DAT_INVALID_STATE_EP_EVD_RCV" { // one that the library misspells
				minor = "DAT_INVALID_STATE_EP_EVD_RECV"
			}
			if name := code.Subtype().String(); subtype != 0 && name != minor {
				t.Errorf("subtype %d is %q here and %q in the library", subtype, name, minor)
			}
		}
	}
	if known < 1000 {
		t.Errorf("the library knows only %d codes", known)
	}
}

func TestErrorText(t *testing.T) {
	_, err := udat.Open("no-such-adapter")
	const text = `udat: dat_ia_open: DAT_PROVIDER_NOT_FOUND DAT_NAME_NOT_REGISTERED: "no-such-adapter" is not registered`
	if err == nil || len(err.Error()) < len(text) || err.Error()[:len(text)] != text {
		t.Errorf("got %v, want %s...", err, text)
	}
	want(t, err, udat.ErrProviderNotFound, udat.NameNotRegistered)
	var e *udat.Error
	if !errors.As(err, &e) || e.Op != "dat_ia_open" {
		t.Errorf("%v is no udat.Error of dat_ia_open", err)
	}
	for _, name := range []string{"", "nul\x00", string(make([]byte, 300))} {
		_, err := udat.Open(name)
		want(t, err, udat.ErrInvalidParameter, udat.InvalidArg1)
	}
}
