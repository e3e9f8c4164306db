package cookiering

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// library is the ring of the native library, dapl_cookie.c: a post moves the head, a completion sets the tail, and
// neither checks anything else.
type library struct {
	cookies    []int // by place
	head, tail int
}

func newLibrary(length int) *library { return &library{cookies: make([]int, length+1)} }

// post takes a place for the cookie. It reports false when the ring looks full.
func (l *library) post(cookie int) (place int, ok bool) {
	place = (l.head + 1) % len(l.cookies)
	if place == l.tail {
		return 0, false
	}
	l.head = place
	l.cookies[place] = cookie
	return place, true
}

// refuse makes a post that the adapter refuses.
func (l *library) refuse(cookie int) bool {
	place, ok := l.post(cookie)
	if ok {
		l.tail = place
	}
	return ok
}

func (l *library) complete(place int) (cookie int) {
	l.tail = place
	return l.cookies[place]
}

// inFlight is a receive that the adapter has.
type inFlight struct{ receive, place int }

// queue is a shared receive queue from its user's view.
type queue struct {
	rand     *rand.Rand
	library  *library
	ring     *Ring // nil for a queue that trusts the library
	idle     []int // receives that are not outstanding
	adapter  []inFlight
	stalled  int   // how many of the first of those do not complete for now
	reported []int // completed in the library, not yet seen by the user
	waiting  []int // posted by the user, not in the library
	threads  bool  // other threads take completions during a post
	passed   int
	most     int // that waited at the same time
}

func newQueue(r *rand.Rand, length, receives int, protected bool) *queue {
	q := &queue{rand: r, library: newLibrary(length)}
	for i := range receives {
		q.idle = append(q.idle, i)
	}
	if protected {
		q.ring = New(length, receives)
	}
	return q
}

// post posts any receive that is idle.
func (q *queue) post() error {
	i := q.rand.IntN(len(q.idle))
	receive := q.idle[i]
	q.idle = slices.Delete(q.idle, i, i+1)
	if q.ring == nil {
		place, ok := q.library.post(receive)
		if !ok {
			return fmt.Errorf("the post of receive %d is refused with %d outstanding", receive, len(q.adapter))
		}
		q.adapter = append(q.adapter, inFlight{receive, place})
		return nil
	}
	q.waiting = append(q.waiting, receive)
	return q.handOn()
}

// handOn posts waiting receives to the library, as many as it takes.
func (q *queue) handOn() error {
	for len(q.waiting) > 0 && q.pass() {
		receive := q.waiting[0]
		place, ok := q.library.post(receive)
		if !ok {
			break
		}
		q.waiting = q.waiting[1:]
		q.ring.Post(receive)
		q.adapter = append(q.adapter, inFlight{receive, place})
		if q.threads && len(q.adapter) > 1 && q.rand.IntN(4) == 0 {
			if err := q.complete(q.rand.IntN(len(q.adapter) - 1)); err != nil {
				return err
			}
		}
		q.pass()
	}
	q.most = max(q.most, len(q.waiting))
	if len(q.waiting) > 0 && len(q.adapter)+len(q.reported) == 0 {
		return fmt.Errorf("%d receives wait, and nothing is outstanding that could complete", len(q.waiting))
	}
	return nil
}

func (q *queue) pass() bool {
	for {
		receive, occupied := q.ring.Occupant()
		if !occupied {
			return true
		}
		if !q.library.refuse(receive) {
			return false
		}
		q.ring.Pass()
		q.passed++
	}
}

// complete takes the completion of a receive, as the library's thread does.
func (q *queue) complete(i int) error {
	f := q.adapter[i]
	q.adapter = slices.Delete(q.adapter, i, i+1)
	if cookie := q.library.complete(f.place); cookie != f.receive {
		return fmt.Errorf("receive %d completes with the cookie of %d", f.receive, cookie)
	}
	q.reported = append(q.reported, f.receive)
	return nil
}

