package mpi

import (
	"cmp"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
)

// A schedule is a collective operation under way: messages, and work to do when the messages before it are done.
// Whoever makes progress advances it, so that an operation that no goroutine waits for needs none of its own.
//
// An operation that fails on one rank fails on all that are still in it: the rank alarms the others. So no rank waits
// forever if another passes a slice of another length or calls another operation.
type schedule struct {
	comm     *Comm
	sequence int // number of the operation in its communicator
	tag      int
	name     string
	steps    []step
	next     int
	seen     int // next at the last call of ask, and asked when it has asked; 0 before
	asked    int
	open     int        // messages under way
	receives []*receive // for the messages since the last work
	scratch  [][]uint64 // memory that goes back at the end
	moving   bool       // advance is running
	due      bool       // advance has to be called
	stopped  bool       // stop was called, because of err
	err      error
	request  Request
}

// step is a message to or from a rank, or work. Work begins when all messages before it are done.
type step struct {
	kind    stepKind
	rank    int // in the communicator
	numbers data
	work    func()
}

type stepKind uint8

const (
	sendStep stepKind = iota
	receiveStep
	workStep
)

func (s *schedule) send(numbers data, dest int) {
	s.steps = append(s.steps, step{kind: sendStep, rank: dest, numbers: numbers})
}

func (s *schedule) receive(numbers data, source int) {
	s.steps = append(s.steps, step{kind: receiveStep, rank: source, numbers: numbers})
}

// then adds work, which may call the program's operation. Whoever makes progress does it, without the lock.
func (s *schedule) then(work func()) {
	s.steps = append(s.steps, step{kind: workStep, work: work})
}

// wait makes later steps wait for the messages so far.
func (s *schedule) wait() { s.then(nil) }

// The messages of a collective operation have a tag of their own: the number of the operation, a digest of everything
// that must be the same on all ranks, and a purpose.
const (
	purposeBits = 2
	digestBits  = 16 // with the purpose
	sequences   = 1 << 15
)

const (
	// alarm says that the operation has failed on a rank. The message has the beginning of the error.
	alarm = iota
	// question comes from a rank that has waited for long. The receiver may be in another operation, without any message
	// that shows that.
	question
	// answer says that the rank has ended the operation. All that it has sent is there before the answer.
	answer
	// content is what the operation needs.
	content
)

// mostWhy is how much of an error an alarm has. It fits into all rings.
const mostWhy = 200

// collective is what must be the same on all ranks.
type collective struct {
	name    string // of the operation and its algorithm
	root    int
	element elementKind
}

func (o collective) digest() int {
	h := fnv.New32a()
	_, _ = h.Write([]byte{byte(o.element), byte(o.root), byte(o.root >> 8), byte(o.root >> 16)}) // has no errors
	_, _ = h.Write([]byte(o.name))
	sum := h.Sum32()
	return int((sum^sum>>digestBits)&(1<<digestBits-1)) | content
}

// schedule returns an empty schedule of an operation.
func (c *Comm) schedule(name string, root int, element elementKind) *schedule {
	return &schedule{comm: c, name: name, tag: collective{name, root, element}.digest()}
}

// refuse ends an operation that this rank cannot take part in.
func (c *Comm) refuse(err error) *Request {
	return (&schedule{comm: c, tag: content, err: err}).start()
}

// start begins the operation.
func (s *schedule) start() *Request {
	c, w := s.comm, s.comm.world
	w.mu.Lock()
	defer w.mu.Unlock()
	if c.freed.Load() {
		return w.endedRequest(ErrFreed)
	}
	s.request = Request{world: w}
	w.pending++
	s.sequence = c.sequence
	s.tag |= s.sequence << digestBits
	c.sequence = (c.sequence + 1) % sequences
	delete(c.failed, (c.sequence+sequences/2)%sequences) // its messages have all arrived long ago
	c.running = append(c.running, s)
	for m := range w.matcher.messages(c.collectiveContext()) {
		if s.concerns(m) && m.tag != s.tag {
			s.hear(m)
			w.drop(m)
		}
	}
	if !s.due {
		s.advance()
	}
	w.run()
	return &s.request
}

