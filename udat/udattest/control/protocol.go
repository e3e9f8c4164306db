// Code generated from scripts/vm/control; DO NOT EDIT.

package control

// Request is what a program in a machine asks of the test bed, for which it has the socket Socket: a JSON object
// and the end of a line, answered by a Reply in the same form.
type Request struct {
	ID   uint64 `json:"-"` // that of the answer
	Verb Verb
	Rank int // the machine that it is about

	// Of a meeting.
	Name, Value string
	Among       []int // the ranks that take part, none for all
}

// Socket is where programs in a machine find the test bed.
const Socket = "/run/goudat/control"

// Verb is what a Request asks for.
type Verb string

// The verbs. A link that is cut loses what is sent over it, in both directions. A machine that is paused stands still,
// and does not notice that it did; one that is killed is gone, and its exit code counts no more.
const (
	VerbCut     Verb = "cut"
	VerbRestore Verb = "restore"
	VerbPause   Verb = "pause"
	VerbResume  Verb = "resume"
	VerbKill    Verb = "kill"
	VerbMeet    Verb = "meet" // wait until all who take part have met under this name, and give each the values of all
)

// Reply is the answer to a Request.
type Reply struct {
	ID     uint64   `json:"-"`
	Error  string   // empty: done
	Values []string // by rank, of a meeting; empty for a machine that is gone
}