// see shows the user a completion that the library has reported.
func (q *queue) see() error {
	i := q.rand.IntN(len(q.reported))
	receive := q.reported[i]
	q.reported = slices.Delete(q.reported, i, i+1)
	q.idle = append(q.idle, receive)
	if q.ring == nil {
		return nil
	}
	q.ring.Complete(receive)
	return q.handOn()
}

// run uses the queue at random. reach is the range of the oldest receives from which the next one completes; 1 is
// posting order.
func (q *queue) run(steps, reach int) error {
	q.threads = true
	for range steps {
		if q.rand.IntN(50) == 0 {
			// Some messages are slow, for longer than a lap.
			q.stalled = q.rand.IntN(3)
		}
		var err error
		completes := len(q.adapter) > 0
		switch n := q.rand.IntN(8); {
		case len(q.idle) > 0 && n < 4:
			err = q.post()
		case len(q.reported) > 0 && (n < 6 || !completes):
			err = q.see()
		case completes:
			first := min(q.stalled, len(q.adapter)-1)
			if reach == 1 {
				first = 0
			}
			err = q.complete(first + q.rand.IntN(min(reach, len(q.adapter)-first)))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// In any order of completion, a completion has the cookie of its receive, no post is refused, and none waits for a
// completion that cannot come.
func TestAnyOrder(t *testing.T) {
	const steps = 20000
	var passed, most int
	for _, receives := range []int{1, 2, 3, 5, 16, 100} {
		for _, length := range []int{receives, receives + 1, 2 * receives, 4*receives - 1, 255} {
			for seed := range uint64(20) {
				q := newQueue(rand.New(rand.NewPCG(uint64(receives*1000+length), seed)), max(length, receives), receives, true)
				if err := q.run(steps, receives); err != nil {
					t.Fatalf("%d receives in a queue of %d, seed %d: %v", receives, length, seed, err)
				}
				passed += q.passed
				most = max(most, q.most)
			}
		}
	}
	if passed == 0 || most == 0 {
		t.Errorf("%d places were passed, at most %d receives waited: the test has not reached the interesting case", passed, most)
	}
}

// Without the ring's protection, the library is right only in posting order.
func TestLibraryAlone(t *testing.T) {
	const receives, length, steps = 8, 8, 20000
	failed := make(map[string]bool)
	for seed := range uint64(50) {
		r := func() *rand.Rand { return rand.New(rand.NewPCG(1, seed)) }
		if err := newQueue(r(), length, receives, false).run(steps, 1); err != nil {
			t.Fatalf("in posting order, seed %d: %v", seed, err)
		}
		if err := newQueue(r(), length, receives, false).run(steps, receives); err == nil {
			t.Errorf("out of order, seed %d: nothing is wrong", seed)
		} else {
			failed[err.Error()[:8]] = true
		}
	}
	if len(failed) < 2 {
		t.Errorf("of wrong cookies and refused posts, only these were seen: %v", failed)
	}
}

// A longer queue does not help: one message that is slow for a lap is enough.
func TestLongQueueAlone(t *testing.T) {
	const receives, length = 2, 1000
	l := newLibrary(length)
	slow, _ := l.post(0)
	for range length {
		place, ok := l.post(1)
		if !ok {
			t.Fatal("a post is refused")
		}
		l.complete(place)
	}
	if _, ok := l.post(1); !ok {
		t.Fatal("a post is refused")
	}
	if cookie := l.complete(slow); cookie != 1 {
		t.Errorf("the cookie of the slow receive is %d still", cookie)
	}

	q := newQueue(rand.New(rand.NewPCG(1, 1)), length, receives, true)
	q.idle = []int{0, 1}
	for range 2 {
		if err := q.post(); err != nil {
			t.Fatal(err)
		}
	}
	for range 10 * length {
		for _, step := range []func() error{func() error { return q.complete(1) }, q.see, q.post} {
			if err := step(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if q.passed == 0 || q.most > 0 {
		t.Errorf("the slow receive was passed %d times, and %d posts had to wait", q.passed, q.most)
	}
}
