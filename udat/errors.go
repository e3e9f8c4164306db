package udat

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/goudat/goudat/cgo"
)

// ErrClosed matches the error of a call on an object that was freed or closed.
var ErrClosed = errors.New("udat: object is freed")

// Return is a DAT_RETURN: class, type and subtype in one number.
type Return = cgo.Return

// Error is the error of every failed call.
//
// errors.Is matches it by type (ErrInvalidState), whatever the subtype, and by
// subtype (InvalidStateEPConnected). Where they mean the same, the standard
// errors match too: os.ErrDeadlineExceeded for ErrTimeoutExpired,
// errors.ErrUnsupported for ErrNotImplemented and ErrModelNotSupported, and the
// error of the context that ended a wait.
type Error struct {
	// Op is the C name of the call, dat_ep_connect for example.
	Op string
	// Return is the code, from the library or, where the binding refused the
	// call before the library saw it, the one that the specification asks for.
	Return Return
	// Detail says what was wrong and what may be, in words. It may be empty.
	Detail string
	// Err is the cause where there is one beside the library: ErrClosed, a
	// context's error.
	Err error
}

func (e *Error) Error() string {
	s := "udat: " + e.Op + ": " + e.Return.String()
	if e.Detail != "" {
		s += ": " + e.Detail
	}
	if e.Err != nil && e.Detail == "" {
		s += ": " + e.Err.Error()
	}
	return s
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

// Is implements the matching that the type's comment describes.
func (e *Error) Is(target error) bool {
	switch t := target.(type) {
	case ReturnType:
		return e.Return.Type() == t
	case ReturnSubtype:
		return t != NoSubtype && e.Return.Subtype() == t
	}
	switch target {
	case os.ErrDeadlineExceeded:
		return e.Return.Type() == ErrTimeoutExpired
	case errors.ErrUnsupported:
		return e.Return.Type() == ErrNotImplemented || e.Return.Type() == ErrModelNotSupported
	}
	return false
}

// Timeout reports whether a time-out was the reason, as net.Error has it.
func (e *Error) Timeout() bool { return e.Return.Type() == ErrTimeoutExpired }

// check turns what the library returned into an error.
func check(op string, r Return) error {
	if r.OK() {
		return nil
	}
	return &Error{Op: op, Return: r}
}

// refuse makes the error of a call that the binding did not pass on.
func refuse(op string, t ReturnType, s ReturnSubtype, format string, args ...any) error {
	return &Error{Op: op, Return: cgo.ClassError | Return(t) | Return(s), Detail: fmt.Sprintf(format, args...)}
}

// interrupted makes the error of a wait that its context ended.
func interrupted(op string, cause error) error {
	t := ErrInterruptedCall
	if errors.Is(cause, context.DeadlineExceeded) {
		t = ErrTimeoutExpired
	}
	return &Error{Op: op, Return: cgo.ClassError | Return(t), Err: cause}
}
