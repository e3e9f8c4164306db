package udat

import (
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/goudat/goudat/udat/internal/shadow"
)

// assertions is where new endpoints report differences, nil if they are not checked.
var assertions atomic.Pointer[func(error)]

// SetAssertions checks endpoints that are created from now on: at each call and event, it compares
// the library's state with the specification. report gets the first difference of an endpoint, with
// the last calls and events. It runs on any goroutine, with locks held: it may panic, and must not
// call udat. Nil turns the checks off. SetAssertions returns the previous function.
// UDAT_ASSERT=panic in the environment panics from the start of the program; UDAT_ASSERT=log logs
// with package log.
func SetAssertions(report func(error)) (previous func(error)) {
	var now *func(error)
	if report != nil {
		now = &report
	}
	if before := assertions.Swap(now); before != nil {
		previous = *before
	}
	return previous
}

// assertionError is a difference between an endpoint's state and the specification.
type assertionError struct {
	Endpoint string // with the line of the program that made it
	shadow.Difference
}

// Error tells the difference in one line and then the history, a line each.
func (e *assertionError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "udat: assertion: %s: ", e.Endpoint)
	if e.Impossible {
		fmt.Fprintf(&b, "%s has happened, which the specification does not allow in %s", e.At, either(e.Allowed))
	} else {
		fmt.Fprintf(&b, "at %s the state is %v, the specification allows %s", e.At, e.Got, either(e.Allowed))
	}
	for _, s := range e.History {
		b.WriteString("\n\t" + stepText(s))
	}
	return b.String()
}

func stepText(s shadow.Step) string {
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

func either(states []shadow.State) string {
	names := make([]string, len(states))
	for i, s := range states {
		names[i] = s.String()
	}
	return strings.Join(names, " or ")
}

// watch returns a shadow of a new endpoint, nil without assertions. name names it in a difference.
func watch(endpoint shadow.Endpoint, name func() string) *shadow.Shadow {
	report := assertions.Load()
	if report == nil {
		return nil
	}
	return shadow.New(endpoint, func(d shadow.Difference) { (*report)(&assertionError{name(), d}) })
}
