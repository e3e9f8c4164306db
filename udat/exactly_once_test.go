package udat_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/udattest"
)

// stream is an EVD that goroutines post numbered events to and take them from.
type stream struct {
	evd  *udat.EVD
	cno  *udat.CNO
	done context.Context // ends when all events have come
	end  context.CancelFunc

	room    chan struct{} // holds one word for producers that events were taken
	missing atomic.Int64
	mu      sync.Mutex
	next    []uint64        // by producer, while there is one consumer
	seen    map[uint64]bool // while there are several
}

// consumeOnce are the ways to take events. Each returns when it has taken some,
// or none because its context has ended.
var consumeOnce = map[string]func(*stream, context.Context, []udat.Event) (int, error){
	"Wait": func(s *stream, ctx context.Context, events []udat.Event) (n int, err error) {
		if events[0], err = s.evd.Wait(ctx); err == nil {
			n = 1
		}
		return n, err
	},
	"WaitBatch": func(s *stream, ctx context.Context, events []udat.Event) (int, error) {
		return s.evd.WaitBatch(ctx, events, s.batch(ctx, events))
	},
	"Dequeue": func(s *stream, ctx context.Context, events []udat.Event) (n int, err error) {
		if events[0], err = s.evd.Dequeue(); err == nil {
			n = 1
		}
		return n, err
	},
	"Poll": func(s *stream, ctx context.Context, events []udat.Event) (int, error) { return s.evd.Poll(events) },
	"SpinPoll": func(s *stream, ctx context.Context, events []udat.Event) (int, error) {
		return s.evd.SpinPoll(events, 100*time.Microsecond)
	},
	"Events": func(s *stream, ctx context.Context, events []udat.Event) (n int, err error) {
		for events[n], err = range s.evd.Events(ctx) {
			if err != nil {
				return n, err
			}
			if n++; n == s.batch(ctx, events) {
				break
			}
		}
		return n, nil
	},
	"CNO": func(s *stream, ctx context.Context, events []udat.Event) (int, error) {
		if n, err := s.evd.Poll(events); n > 0 || err != nil {
			return n, err
		}
		evd, err := s.cno.Wait(ctx)
		if err != nil {
			return 0, err
		}
		return evd.Poll(events)
	},
}

// batch returns how many events to wait for: no more than one with a context that
// only the last event ends.
func (s *stream) batch(ctx context.Context, events []udat.Event) int {
	if ctx == s.done {
		return 1
	}
	return min(3, len(events))
}

// produce posts events with increasing numbers; the producer stands above them.
func (s *stream) produce(t *testing.T, producer, n uint64) {
	for i := range n {
		for {
			err := s.evd.PostSE(producer<<32 | i)
			if err == nil {
				break
			}
			if !errors.Is(err, udat.ErrQueueFull) {
				t.Error(err)
				return
			}
			select {
			case <-s.room:
			case <-s.done.Done():
				return
			}
		}
		if rand.IntN(16) == 0 {
			runtime.Gosched()
		}
	}
}

// consume takes events in the given ways, with contexts that end at any moment,
// until all have come.
func (s *stream) consume(t *testing.T, ways []string, record func(*testing.T, udat.Event)) {
	for s.done.Err() == nil {
		ctx, cancel := s.done, context.CancelFunc(func() {})
		if rand.IntN(2) == 0 {
			ctx, cancel = context.WithTimeout(s.done, time.Duration(rand.IntN(200))*time.Microsecond)
		}
		events := make([]udat.Event, 1+rand.IntN(5))
		n, err := consumeOnce[ways[rand.IntN(len(ways))]](s, ctx, events)
		cancel()
		if err != nil && !errors.Is(err, udat.ErrQueueEmpty) && ctx.Err() == nil {
			t.Error(err)
			return
		}
		for _, event := range events[:n] {
			record(t, event)
			select {
			case s.room <- struct{}{}:
			default:
			}
			if s.missing.Add(-1) == 0 {
				s.end()
			}
		}
		if n == 0 {
			runtime.Gosched()
		}
	}
}

func (s *stream) inOrder(t *testing.T, event udat.Event) {
	producer, number := event.Cookie>>32, event.Cookie&0xffffffff
	if number != s.next[producer] {
		t.Errorf("producer %d: got %d, want %d", producer, number, s.next[producer])
	}
	s.next[producer] = number + 1
}

func (s *stream) once(t *testing.T, event udat.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.seen[event.Cookie] {
		t.Errorf("0x%x came twice", event.Cookie)
	}
	s.seen[event.Cookie] = true
}

// run lets producers and consumers work on one EVD until all events have come.
func (s *stream) run(t *testing.T, ia *udat.IA, producers, each uint64, consumers [][]string) {
	s.evd = createEVD(t, ia, 16, udat.EVDSoftware)
	s.cno = createCNO(t, ia, nil, s.evd)
	s.done, s.end = context.WithCancel(udattest.Context(t))
	defer s.end()
	s.room = make(chan struct{}, 1)
	s.missing.Store(int64(producers * each))
	s.next, s.seen = make([]uint64, producers), make(map[uint64]bool)
	record := s.once
	if len(consumers) == 1 {
		record = s.inOrder
	}
	var all sync.WaitGroup
	for _, ways := range consumers {
		all.Add(1)
		go func() {
			defer all.Done()
			s.consume(t, ways, record)
		}()
	}
	for p := range producers {
		all.Add(1)
		go func() {
			defer all.Done()
			s.produce(t, p, each)
		}()
	}
	all.Wait()
	if missing := s.missing.Load(); missing != 0 {
		t.Errorf("%d of %d events did not come", missing, producers*each)
	}
	wantNoEvent(t, s.evd)
}

// Every event comes once, and to one consumer in the order of each producer,
// however it takes them.
func TestExactlyOnce(t *testing.T) {
	var all []string
	for way := range consumeOnce {
		all = append(all, way)
	}
	mixed := [][]string{all}
	crews := map[string][][]string{"one of all ways": mixed, "many of all ways": {all, all, all, all, all, all}}
	for way := range consumeOnce {
		crews["one by "+way] = [][]string{{way}}
		crews["many by "+way] = [][]string{{way}, {way}, {way}, {way}}
	}
	crews["one of each way"] = nil
	for way := range consumeOnce {
		crews["one of each way"] = append(crews["one of each way"], []string{way})
	}
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		for name, consumers := range crews {
			t.Run(name, func(t *testing.T) {
				var s stream
				s.run(t, ia, 3, 1000, consumers)
			})
		}
	})
}
