package conformance

import "fmt"

//go:generate go tool -modfile=../../scripts/tools/go.mod stringer -linecomment -output=outcome_string.go -type=Outcome

// Outcome is what the suite found of a clause on an adapter.
type Outcome uint8

// The outcomes.
const (
	Violated Outcome = iota // violated
	NotShown                // not shown
	Shown                   // shown
)

// MarshalText gives the outcome as a report in JSON has it.
func (o Outcome) MarshalText() ([]byte, error) { return []byte(o.String()), nil }

// UnmarshalText takes what MarshalText gave.
func (o *Outcome) UnmarshalText(text []byte) error {
	for _, known := range []Outcome{Violated, NotShown, Shown} {
		if known.String() == string(text) {
			*o = known
			return nil
		}
	}
	return fmt.Errorf("conformance: there is no outcome %q", text)
}
