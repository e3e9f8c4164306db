package udat

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"

	"github.com/goudat/goudat/cgo"
	"github.com/goudat/goudat/udat/device"
	"github.com/goudat/goudat/udat/internal/logging"
	"github.com/goudat/goudat/udat/internal/machine"
)

// ErrClosed matches the error of a call on a freed object, as net.ErrClosed does.
var ErrClosed error = closed{}

type closed struct{}

func (closed) Error() string        { return "udat: object is freed" }
func (closed) Is(target error) bool { return target == net.ErrClosed }

// ErrNoNativeLibrary matches the error of every call in a program without the native library: built
// with CGO_ENABLED=0, the default when cross-compiling, or not for 64-bit Linux. It also matches
// ErrNotImplemented and errors.ErrUnsupported. What needs neither objects nor the library still
// works: Strerror, device.WriteConfig, methods of data.
var ErrNoNativeLibrary = device.ErrNoNativeLibrary

// Error is the error of every failed call. errors.Is matches it by type (ErrInvalidState), whatever
// the subtype, by subtype (InvalidStateEPConnected), and by the standard errors of the same
// meaning:
//
//   - os.ErrDeadlineExceeded and context.DeadlineExceeded: ErrTimeoutExpired
//   - errors.ErrUnsupported: ErrNotImplemented and ErrModelNotSupported
//   - net.ErrClosed: ErrClosed
//   - the error and the cause of the context that ended a wait: see context.Cause. It is a time-out
//     if the context's error is context.DeadlineExceeded.
type Error struct {
	Op     string // the C name of the call, dat_ep_connect for example, or the Go name of one that C does not have
	Return Return // the library's code or, where udat refused the call, that of the specification
	Detail string // what is wrong and what to do, for people; may be empty
	Err    error  // the cause, if it is not the library: ErrClosed, the error of a context, a Problem
}

// Error returns a text for people, which may change: match errors with errors.Is.
func (e *Error) Error() string {
	code := fmt.Sprintf("%v (code 0x%08x)", e.Return, uint32(e.Return))
	if major, minor, err := Strerror(e.Return); err == nil {
		code = strings.TrimSuffix(major+" "+minor, " ")
	}
	s := "udat: " + e.Op + ": " + code
	switch {
	case e.Detail != "":
		s += ": " + e.Detail
	case e.Err != nil:
		s += ": " + e.Err.Error()
	}
	return s
}

// Strerror returns the C names of the type and the subtype of a code; minor is empty without a
// subtype. It fails with ErrInvalidParameter for an unknown code.
//
//	Implements: DAT_RETURN dat_strerror(IN DAT_RETURN value, OUT const char **major_message,
//	    OUT const char **minor_message)
func Strerror(value Return) (major, minor string, err error) {
	major, minor, r := cgo.Strerror(cgo.Return(value))
	if r.OK() && minor != misspelt {
		return major, minor, nil
	}
	if code := cgo.Return(value); code.Type() == cgo.ExtensionBase {
		major, minor = code.IB().String(), ""
	} else {
		major, minor = value.Type().String(), ""
		if value.Subtype() != NoSubtype {
			minor = value.Subtype().String()
		}
	}
	if !isCName(major) || minor != "" && !isCName(minor) {
		return "", "", refuse("dat_strerror", ErrInvalidParameter, InvalidArg1, "no header has the code 0x%08x: pass one that a call has returned", uint32(value))
	}
	return major, minor, nil
}

// misspelt is what the library makes of DAT_INVALID_STATE_EP_EVD_RECV.
const misspelt = "DAT_INVALID_STATE_EP_EVD_RCV"

// isCName tells the String of a constant from that of a value that has no name.
func isCName(s string) bool { return strings.HasPrefix(s, "DAT_") }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Is implements the matching described at Error.
func (e *Error) Is(target error) bool {
	switch t := target.(type) {
	case ReturnType:
		return e.Return.Type() == t
	case ReturnSubtype:
		return t != NoSubtype && e.Return.Subtype() == t
	}
	switch target {
	case os.ErrDeadlineExceeded, context.DeadlineExceeded:
		return e.Timeout()
	case errors.ErrUnsupported:
		return e.Return.Type() == ErrNotImplemented || e.Return.Type() == ErrModelNotSupported
	}
	return false
}

