package mpi

// handler handles the messages of a communicator on arrival, instead of receives. Whoever makes progress calls it,
// with mu locked. It may send.
type handler func(from, tag int, message []byte)

// handle passes all messages of the communicator to a handler.
func (w *World) handle(c *Comm, h handler) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.handlers[c.userContext()] = func(m *message) {
		from := c.rankOf(m.source)
		if m.from == nil {
			h(from, m.tag, m.payload)
			return
		}
		// The peer had no room to send it, and has offered it.
		memory := make([]byte, m.length)
		m.from.fetchOffer(m, memory, func(err error) {
			if err == nil {
				h(from, m.tag, memory)
			}
		})
	}
	// Messages that arrived earlier.
	for m := range w.matcher.messages(c.userContext()) {
		w.matcher.forget(m)
		w.release(m)
		w.handlers[m.context](m)
	}
}
