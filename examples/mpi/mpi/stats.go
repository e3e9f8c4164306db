package mpi

// Stats counts what a rank has done to pass messages, since Init.
type Stats struct {
	Short      uint64 // messages written into rings of peers, those of the protocol included
	Eager      uint64 // messages sent to shared receive queues, likewise
	Offered    uint64 // messages that were offered, to be read
	Reports    uint64 // RDMA writes that told peers what they are allowed
	Parted     uint64 // connections that were ended since there were too many
	Sleeps     uint64 // times that somebody slept for want of news
	Naps       uint64 // sleeps that ended by themselves
	Late       uint64 // of those, the ones that ended with news which no event had told of
	Registered uint64 // long messages, and long pieces of windows, whose memory was registered
	Found      uint64 // those whose memory still was
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
