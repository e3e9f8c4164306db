// Package connphase has the phases of a connection: which inputs move it from one phase
// to the next, and which events the program gets. It does not depend on DAT.
//
// Calls, events of the library, and timers race. All of them go through one table, under
// one lock. So each attempt has one outcome, and each connection has one end, whichever
// input comes first.
package connphase

//go:generate env GOWORK=off go tool -modfile=../../../scripts/tools/go.mod stringer -output=phase_string.go -type=Phase,Input,Outcome

// A Phase of a connection.
type Phase uint32

const (
	Idle          Phase = iota // no attempt has begun
	Attempting                 // the library is connecting, or accepting
	Connected                  // the connection is established
	Draining                   // requests complete before the library disconnects
	Disconnecting              // the library is disconnecting
	Aborted                    // the binding has ended the attempt; the library may still work on it
	Refused                    // the library has ended the attempt
	Ended                      // the connection has ended
	EndedEmpty                 // the attempt is over, and the native endpoint another one
	phases
)

// Ending reports whether the library is disconnecting, or has nothing left to
// disconnect.
func (p Phase) Ending() bool { return p >= Disconnecting }

// Ended reports whether the connection, or the attempt, has ended.
func (p Phase) Ended() bool { return p >= Aborted }

// Failed reports whether the attempt has failed.
func (p Phase) Failed() bool { return p == Aborted || p == Refused }

// Empty reports whether no more operations may be posted to the library: it takes the
// endpoint for one that was never connected.
func (p Phase) Empty() bool { return p == EndedEmpty }

// An Input is what happens to a connection: a call of the program, an event of the
// library, or a decision of the binding.
type Input uint8

const (
	Begin           Input = iota // call: an attempt is about to begin
	Withdraw                     // call: the library has refused to begin it
	Observe                      // the library shows the connection before it posts the event
	Establish                    // event: the connection is established
	Fail                         // event: the attempt has failed, or the connection broke
	Disconnect                   // event: disconnected; the library also reports an aborted attempt so
	Abort                        // call, timer: the binding ends the attempt
	Drain                        // call: requests complete before the disconnect
	BeginDisconnect              // call, timer: the library is about to disconnect
	Forget                       // timer: the library will not report the end
	Empty                        // the native endpoint is a new one, for an attempt that has failed
	inputs
)

// An Outcome says what to do with an event.
type Outcome uint8

const (
	None              Outcome = iota // there is no event
	Deliver                          // the program gets the event
	Drop                             // nobody gets the event
	KeepUntilReplaced                // the program gets the event when the native endpoint is replaced
	KeepUntilSettled                 // the program gets the event when the requests are settled
)

type move struct {
	allowed bool
	to      Phase
	outcome Outcome
}

// rules say in which phases an input is allowed, and what it does there. In any other
// phase an event is dropped, and any other input is not allowed.
var rules = []struct {
	in      Input
	from    []Phase
	to      Phase
	outcome Outcome
}{
	{Begin, []Phase{Idle}, Attempting, None},
	{Withdraw, []Phase{Attempting}, Idle, None},
	{Observe, []Phase{Attempting}, Connected, None},
	{Establish, []Phase{Attempting, Connected}, Connected, Deliver},
	{Establish, []Phase{Draining}, Draining, Deliver},
	{Establish, []Phase{Disconnecting}, Disconnecting, Deliver},
	{Abort, []Phase{Attempting}, Aborted, KeepUntilReplaced},
	{Drain, []Phase{Connected}, Draining, None},
	{BeginDisconnect, []Phase{Connected, Draining, Disconnecting}, Disconnecting, None},
	{Forget, []Phase{Connected, Draining, Disconnecting}, Ended, KeepUntilReplaced},
	{Fail, []Phase{Attempting}, Refused, KeepUntilReplaced},
	{Fail, []Phase{Connected, Draining, Disconnecting}, Ended, Deliver},
	{Disconnect, []Phase{Attempting}, Refused, KeepUntilReplaced},
	{Disconnect, []Phase{Connected, Draining, Disconnecting}, Ended, Deliver},
	{Empty, []Phase{Idle}, EndedEmpty, None},
}

var table = func() (t [phases][inputs]move) {
	for p := range phases {
		for _, event := range []Input{Establish, Fail, Disconnect} {
			t[p][event] = move{true, p, Drop} // the attempt or connection has ended, or was not begun
		}
	}
	for _, r := range rules {
		for _, p := range r.from {
			t[p][r.in] = move{true, r.to, r.outcome}
		}
	}
	return t
}()
