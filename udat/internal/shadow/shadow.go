// Package shadow compares what endpoints do with the specification. It decides nothing.
package shadow

import (
	"slices"
	"sync"
	"time"

	"github.com/goudat/goudat/cgo"
)

type (
	// State is a state of an endpoint.
	State = cgo.EPState
	// Event is the number of a connection event.
	Event = cgo.EventNumber
)

// Endpoint is what a Shadow follows.
type Endpoint struct {
	// State returns the state that the library reports.
	State func(op string) (State, error)
	// TryState is State for a caller that may hold an EVD's lock. It reports false if it would have
	// to wait.
	TryState func(op string) (State, bool)
}

// Difference is one between an endpoint and the specification.
type Difference struct {
	At         string // the call or the event
	Impossible bool   // At could not have happened; otherwise the state is wrong
	Allowed    []State
	Got        State // unless Impossible
	History    []Step
}

// Step is a call or an event in the life of an endpoint.
type Step struct {
	What     string // the name of the call, with a word for one that was begun or is done, or of the event
	Time     time.Time
	Count    int // of steps that are the same, of which Time is that of the last
	State    State
	HasState bool
	Err      error
}

// A Shadow follows an endpoint through the rules of the specification, call by call and event
// by event, and compares. Begin on a nil Shadow does nothing.
//
// The library moves by itself, and the program learns of it later; calls overlap. So a shadow keeps
// every explanation of what was seen so far. Nothing is reported while there is one.
type Shadow struct {
	endpoint Endpoint
	report   func(Difference)

	mu           sync.Mutex
	explanations []explanation  // none once a difference was reported, or the endpoint is freed
	calls        [maxCalls]Call // in progress, "" for none
	history      history
}

// An explanation is one account of what was seen so far. It is comparable.
type explanation struct {
	state State
	// untaken are the events that the library has queued and the program has not taken, in
	// order; 0 for none.
	untaken [maxUntaken]Event
	// progress is that of each call in progress.
	progress [maxCalls]progress
}

type progress uint8

const (
	notYet    progress = iota
	succeeded          // has taken effect
	failed             // has failed, with the effect that goes with it
)

const (
	// maxUntaken is for a few connections, since events outlast a reset.
	maxUntaken = 8
	// maxExplanations is far more than a program leads to that takes its events. Each attempt of
	// one that does not has several outcomes.
	maxExplanations = 256
	// maxCalls is for one that changes the endpoint, and for the answer to
	// the request of a reserved service point beside its Free.
	maxCalls = 3
)

// New follows an endpoint that is being created. report gets its first difference.
func New(endpoint Endpoint, report func(Difference)) *Shadow {
	s := &Shadow{endpoint: endpoint, report: report}
	s.SetState(cgo.EPStateUnconnected)
	s.history.add(Step{What: string(callCreate), State: cgo.EPStateUnconnected, HasState: true})
	return s
}

// SetState makes the state the only explanation.
func (s *Shadow) SetState(state State) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.explanations = []explanation{{state: state}}
}

// CallInProgress is a call that has begun. The zero value does nothing.
type CallInProgress struct {
	shadow *Shadow
	call   string
	slot   int
}

