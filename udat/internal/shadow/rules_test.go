package shadow

import (
	"slices"
	"strings"
	"testing"

	"github.com/goudat/goudat/cgo"
)

// known reports whether the table may name the state.
func known(s State) bool { return s == stateNone || slices.Contains(epStates, s) }

func allCalls() map[Call]bool {
	all := map[Call]bool{}
	for _, r := range callRules {
		for _, c := range r.calls {
			all[c] = true
		}
	}
	return all
}

func TestShadowTableIsComplete(t *testing.T) {
	for c := range allCalls() {
		for _, from := range append(states(stateNone), epStates...) {
			possible, done := c.moves(from), 0
			for _, m := range possible {
				if !known(m.to) {
					t.Errorf("%v leads from %v to %v", c, from, m.to)
				}
				if !m.failed {
					done++
				}
			}
			if done > 1 || done == 0 && len(possible) > 0 {
				t.Errorf("%v in %v has %d ways to succeed", c, from, done)
			}
		}
	}
	for _, r := range callRules {
		for _, from := range r.from {
			if !known(from) {
				t.Errorf("%v has a rule for %v", r.calls, from)
			}
		}
	}
	for n := cgo.EventConnectionRequest; n <= cgo.EventConnectionUnreachable; n++ {
		if strings.HasPrefix(n.String(), "EventNumber(") {
			continue
		}
		if !slices.ContainsFunc(eventRules, func(r eventRule) bool { return r.event == n }) {
			t.Errorf("%v has no rule", n)
		}
	}
	for _, r := range eventRules {
		for _, s := range append(slices.Clone(r.from), r.to) {
			if !known(s) {
				t.Errorf("%v has a rule for %v", r.event, s)
			}
		}
	}
}

// Every state can be reached, and left for good.
func TestShadowTableIsConnected(t *testing.T) {
	walk := func(from State) []State {
		seen := states(from)
		for i := 0; i < len(seen); i++ {
			next := slices.Clone(silentMoves(seen[i]))
			for c := range allCalls() {
				next = append(next, c.moves(seen[i])...)
			}
			for _, m := range next {
				if !slices.Contains(seen, m.to) {
					seen = append(seen, m.to)
				}
			}
		}
		return seen
	}
	fromNone := walk(stateNone)
	for _, s := range epStates {
		if !slices.Contains(fromNone, s) {
			t.Errorf("%v cannot be reached", s)
		}
		if !slices.Contains(walk(s), stateNone) {
			t.Errorf("an endpoint in %v can never be freed", s)
		}
	}
}

// What the manual pages say of calls, state by state: where the call leads, "="
// for nowhere, "-" when it is disallowed.
func TestShadowTableAgreesWithManual(t *testing.T) {
	letters := map[State]string{
		cgo.EPStateUnconnected: "U", cgo.EPStateReserved: "R", cgo.EPStatePassiveConnectionPending: "P",
		cgo.EPStateActiveConnectionPending: "A", cgo.EPStateCompletionPending: "C",
		cgo.EPStateConnected: "N", cgo.EPStateDisconnectPending: "G", cgo.EPStateDisconnected: "D", stateNone: ".",
	}
	for c, want := range map[Call]string{
		//                     URPACNGD
		Modify:             "===-----",
		ModifyPZ:           "=-------",
		DisconnectAbrupt:   "---DDG==",
		DisconnectGraceful: "---DDG==",
		Free:               ".--.....",
		callGetStatus:      "========",
		Connect:            "A-------",
		RSPCreate:          "R-------",
		Reset:              "=------U",
		callPostRecv:       "========",
		callPostSend:       "-----=-=",
	} {
		var got strings.Builder
		for _, from := range epStates {
			letter := "-"
			for _, m := range c.moves(from) {
				if letter = letters[m.to]; m.to == from {
					letter = "="
				}
			}
			got.WriteString(letter)
		}
		if got.String() != want {
			t.Errorf("%v leads to %s, want %s", c, got.String(), want)
		}
	}
}