// Timeout reports whether the error is a time-out, as for net.Error.
func (e *Error) Timeout() bool { return e.Return.Type() == ErrTimeoutExpired }

// needLibrary fails in a build without the native library. Calls that could do
// something of their own before they reach it begin with this.
func needLibrary(op string) error {
	if cgo.Available {
		return nil
	}
	return &Error{Op: op, Return: classError | Return(ErrNotImplemented), Err: ErrNoNativeLibrary}
}

// logged logs the error of a call, and returns it.
func logged(e *Error) error {
	logging.Refused(e.Op, cgo.Return(e.Return), e.Detail)
	return e
}

// check turns what the library returned into an error.
func check(op string, r cgo.Return) error {
	if r.OK() {
		return nil
	}
	if err := needLibrary(op); err != nil {
		return err
	}
	if r.Type() == cgo.PrivilegesViolation {
		if err := withProblem(op, Return(r), machine.Credentials(machine.NodesFolder)); err != nil {
			return err
		}
	}
	return logged(&Error{Op: op, Return: Return(r)})
}

// fileLimit is the error of a call that takes files, if the process cannot open so many more.
func fileLimit(op string, files int) error {
	return withProblem(op, classError|Return(ErrInsufficientResources), machine.FileLimit(files))
}

// noFile returns the error of a call that takes a file, if that is why it failed.
func noFile(op string, r cgo.Return, takesOne bool) error {
	if !takesOne || r.Type() != cgo.InsufficientResources {
		return nil
	}
	return fileLimit(op, 1)
}

// checkFile is check for a call that takes a file if takesOne says so.
func checkFile(op string, r cgo.Return, takesOne bool) error {
	if err := noFile(op, r, takesOne); err != nil {
		return err
	}
	return check(op, r)
}

// checkState is check for a call that the library refuses in some states, which the subtype names.
func checkState(op string, r cgo.Return, remedy string) error {
	if r.Type() != cgo.InvalidState {
		return check(op, r)
	}
	return refuse(op, ErrInvalidState, ReturnSubtype(r.Subtype()), "%s", remedy)
}

// refuse returns the error of a call that udat does not pass to the library. In a build without the
// library, every call fails with ErrNoNativeLibrary instead.
func refuse(op string, t ReturnType, s ReturnSubtype, format string, args ...any) error {
	if err := needLibrary(op); err != nil {
		return err
	}
	return logged(&Error{Op: op, Return: classError | Return(t) | Return(s), Detail: fmt.Sprintf(format, args...)})
}

// invalid makes the error of a call that needs no library, and is wrong without one too.
func invalid(op string, s ReturnSubtype, format string, args ...any) error {
	return &Error{Op: op, Return: classError | Return(ErrInvalidParameter) | Return(s), Detail: fmt.Sprintf(format, args...)}
}

// interrupted makes the error of a wait that its context ended. It matches both
// the context's error, which decides whether that was a time-out, and the cause.
func interrupted(op string, ctx context.Context) error {
	err, t := ctx.Err(), ErrInterruptedCall
	if errors.Is(err, context.DeadlineExceeded) {
		t = ErrTimeoutExpired
	}
	if cause := context.Cause(ctx); errors.Is(cause, err) {
		err = cause
	} else if cause != nil {
		err = fmt.Errorf("%w: %w", err, cause)
	}
	return &Error{Op: op, Return: classError | Return(t), Err: err}
}

// withProblem returns the error of a call, for a reason that wraps a Problem, nil for none.
func withProblem(op string, r Return, reason error) error {
	if reason == nil {
		return nil
	}
	return logged(&Error{Op: op, Return: r, Detail: reason.Error(), Err: reason})
}

func checkContext(op string, ctx context.Context) error {
	if ctx == nil {
		return refuse(op, ErrInvalidParameter, InvalidArg2, "the context is nil: context.Background is one that never ends")
	}
	return nil
}

// checkCreate is check for calls that make an object. What the kernel refuses
// because of a limit of a control group comes as an empty queue.
func checkCreate(op string, r cgo.Return) error {
	switch r.Type() {
	case cgo.QueueEmpty:
		return withProblem(op, classError|Return(ErrInsufficientResources), machine.GroupLimit())
	case cgo.InsufficientResources:
		return withProblem(op, Return(r), machine.NoRoom())
	}
	return check(op, r)
}