// concerns reports whether a message belongs to the operation.
func (s *schedule) concerns(m *message) bool {
	return m.context == s.comm.collectiveContext() && m.tag>>digestBits == s.sequence
}

// hear handles a message of the operation that has another tag.
func (s *schedule) hear(m *message) {
	from := s.comm.rankOf(m.source)
	switch purpose := m.tag & (1<<purposeBits - 1); {
	case purpose == alarm:
		s.fail(fmt.Errorf("%w: rank %d: %s", ErrElsewhere, from, m.payload))
	case m.tag|content != s.tag:
		s.fail(fmt.Errorf("%w: rank %d has called another one than %s", ErrMismatch, from, s.name))
	case purpose == answer && slices.ContainsFunc(s.receives, func(r *receive) bool { return r.source == m.source && s.comm.world.matcher.waits(r) }):
		s.fail(fmt.Errorf("%w: rank %d has ended %s without a message that this rank needs", ErrMismatch, from, s.name))
	}
}

// advance does all steps that are possible now. The caller holds mu, which advance unlocks now and then, and is not in
// the middle of handling a message.
func (s *schedule) advance() {
	w := s.comm.world
	s.due = false
	s.moving = true
	working := false
	defer func() {
		s.moving = false
		if working {
			s.err = cmp.Or(s.err, errGoexit)
			s.advance() // ends the operation
		}
	}()
	for s.err == nil && s.next < len(s.steps) {
		if w.err != nil {
			s.err = w.err
			break
		}
		step := &s.steps[s.next]
		if step.kind == workStep {
			if s.open > 0 {
				return
			}
			s.recycle()
			if step.work != nil {
				working = true
				err := w.call(step.work)
				working = false
				if err != nil {
					s.err = cmp.Or(s.err, err)
					break
				}
			}
		} else {
			s.begin(step)
		}
		s.next++
	}
	if s.err != nil && !s.stopped {
		s.stop()
	}
	if s.open == 0 {
		s.finish()
	}
}

// begin begins a message.
func (s *schedule) begin(step *step) {
	c, w := s.comm, s.comm.world
	if step.kind == receiveStep {
		r := w.receive()
		s.receives = append(s.receives, r)
		s.open++
		r.part = s
		c.post(r, c.collectiveContext(), step.numbers, step.rank, s.tag)
		return
	}
	if _, err := c.begin(s, c.collectiveContext(), step.numbers, step.rank, s.tag); err != nil {
		s.err = err
	}
}

// passed handles the end of a message.
func (s *schedule) passed(r *Request) {
	s.open--
	err := r.err
	if errors.Is(err, ErrTruncated) || err == nil && r.want >= 0 && r.status.Count != r.want {
		err = ErrLength
	}
	if err != nil {
		s.fail(err)
	}
	if s.open == 0 {
		s.plan()
	}
}

// fail ends the operation with an error.
func (s *schedule) fail(err error) {
	if s.err == nil {
		s.err = err
		s.plan()
	}
}

// plan makes whoever makes progress advance the schedule, after the message that is being handled.
func (s *schedule) plan() {
	w := s.comm.world
	if s.moving || s.due {
		return
	}
	s.due = true
	w.due = append(w.due, s)
	w.stir()
}

// task is what run is to advance: a schedule, or the accumulations of a window.
type task interface{ advance() }

// run advances the tasks that are due, and may unlock mu meanwhile.
func (w *World) run() (some bool) {
	for len(w.due) > 0 {
		t := w.due[0]
		w.due = w.due[1:]
		t.advance()
		some = true
	}
	return some
}

// errGoexit says that an operation of the program has called runtime.Goexit, which a failing test does, for example.
var errGoexit = fmt.Errorf("%w: it has ended its goroutine", ErrPanicked)

// call does work that may be the program's own: without mu, which the caller holds. Its panic is an error. If it ends
// the goroutine, call does not return, and the callers' deferred functions have to do the rest, with mu.
func (w *World) call(work func()) (err error) {
	w.work.Add(1) // the memory of windows must stay
	w.mu.Unlock()
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("%w: %v", ErrPanicked, v)
		}
		w.mu.Lock()
		w.work.Done()
	}()
	work()
	return nil
}

