package mpi

// handler takes messages of a communicator as they come, instead of receives. It
// is called by who makes progress, who holds mu, and may send.
type handler func(from, tag int, message []byte)

// handle has a handler take the messages of the communicator.
func (w *World) handle(c *Comm, h handler) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.handlers[c.userContext()] = func(m *message) {
		from := c.rankOf(m.source)
		if m.from == nil {
			h(from, m.tag, m.payload)
			return
		}
		// The peer had no room to send it.
		memory := make([]byte, m.length)
		m.from.fetchOffer(m, memory, func(err error) {
			if err == nil {
				h(from, m.tag, memory)
			}
		})
	}
	// What has come before.
	for i := 0; i < len(w.matcher.unexpected); {
		m := w.matcher.unexpected[i]
		if m.context != c.userContext() {
			i++
			continue
		}
		w.matcher.forget(m)
		w.release(m)
		w.handlers[m.context](m)
	}
}
