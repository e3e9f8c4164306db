package conformance

import "fmt"

//go:generate env GOWORK=off go tool -modfile=../../tools/go.mod stringer -linecomment -output=outcome_string.go -type=Outcome

// Outcome is the suite's verdict on a clause on an adapter.
type Outcome uint8

// The outcomes.
const (
	Violated Outcome = iota // violated
	NotShown                // not shown
	Shown                   // shown
)

// MarshalText returns the outcome as in a JSON report.
func (o Outcome) MarshalText() ([]byte, error) { return []byte(o.String()), nil }

// UnmarshalText reads the text of MarshalText.
func (o *Outcome) UnmarshalText(text []byte) error {
	for _, known := range []Outcome{Violated, NotShown, Shown} {
		if known.String() == string(text) {
			*o = known
			return nil
		}
	}
	return fmt.Errorf("conformance: there is no outcome %q", text)
}
