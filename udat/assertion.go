package udat

import (
	"fmt"
	"log"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/goudat/goudat/udat/internal/shadow"
)

// assertVariable is the environment variable that turns assertions on.
const assertVariable = "UDAT_ASSERT"

// assertions has what new endpoints report to, nil when they are not checked.
var assertions atomic.Pointer[func(*AssertionError)]

// assertVariableErr refuses to open an adapter when the variable says nothing sensible.
var assertVariableErr = takeAssertVariable(os.Getenv(assertVariable))

func takeAssertVariable(value string) error {
	switch value {
	case "":
	case "panic":
		SetAssertions(PanicOnAssertion)
	case "log":
		SetAssertions(LogAssertion)
	default:
		return refuse("dat_ia_open", ErrInvalidParameter, NoSubtype, "the environment variable %s is %q: set it to panic or log, or leave it out", assertVariable, value)
	}
	return nil
}

// SetAssertions has the endpoints that are created from now on checked: at each call
// and event, the library's state is compared with the specification. report gets the
// first difference of an endpoint, on any goroutine and with locks held: it must not
// call this package. It is PanicOnAssertion or LogAssertion for example; nil turns the
// checks off. SetAssertions returns the previous function.
func SetAssertions(report func(*AssertionError)) (previous func(*AssertionError)) {
	var now *func(*AssertionError)
	if report != nil {
		now = &report
	}
	if before := assertions.Swap(now); before != nil {
		previous = *before
	}
	return previous
}

// PanicOnAssertion panics. It is for SetAssertions.
func PanicOnAssertion(e *AssertionError) { panic(e) }

// LogAssertion writes the difference and its history with package log. It is
// for SetAssertions.
func LogAssertion(e *AssertionError) { log.Print(e) }

// AssertionError is a difference between an endpoint's state and the specification.
type AssertionError struct {
	Endpoint   string          // with the line of the program that made it
	At         string          // the C name of the call, or the event, at which the difference showed
	Impossible bool            // At, an event or a success, could not have happened; otherwise the state is wrong
	Allowed    []EPState       // by the specification; several while calls and events may be on their way
	Got        EPState         // what the library reports, unless Impossible
	History    []AssertionStep // the last calls and events, At at the end
}

// AssertionStep is a call or an event in the life of an endpoint.
type AssertionStep struct {
	What     string    // the C name of the call, and whether it was begun or is done; or the event
	Time     time.Time // of the last time
	Count    int       // how often it happened
	State    EPState   // what the library reported then, if HasState
	HasState bool
	Err      error // of a call that failed
}

// Error tells the difference in one line and then the history, a line each.
func (e *AssertionError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "udat: assertion: %s: ", e.Endpoint)
	if e.Impossible {
		fmt.Fprintf(&b, "%s has happened, which the specification does not allow in %s", e.At, either(e.Allowed))
	} else {
		fmt.Fprintf(&b, "at %s the state is %v, the specification allows %s", e.At, e.Got, either(e.Allowed))
	}
	for _, s := range e.History {
		b.WriteString("\n\t")
		b.WriteString(s.String())
	}
	return b.String()
}

// String returns the time, what happened, the state and the error.
func (s AssertionStep) String() string {
	text := s.Time.Format("15:04:05.000000") + " " + s.What
	if s.Count > 1 {
		text += fmt.Sprintf(" (%d times)", s.Count)
	}
	if s.HasState {
		text += ": " + s.State.String()
	}
	if s.Err != nil {
		text += ": " + s.Err.Error()
	}
	return text
}

func either(states []EPState) string {
	names := make([]string, len(states))
	for i, s := range states {
		names[i] = s.String()
	}
	return strings.Join(names, " or ")
}

// watch returns a shadow that follows a new endpoint, nil unless assertions are on. name is called
// with the first difference.
func watch(endpoint shadow.Endpoint, name func() string) *shadow.Shadow {
	report := assertions.Load()
	if report == nil {
		return nil
	}
	return shadow.New(endpoint, func(d shadow.Difference) {
		e := &AssertionError{Endpoint: name(), At: d.At, Impossible: d.Impossible, Got: EPState(d.Got)}
		for _, s := range d.Allowed {
			e.Allowed = append(e.Allowed, EPState(s))
		}
		for _, s := range d.History {
			e.History = append(e.History, AssertionStep{s.What, s.Time, s.Count, EPState(s.State), s.HasState, s.Err})
		}
		(*report)(e)
	})
}
