// Package connphase has the phases of a connection: what moves it from one to the
// next, and what the program hears of that. It knows nothing of DAT.
//
// Calls, the library's events and timers race. All of them go through one table,
// under one lock, so that each attempt has one outcome and each connection one end,
// whoever is first.
package connphase

//go:generate go tool -modfile=../../../scripts/tools/go.mod stringer -output=phase_string.go -type=Phase,Input,Outcome

// A Phase of a connection.
type Phase uint32

const (
	Idle       Phase = iota // nothing has begun
	Attempting              // the library is connecting, or accepting
	Connected               // the connection is there
	Draining                // requests complete, before the library disconnects
	Leaving                 // the library is disconnecting
	Aborted                 // the binding has ended the attempt, which the library may go on with
	Refused                 // the library has ended the attempt
	Over                    // the connection has ended
	Emptied                 // the library is disconnecting, and has forgotten what was posted
	Vacant                  // it is over, and nothing is posted in the library
	phases
)

// Ending reports whether the library is disconnecting, or there is nothing to
// disconnect any more.
func (p Phase) Ending() bool { return p >= Leaving }

// Ended reports whether the connection, or the attempt, has had its end.
func (p Phase) Ended() bool { return p >= Aborted && p != Emptied }

// Empty reports whether the library must not get any more operations: it takes the
// endpoint for one that was never connected.
func (p Phase) Empty() bool { return p >= Emptied }

// An Input is what happens to a connection: a call of the program, an event of the
// library, or a decision of the binding.
type Input uint8

const (
	Begin      Input = iota // call: an attempt is about to begin
	Withdraw                // call: the library has refused to begin it
	See                     // the library shows the connection, before its event
	Establish               // event: the connection is established
	Fail                    // event: the attempt has failed, or the connection broke
	Disconnect              // event: disconnected, which an aborted attempt reports too
	Abort                   // call, timer: the attempt is to have no other outcome
	Drain                   // call: requests complete before the disconnect
	Leave                   // call, timer: the library is about to disconnect
	Forget                  // timer: the library will not report the end
	Empty                   // the native endpoint is about to be reset, or is a new one
	inputs
)

// An Outcome is what is to be done about an input.
type Outcome uint8

const (
	None    Outcome = iota // nothing
	Deliver                // the program gets the event
	Drop                   // nobody gets the event
	Owe                    // the program gets the event when the native endpoint is replaced
	Hold                   // the program gets the event when the requests are settled
)

type move struct {
	allowed bool
	to      Phase
	outcome Outcome
}

// rules say what an input does in some phases. It is not allowed in any other.
var rules = []struct {
	in      Input
	from    []Phase
	to      Phase
	outcome Outcome
}{
	{Begin, []Phase{Idle}, Attempting, None},
	{Withdraw, []Phase{Attempting}, Idle, None},
	{See, []Phase{Attempting}, Connected, None},
	{Establish, []Phase{Attempting, Connected}, Connected, Deliver},
	{Establish, []Phase{Draining}, Draining, Deliver},
	{Establish, []Phase{Leaving}, Leaving, Deliver},
	{Establish, []Phase{Emptied}, Emptied, Deliver},
	{Abort, []Phase{Attempting}, Aborted, Owe},
	{Drain, []Phase{Connected}, Draining, None},
	{Leave, []Phase{Connected, Draining, Leaving}, Leaving, None},
	{Forget, []Phase{Connected, Draining, Leaving}, Over, Owe},
	{Forget, []Phase{Emptied}, Vacant, Owe},
	{Fail, []Phase{Attempting}, Refused, Owe},
	{Fail, []Phase{Connected, Draining, Leaving}, Over, Deliver},
	{Fail, []Phase{Emptied}, Vacant, Deliver},
	{Disconnect, []Phase{Attempting}, Refused, Owe},
	{Disconnect, []Phase{Connected, Draining, Leaving}, Over, Deliver},
	{Disconnect, []Phase{Emptied}, Vacant, Deliver},
	{Empty, []Phase{Leaving, Emptied}, Emptied, None},
	{Empty, []Phase{Idle, Aborted, Refused, Over, Vacant}, Vacant, None},
}

var table = func() (t [phases][inputs]move) {
	for p := range phases {
		for _, event := range []Input{Establish, Fail, Disconnect} {
			t[p][event] = move{true, p, Drop} // of what has ended, or was not begun
		}
	}
	for _, r := range rules {
		for _, p := range r.from {
			t[p][r.in] = move{true, r.to, r.outcome}
		}
	}
	return t
}()
