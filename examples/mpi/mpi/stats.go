package mpi

// Stats counts what a rank has done to pass messages since Init.
type Stats struct {
	Short      uint64 // messages written into peers' rings, including those of the protocol
	Eager      uint64 // messages sent to shared receive queues, including those of the protocol
	Offered    uint64 // messages that were offered for the receiver to read
	Reports    uint64 // RDMA writes that told peers what they are allowed
	Parted     uint64 // connections that were ended because there were too many
	Sleeps     uint64 // times that a goroutine slept because nothing arrived
	Naps       uint64 // sleeps that ended by themselves
	Late       uint64 // naps after which there was something that no event had reported
	Registered uint64 // long messages, and long pieces of windows, whose memory was registered
	Found      uint64 // those whose memory was registered already
}

// Stats returns the counters.
func (w *World) Stats() Stats {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.stats
	if w.registrations != nil {
		c := w.registrations.Stats()
		s.Registered, s.Found = c.Misses, c.Hits
	}
	return s
}