// stop ends the receives, and alarms the other ranks, unless one of them has alarmed this rank.
func (s *schedule) stop() {
	c, w := s.comm, s.comm.world
	s.stopped = true
	for _, r := range s.receives {
		if w.matcher.withdraw(r) {
			r.request.done = true
			w.pending--
			s.open--
		}
	}
	if w.err != nil {
		return
	}
	if c.failed == nil {
		c.failed = map[int]bool{}
	}
	c.failed[s.sequence] = true
	for m := range w.matcher.messages(c.collectiveContext()) {
		if s.concerns(m) {
			w.drop(m)
		}
	}
	if errors.Is(s.err, ErrElsewhere) {
		return
	}
	for rank := range c.group {
		if rank != c.rank {
			// A rank that does not get it learns that this rank is lost.
			_, _ = c.begin(nil, c.collectiveContext(), encoded(why(s.err)), rank, s.sequence<<digestBits+alarm)
		}
	}
}

// why returns the beginning of an error's text for another rank, nil without an error.
func why(err error) []byte {
	if err == nil {
		return nil
	}
	text := []byte(err.Error())
	return text[:min(len(text), mostWhy)]
}

// recycle returns the receives of messages that are done.
func (s *schedule) recycle() {
	for _, r := range s.receives {
		s.comm.world.reuse(r)
	}
	s.receives = s.receives[:0]
}

func (s *schedule) finish() {
	c := s.comm
	s.recycle()
	for _, block := range slices.Backward(s.scratch) {
		c.world.scratch.put(block)
	}
	c.running = slices.DeleteFunc(c.running, func(other *schedule) bool { return other == s })
	s.request.complete(Status{}, s.err)
}

// stray handles a message of a collective operation for which no receive is posted. It reports whether the message
// can be discarded.
func (c *Comm) stray(m *message) bool {
	sequence := m.tag >> digestBits
	if c.failed[sequence] {
		return true
	}
	for _, s := range c.running {
		if s.sequence == sequence {
			if m.tag == s.tag {
				return false
			}
			s.hear(m)
			return true
		}
	}
	// Messages of operations that this rank has not begun yet are kept.
	behind := (c.sequence - sequence + sequences) % sequences
	ended := behind > 0 && behind < sequences/2
	if ended && m.tag&(1<<purposeBits-1) == question {
		_, _ = c.begin(nil, c.collectiveContext(), data{}, c.rankOf(m.source), m.tag^question^answer) // it fails at the end of the world
	}
	if !ended {
		c.refuseClosed(m)
	}
	return ended
}

// refuseClosed ends the world if another rank asks for an operation that this rank will never begin, because it has
// closed its world.
func (c *Comm) refuseClosed(m *message) {
	if w := c.world; w.closed && m.tag&(1<<purposeBits-1) == question {
		w.fail(&RankError{w.rank, fmt.Errorf("%w: others wait for it in a collective operation", ErrDied)})
	}
}

// ask asks those that the operation waits for, if it has done nothing since the last call.
func (s *schedule) ask() {
	c := s.comm
	if s.next == s.asked {
		return
	}
	if s.seen != s.next {
		s.seen = s.next
		return
	}
	s.asked = s.next
	for _, r := range s.receives {
		if c.world.matcher.waits(r) {
			_, _ = c.begin(nil, c.collectiveContext(), data{}, c.rankOf(r.source), s.tag^content^question) // as above
		}
	}
}

// drop discards a message that was kept.
func (w *World) drop(m *message) {
	w.matcher.forget(m)
	w.release(m)
	w.discard(m)
}

// discard drops a message, and lets its sender continue.
func (w *World) discard(m *message) {
	if m.from != nil {
		m.from.acknowledge(m.offer)
	}
	m.sender.received()
}

// end waits until a collective operation is done.
func (r *Request) end() error {
	_, err := r.Wait()
	return err
}