// Begin notes a call, which may have its effect on the endpoint at any time until End.
func (s *Shadow) Begin(c Call) CallInProgress {
	if s == nil {
		return CallInProgress{}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.history.add(Step{What: string(c) + " begun"})
	if len(s.explanations) == 0 {
		return CallInProgress{}
	}
	slot := slices.Index(s.calls[:], "")
	if slot < 0 {
		s.explanations = nil // more at a time than can be followed
		return CallInProgress{}
	}
	s.calls[slot] = c
	return CallInProgress{s, string(c), slot}
}

// End notes that the call has returned *err. A defer needs the address.
func (c CallInProgress) End(err *error) {
	if c.shadow == nil {
		return
	}
	look := func() Step {
		step := c.shadow.tryStep(c.call + " done")
		step.Err = *err
		return step
	}
	c.shadow.take(c.call, look, func(possible []explanation) []explanation {
		c.shadow.calls[c.slot] = ""
		if *err == nil {
			return withProgress(possible, c.slot, succeeded)
		}
		if after := withProgress(possible, c.slot, failed); len(after) > 0 {
			return after
		}
		return withProgress(possible, c.slot, notYet)
	})
}

// withProgress returns the explanations in which a call that has returned was so far,
// without the call.
func withProgress(possible []explanation, slot int, p progress) (after []explanation) {
	for _, b := range possible {
		if b.progress[slot] == p {
			b.progress[slot] = notYet
			after = append(after, b)
		}
	}
	return after
}

// Observe returns the state of the endpoint, and compares it. The endpoint is alive meanwhile.
func (s *Shadow) Observe(op string) (state State, err error) {
	look := func() Step {
		state, err = s.endpoint.State(op)
		return Step{What: op, State: state, HasState: err == nil, Err: err}
	}
	s.take(op, look, unchanged)
	return state, err
}

func unchanged(possible []explanation) []explanation { return possible }

// Event notes an event of the connection. It is called in the order in which the
// library has queued the events, by a caller who may hold the lock of an EVD.
func (s *Shadow) Event(n Event) {
	s.happened(n, func(possible []explanation) (after []explanation) {
		for _, b := range possible {
			// Requests and other events come to EVDs of their own.
			first := slices.IndexFunc(b.untaken[:], func(e Event) bool {
				return e != 0 && (e == cgo.EventConnectionRequest) == (n == cgo.EventConnectionRequest)
			})
			if first >= 0 && b.untaken[first] == n {
				copy(b.untaken[first:], b.untaken[first+1:])
				b.untaken[maxUntaken-1] = 0
				after = append(after, b)
			}
		}
		return after
	})
}

// Completion notes the completion of an operation, with the lock of an EVD held.
func (s *Shadow) Completion() { s.happened(cgo.EventDTOCompletion, unchanged) }

func (s *Shadow) happened(event Event, fit func(possible []explanation) []explanation) {
	s.take(event.String(), func() Step { return s.tryStep(event.String()) }, fit)
}

// Posted notes an operation that the library has accepted, by the name of its call.
func (s *Shadow) Posted(call string) {
	look := func() Step {
		state, err := s.endpoint.State(call)
		return Step{What: call, State: state, HasState: err == nil}
	}
	s.take(call, look, func(possible []explanation) []explanation {
		if slices.ContainsFunc(possible, func(b explanation) bool { return len(Call(call).moves(b.state)) > 0 }) {
			return possible
		}
		return nil
	})
}

// Assert calls a function that may report a difference to the program. If that panics, the lock is
// unlocked: whoever posts or takes events saves the defer.
func Assert(lock sync.Locker, look func()) {
	panics := true
	defer func() {
		if panics {
			lock.Unlock()
		}
	}()
	look()
	panics = false
}

// tryStep makes a step, with the state if that can be read. The caller may hold an EVD's lock.
func (s *Shadow) tryStep(what string) Step {
	state, ok := s.endpoint.TryState(what)
	return Step{What: what, State: state, HasState: ok}
}

// take goes on by one step, and reports a difference. look makes the step, and fit returns those
// of the possible explanations that fit what has happened, both with mu held.
func (s *Shadow) take(at string, look func() Step, fit func(possible []explanation) []explanation) {
	s.mu.Lock()
	difference := s.compare(at, look(), fit)
	s.mu.Unlock()
	if difference != nil {
		s.report(*difference)
	}
}

func (s *Shadow) compare(at string, step Step, fit func(possible []explanation) []explanation) *Difference {
	s.history.add(step)
	d, refuted := Difference{At: at, Impossible: true}, s.narrow(fit)
	if refuted == nil && step.HasState {
		d = Difference{At: at, Got: step.State}
		refuted = s.narrow(func(possible []explanation) []explanation {
			return slices.DeleteFunc(slices.Clone(possible), func(b explanation) bool { return b.state != step.State })
		})
	}
	if refuted == nil {
		return nil
	}
	for _, b := range refuted {
		if b.state != stateNone && !slices.Contains(d.Allowed, b.state) {
			d.Allowed = append(d.Allowed, b.state)
		}
	}
	d.History = s.history
	return &d
}

// narrow goes on with those of the possible explanations that fit. If none does, it returns what
// was possible, and ends the following of the endpoint: what comes after is no news.
func (s *Shadow) narrow(fitting func(possible []explanation) []explanation) (refuted []explanation) {
	possible := s.possible()
	fits := fitting(possible)
	s.explanations = fits
	if !slices.ContainsFunc(fits, func(b explanation) bool { return b.state != stateNone }) {
		s.explanations = nil // the endpoint is freed
	}
	if len(fits) == 0 {
		return possible
	}
	return nil
}

// possible adds to the explanations all that the library may have done since, and that the calls in
// progress may have. It returns nil if there are no explanations, or more than can be followed.
func (s *Shadow) possible() []explanation {
	all := slices.Clone(s.explanations)
	followed := true
	add := func(b explanation, ok bool) {
		followed = followed && ok
		if !slices.Contains(all, b) {
			all = append(all, b)
		}
	}
	for i := 0; i < len(all); i++ {
		if !followed || len(all) > maxExplanations {
			return nil
		}
		b := all[i]
		if b.state == stateNone {
			continue
		}
		for _, m := range silentMoves(b.state) {
			add(b.after(m))
		}
		for slot, call := range s.calls {
			if call == "" || b.progress[slot] == failed {
				continue
			}
			if b.progress[slot] == succeeded {
				if p, ok := provisionalCalls[call]; ok && b.state == p.shown {
					b := b
					b.state, b.progress[slot] = p.back, notYet
					add(b, true)
				}
				continue
			}
			for _, m := range call.moves(b.state) {
				next, ok := b.after(m)
				next.progress[slot] = succeeded
				if m.failed {
					next.progress[slot] = failed
				}
				add(next, ok)
			}
		}
	}
	return all
}

// after returns the explanation after a move. It reports false if the program has not taken so many
// events that another cannot be followed.
func (b explanation) after(m move) (explanation, bool) {
	b.state = m.to
	switch {
	case m.to == stateNone:
		b.untaken = [maxUntaken]Event{} // freeing an endpoint drops its events
	case m.to == cgo.EPStateUnconnected:
		if i := slices.Index(b.untaken[:], cgo.EventConnectionRequest); i >= 0 {
			// Its service point is freed: it was rejected.
			copy(b.untaken[i:], b.untaken[i+1:])
			b.untaken[maxUntaken-1] = 0
		}
	case m.reports != 0:
		i := slices.Index(b.untaken[:], 0)
		if i < 0 {
			return b, false
		}
		b.untaken[i] = m.reports
	}
	return b, true
}

// stepsKept is how much of its history an endpoint remembers.
const stepsKept = 64

// history has the last calls and events of an endpoint.
type history []Step

// add notes a step. One that repeats the last is counted with it, for programs that poll.
func (h *history) add(s Step) {
	s.Time, s.Count = time.Now(), 1
	if n := len(*h); n > 0 {
		last := &(*h)[n-1]
		if last.What == s.What && last.State == s.State && last.HasState == s.HasState && last.Err == nil && s.Err == nil {
			last.Time = s.Time
			last.Count++
			return
		}
		if n == stepsKept {
			*h = slices.Delete(*h, 0, 1)
		}
	}
	*h = append(*h, s)
}
