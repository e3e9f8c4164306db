package udat

import (
	"slices"

	"github.com/goudat/goudat/udat/internal/lockorder"
)

// A shadow follows an endpoint through the rules of the specification, call by
// call and event by event, and compares. It decides nothing.
//
// The library moves by itself, and the program learns of it later; calls overlap.
// So a shadow has beliefs: every explanation of what was seen so far. Nothing is
// reported while there is one.
type shadow struct {
	ep     *EP
	report func(*AssertionError)

	mu      lockorder.Mutex[shadowRank]
	beliefs []belief // none once a difference was reported, or the endpoint is freed
	calls   [maxShadowCalls]epCall
	busy    [maxShadowCalls]bool
	history stepHistory
}

// A belief is one explanation. It is a value that can be compared.
type belief struct {
	state EPState
	// owed are the events of what happened already, in their order; 0 for none.
	owed [maxOwedEvents]EventNumber
	// done says of each call in progress how far it is.
	done [maxShadowCalls]progress
}

type progress uint8

const (
	notYet    progress = iota
	succeeded          // has taken effect
	failed             // has failed, with the effect that goes with it
)

const (
	// maxOwedEvents is for a few connections, since events outlast a reset.
	maxOwedEvents = 8
	// maxShadowCalls is for one that changes the endpoint, and for the answer to
	// the request of a reserved service point beside its Free.
	maxShadowCalls = 3
)

// newShadow returns nil, on which all methods do nothing, unless assertions are on.
func newShadow(ep *EP) *shadow {
	report := assertions.Load()
	if report == nil {
		return nil
	}
	s := &shadow{ep: ep, report: *report, beliefs: []belief{{state: EPStateUnconnected}}}
	s.history.add(AssertionStep{What: callCreate.String(), State: EPStateUnconnected, HasState: true})
	return s
}

// A shadowCall is a call in progress. The zero value does nothing.
type shadowCall struct {
	shadow *shadow
	slot   int
}

