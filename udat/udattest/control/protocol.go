// Code generated from scripts/vm/control; DO NOT EDIT.

package control

// Request is a request from a program in a machine to the test bed, over the socket Socket: a JSON object and a
// newline. The answer is a Reply in the same form.
type Request struct {
	ID   uint64 `json:"-"` // of the answer
	Verb Verb
	Rank int // the machine concerned

	// Of a meeting.
	Name, Value string
	Among       []int // the ranks that take part; none: all
}

// Socket is the path of the test bed's socket in a machine.
const Socket = "/run/goudat/control"

// Verb is the kind of a Request.
type Verb string

// The verbs. A cut link drops everything in both directions. A paused machine stands still, and does not notice. A
// killed machine is gone, and its exit code no longer counts.
const (
	VerbCut     Verb = "cut"
	VerbRestore Verb = "restore"
	VerbPause   Verb = "pause"
	VerbResume  Verb = "resume"
	VerbKill    Verb = "kill"
	VerbMeet    Verb = "meet" // wait until all who take part have called with this name, and return the values of all
)

// Reply is the answer to a Request.
type Reply struct {
	ID     uint64   `json:"-"`
	Error  string   // empty: success
	Values []string // by rank, of a meeting; empty for a machine that is gone
}
