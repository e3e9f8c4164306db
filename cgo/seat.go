package cgo

// Seat is an eventfd that an agent makes readable, once, instead of its queue's.
type Seat int

const (
	// NoSeat has the agent report to its queue.
	NoSeat Seat = -1

	// SameSeat leaves the agent with what it was given before.
	SameSeat Seat = -2
)
