package launch

import "net/netip"

// What goes over the socket is JSON, one object after the other.

// Place is where a rank listens.
type Place struct {
	Address   netip.Addr
	Qualifier uint64
}

// Notice is what the launcher tells a rank. One of its fields is set.
type Notice struct {
	World []Place `json:",omitempty"` // of all ranks, when the last has told its own
	Dial  *int    `json:",omitempty"` // a rank that asks for a connection to it
	Died  *int    `json:",omitempty"` // a rank that has gone without leaving
	Left  bool    `json:",omitempty"` // all ranks are leaving
}

// report is what a rank tells the launcher.
type report struct {
	Listening *Place `json:",omitempty"`
	Dial      *int   `json:",omitempty"` // the rank that is to connect
	Leaving   bool   `json:",omitempty"`
}

// What a rank finds in its environment, and the descriptor of its socket.
const (
	rankVariable = "GOUDAT_MPI_RANK"
	sizeVariable = "GOUDAT_MPI_SIZE"
	jobVariable  = "GOUDAT_MPI_JOB"
	controlFD    = 3
)