// begin notes a call that is about to have its effect on the endpoint, which it
// may have at any time until end.
func (s *shadow) begin(c epCall) shadowCall {
	if s == nil {
		return shadowCall{}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.history.add(AssertionStep{What: c.String() + " begun"})
	if len(s.beliefs) == 0 {
		return shadowCall{}
	}
	slot := slices.Index(s.busy[:], false)
	if slot < 0 {
		s.beliefs = nil // more at a time than can be followed
		return shadowCall{}
	}
	s.calls[slot], s.busy[slot] = c, true
	return shadowCall{s, slot}
}

// end notes that the call has returned *err. A defer needs the address.
func (c shadowCall) end(err *error) {
	if c.shadow == nil {
		return
	}
	c.conclude("done", *err, func(possible []belief) []belief {
		if *err == nil {
			return withProgress(possible, c.slot, succeeded)
		}
		if after := withProgress(possible, c.slot, failed); len(after) > 0 {
			return after
		}
		return withProgress(possible, c.slot, notYet)
	})
}

func (c shadowCall) conclude(how string, err error, explain func(possible []belief) []belief) {
	s := c.shadow
	s.mu.Lock()
	call := s.calls[c.slot].String()
	step := s.step(call + " " + how)
	step.Err = err
	difference := s.take(step, call, func(possible []belief) []belief {
		s.busy[c.slot] = false
		return explain(possible)
	})
	s.busy[c.slot] = false
	s.mu.Unlock()
	s.raise(difference)
}

// withProgress returns the beliefs in which a call that has returned was so far,
// without the call.
func withProgress(possible []belief, slot int, p progress) (after []belief) {
	for _, b := range possible {
		if b.done[slot] == p {
			b.done[slot] = notYet
			after = append(after, b)
		}
	}
	return after
}

// observe returns the state of the endpoint, and compares it. The caller holds the
// gate.
func (s *shadow) observe(op string) (EPState, error) {
	s.mu.Lock()
	state, err := s.ep.libraryState(op)
	difference := s.take(AssertionStep{What: op, State: state, HasState: err == nil, Err: err}, op, unchanged)
	s.mu.Unlock()
	s.raise(difference)
	return state, err
}

func unchanged(possible []belief) []belief { return possible }

// event notes an event of the connection. It is called in the order in which the
// library has queued the events, by a caller who may hold the lock of an EVD.
func (s *shadow) event(n EventNumber) {
	if s == nil {
		return
	}
	s.mu.Lock()
	difference := s.take(s.step(n.String()), n.String(), func(possible []belief) (after []belief) {
		for _, b := range possible {
			// Requests have an event dispatcher of their own.
			i := slices.IndexFunc(b.owed[:], func(owed EventNumber) bool {
				return (owed == EventConnectionRequest) == (n == EventConnectionRequest)
			})
			if i >= 0 && b.owed[i] == n {
				copy(b.owed[i:], b.owed[i+1:])
				b.owed[maxOwedEvents-1] = 0
				after = append(after, b)
			}
		}
		return after
	})
	s.mu.Unlock()
	s.raise(difference)
}

// completion notes the completion of an operation, with the lock of an EVD held.
func (s *shadow) completion() {
	if s != nil { // without assertions, as mostly, nothing is called
		s.completed()
	}
}

func (s *shadow) completed() {
	const event = EventDTOCompletion
	s.mu.Lock()
	difference := s.take(s.step(event.String()), event.String(), unchanged)
	s.mu.Unlock()
	s.raise(difference)
}

// postCalls finds a post by its C name.
var postCalls = func() map[string]epCall {
	m := map[string]epCall{callPostRecv.String(): callPostRecv}
	for _, c := range requestPosts {
		m[c.String()] = c
	}
	return m
}()

// posted notes an operation that the library has accepted. The caller holds the
// lock of the direction, under which the native endpoint stays what it is. A
// difference is reported without it: a post does not release it by a defer.
func (s *shadow) posted(d *direction, op string) {
	if s == nil {
		return
	}
	call, ok := postCalls[op]
	if !ok {
		return // a receive that a Modify posts again
	}
	s.mu.Lock()
	state, err := s.ep.libraryState(op)
	difference := s.take(AssertionStep{What: op, State: state, HasState: err == nil}, op, func(possible []belief) []belief {
		if slices.ContainsFunc(possible, func(b belief) bool { return len(call.moves(b.state)) > 0 }) {
			return possible
		}
		return nil
	})
	s.mu.Unlock()
	if difference != nil {
		d.mu.Unlock()
		s.raise(difference)
		d.mu.Lock()
	}
}

// step makes a step with the state of the endpoint, if that can be read: the
// gate is closed while the native endpoint is replaced or freed. It does not wait
// for the gate, since the caller may hold an EVD's lock.
func (s *shadow) step(what string) AssertionStep {
	step := AssertionStep{What: what}
	o := &s.ep.obj
	if !o.gate.TryRLock() {
		return step
	}
	defer o.gate.RUnlock()
	if o.state == lifeAlive {
		state, err := s.ep.libraryState(what)
		step.State, step.HasState = state, err == nil
	}
	return step
}

// take goes on by one step. explain returns those of the possible beliefs that fit what
// has happened. The caller holds mu.
func (s *shadow) take(step AssertionStep, at string, explain func(possible []belief) []belief) *AssertionError {
	s.history.add(step)
	if len(s.beliefs) == 0 {
		return nil
	}
	possible := s.possible()
	after := explain(possible)
	if len(after) == 0 {
		return s.difference(AssertionError{At: at, Impossible: true}, possible)
	}
	s.beliefs = after
	if !slices.ContainsFunc(after, func(b belief) bool { return b.state != stateNone }) {
		s.beliefs = nil
		return nil
	}
	if !step.HasState {
		return nil
	}
	possible = s.possible()
	after = nil
	for _, b := range possible {
		if b.state == step.State {
			after = append(after, b)
		}
	}
	if len(after) == 0 {
		return s.difference(AssertionError{At: at, Got: step.State}, possible)
	}
	s.beliefs = after
	return nil
}

// difference ends the following of the endpoint: what comes after is no news.
func (s *shadow) difference(e AssertionError, possible []belief) *AssertionError {
	for _, b := range possible {
		if b.state != stateNone && !slices.Contains(e.Allowed, b.state) {
			e.Allowed = append(e.Allowed, b.state)
		}
	}
	e.Endpoint = s.ep.obj.String()
	e.History = slices.Clone(s.history)
	s.beliefs = nil
	return &e
}

func (s *shadow) raise(e *AssertionError) {
	if e != nil {
		s.report(e)
	}
}

// possible adds to the beliefs all that the library may have done since, and
// that the calls in progress may have.
func (s *shadow) possible() []belief {
	all := slices.Clone(s.beliefs)
	add := func(b belief) {
		if !slices.Contains(all, b) {
			all = append(all, b)
		}
	}
	for i := 0; i < len(all); i++ {
		b := all[i]
		if b.state == stateNone {
			continue
		}
		for _, m := range silentMoves(b.state) {
			add(b.after(m))
		}
		for slot, call := range s.calls {
			if !s.busy[slot] || b.done[slot] == failed {
				continue
			}
			if b.done[slot] == succeeded {
				if p, ok := provisionalCalls[call]; ok && b.state == p.shown {
					b := b
					b.state, b.done[slot] = p.back, notYet
					add(b)
				}
				continue
			}
			for _, m := range call.moves(b.state) {
				next := b.after(m)
				next.done[slot] = succeeded
				if m.failed {
					next.done[slot] = failed
				}
				add(next)
			}
		}
	}
	return all
}

// after returns the belief after a move.
func (b belief) after(m move) belief {
	b.state = m.to
	switch {
	case m.to == stateNone:
		b.owed = [maxOwedEvents]EventNumber{} // freeing an endpoint drops its events
	case m.to == EPStateUnconnected:
		if i := slices.Index(b.owed[:], EventConnectionRequest); i >= 0 {
			// Its service point is freed: it was rejected.
			copy(b.owed[i:], b.owed[i+1:])
			b.owed[maxOwedEvents-1] = 0
		}
	case m.reports != 0:
		i := slices.Index(b.owed[:], 0)
		if i < 0 {
			b.state = stateNone // the program takes no events: nothing can be said of them
			break
		}
		b.owed[i] = m.reports
	}
	return b
}

// modifyCall and disconnectCall return the call for its arguments.
func modifyCall(mask EPParamMask) epCall {
	if mask&EPFieldPZHandle != 0 {
		return callModifyPZ
	}
	return callModify
}

func disconnectCall(flags CloseFlags) epCall {
	if flags == CloseGraceful {
		return callDisconnectGraceful
	}
	return callDisconnectAbrupt
}
