//go:build linux && cgo && !(386 || arm || mips || mipsle)

package callcost

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/goudat/goudat/cgo"
	"github.com/goudat/goudat/cgo/cloop"
	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/mem"
	"github.com/goudat/goudat/udat/udattest"
)

// call is a call that can be made again and again without a network, in three ways that do the same on the same object.
// Each function makes it n times.
type call struct {
	name  string
	c     func(n int) error // in a loop in C
	cgo   func(n int) error // in a crossing each, without what udat does
	udat  func(n int) error // as a program makes it
	batch func(n int) error // many in one crossing, nil if there is no such call

	// renew makes room for most more calls, for one that uses something up. udat says whether udat makes them.
	renew func(udat bool) error
	most  int
}

// BenchmarkCall is what the binding costs by itself, in a form for benchstat:
//
//	go test -run '^$' -bench '^BenchmarkCall$' -count 10 -exec "$PWD/scripts/testbed" ./scripts/sidebyside/callcost >calls
//	benchstat -col /in calls
//
// With the flag --accel count of scripts/testbed, its numbers are instructions instead of nanoseconds.
//
// A call that uses something up is measured a few times between two renewals. Its number is the median of these
// measurements, which leaves out what a renewal leaves for Go's monitor thread and the kernel to do.
func BenchmarkCall(b *testing.B) {
	for _, name := range udattest.Names(b) {
		b.Run("ia="+name, func(b *testing.B) {
			ia := udattest.Open(b, name)
			for _, c := range calls(b, ia) {
				b.Run("call="+c.name, c.benchmark)
			}
		})
	}
}

// way is one way to make a call.
type way struct {
	in   string
	udat bool
	make func(n int) error
}

// ways returns those that there are.
func (c call) ways() []way {
	return slices.DeleteFunc([]way{{"C", false, c.c}, {"cgo", false, c.cgo}, {"udat", true, c.udat}, {"batch", true, c.batch}},
		func(w way) bool { return w.make == nil })
}

func (c call) benchmark(b *testing.B) {
	for _, way := range c.ways() {
		b.Run("in="+way.in, func(b *testing.B) {
			if c.renew == nil {
				if err := way.make(b.N); err != nil {
					b.Fatal(err)
				}
				return
			}
			var each []float64 // what a call takes, of each measurement
			for left := b.N; left > 0; {
				if err := c.renew(way.udat); err != nil {
					b.Fatal(err)
				}
				for range c.most / callsMeasured {
					start := time.Now()
					if err := way.make(callsMeasured); err != nil {
						b.Fatal(err)
					}
					each = append(each, float64(time.Since(start).Nanoseconds())/callsMeasured)
					left -= callsMeasured
				}
			}
			slices.Sort(each)
			b.ReportMetric(each[len(each)/2], "ns/op")
		})
	}
}

// Each way to make a call works.
func TestCall(t *testing.T) {
	for _, name := range udattest.Names(t) {
		t.Run(name, func(t *testing.T) {
			for _, c := range calls(t, udattest.Open(t, name)) {
				for _, way := range c.ways() {
					var err error
					if c.renew != nil {
						err = c.renew(way.udat)
					}
					if err == nil {
						err = way.make(callsMeasured)
					}
					if err != nil {
						t.Errorf("%s in %s: %v", c.name, way.in, err)
					}
				}
			}
		})
	}
}

// repeat makes a function of the call in Go out of one of a single call.
func repeat(one func() error) func(n int) error {
	return func(n int) error {
		for range n {
			if err := one(); err != nil {
				return err
			}
		}
		return nil
	}
}

func second[T any](_ T, err error) error { return err }

// failed returns an error for a return that is none of success.
func failed(r cgo.Return) error {
	if !r.OK() {
		return fmt.Errorf("the library returned %v", r)
	}
	return nil
}

func nativeEP(ep *udat.EP) cgo.EPHandle { return cgo.EPHandle(handle(ep, "handle")) }

func nativeEVD(evd *udat.EVD) cgo.EVDHandle { return cgo.EVDHandle(handle(evd, "queue", "handle")) }

// handle returns the native handle of an object, which udat keeps to itself, in a field of a field.
func handle(object any, fields ...string) uintptr {
	v := reflect.ValueOf(object).Elem()
	for _, name := range fields {
		v = v.FieldByName(name)
	}
	return uintptr(v.Uint())
}

func calls(t testing.TB, ia *udat.IA) []call {
	e := udattest.NewEndpoint(t, ia, nil)
	ep, evd, lmr := nativeEP(e.EP), nativeEVD(e.Recv), cgo.LMRHandle(handle(e.Memory, "handle"))
	events := make([]udat.Event, 64)
	list := []call{
		{
			name: "nothing",
			c:    func(n int) error { cloop.Nothing(n); return nil },
			cgo:  repeat(func() error { cloop.CallNothing(); return nil }),
		},
		{
			name: "dat_ep_get_status",
			c:    func(n int) error { return failed(cloop.EPGetStatus(ep, n)) },
			cgo: repeat(func() error {
				_, _, _, r := cgo.EPGetStatus(ep)
				return failed(r)
			}),
			udat: repeat(func() error { return second(e.GetStatus()) }),
		},
		{
			name: "dat_ep_query",
			c:    func(n int) error { return failed(cloop.EPQuery(ep, n)) },
			cgo: repeat(func() error {
				var param cgo.EPParam
				return failed(cgo.EPQuery(ep, cgo.EPFieldAll, &param))
			}),
			udat: repeat(func() error { return second(e.Query()) }),
		},
		{
			name: "dat_lmr_query",
			c:    func(n int) error { return failed(cloop.LMRQuery(lmr, n)) },
			cgo: repeat(func() error {
				var param cgo.LMRParam
				return failed(cgo.LMRQuery(lmr, cgo.LMRFieldAll, &param))
			}),
			udat: repeat(func() error { return second(e.Memory.Query()) }),
		},
		{
			name: "dat_evd_dequeue,empty",
			c:    func(n int) error { return failed(cloop.EVDDequeueEmpty(evd, n)) },
			cgo: repeat(func() error {
				var event cgo.Event
				if r := cgo.EVDDequeue(evd, &event); r.Type() != cgo.QueueEmpty {
					return fmt.Errorf("the queue is not empty: %v", r)
				}
				return nil
			}),
			udat: repeat(func() error {
				if _, err := e.Recv.Dequeue(); !errors.Is(err, udat.ErrQueueEmpty) {
					return fmt.Errorf("the queue is not empty: %v", err)
				}
				return nil
			}),
			batch: repeat(func() error { return second(e.Recv.Poll(events)) }),
		},
	}
	x := newExchange(t, ia)
	return append(list, lookCall(t, e.Memory), softwareEventCall(t, ia, events), x.postRecvCall(), x.completionCall(events))
}

// lookCall looks at a byte that no peer writes.
func lookCall(t testing.TB, lmr *udat.LMR) call {
	const nobodys = 77
	last, err := mem.PeerByteAt(lmr, 63)
	if err != nil {
		t.Fatal(err)
	}
	last.Store(0)
	found := func(found bool) error {
		if found {
			return errors.New("a byte has come from nowhere")
		}
		return nil
	}
	return call{
		name: "look",
		c:    func(n int) error { return found(cloop.Look(&lmr.Bytes()[63], nobodys, n)) },
		udat: func(n int) error {
			for range n {
				if last.Load() == nobodys {
					return found(true)
				}
			}
			return nil
		},
		batch: func(n int) error {
			const looksAtOnce = 1024 // of SpinUntil without a budget
			for ; n > 0; n -= looksAtOnce {
				if arrived, err := last.SpinUntil(nobodys, 0); arrived || err != nil {
					return errors.Join(err, found(arrived))
				}
			}
			return nil
		},
	}
}

// softwareEventCall posts an event and takes it.
func softwareEventCall(t testing.TB, ia *udat.IA, events []udat.Event) call {
	evd, err := udat.CreateEVD(ia, len(events), nil, udat.EVDSoftware)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { evd.Free() })
	native := nativeEVD(evd)
	return call{
		name: "dat_evd_post_se+dat_evd_dequeue",
		c:    func(n int) error { return failed(cloop.SoftwareEvent(native, n)) },
		cgo: repeat(func() error {
			var event cgo.Event
			if err := failed(cgo.EVDPostSE(native, cgo.EventSoftware, 0)); err != nil {
				return err
			}
			return failed(cgo.EVDDequeue(native, &event))
		}),
		udat: repeat(func() error {
			if err := evd.PostSE(0); err != nil {
				return err
			}
			return second(evd.Dequeue())
		}),
	}
}

// exchange is a connection whose one side sends the messages that the other side's receives take. The queues are used again and
// again, so that their memory is there.
type exchange struct {
	e, peer *udattest.Endpoint
	ep      cgo.EPHandle   // of e
	iov     []udat.Segment // of a receive
	native  cgo.LMRTriplet // the same
	receive []udat.Post
	send    []udat.Post
	waiting int // receives without a message
}

const (
	mostReceives  = 1024 // outstanding
	callsMeasured = 256  // with one reading of the clock, whose unit is 256 ns in User-Mode Linux
	atOnce        = 64   // in a batch
)

func newExchange(t testing.TB, ia *udat.IA) *exchange {
	attr := udattest.DefaultAttr(t, ia)
	attr.MaxRecvDTOs, attr.MaxRequestDTOs = mostReceives, atOnce
	options := udattest.Options{Attr: &attr, QueueLength: mostReceives}
	x := &exchange{e: options.NewEndpoint(t, ia), peer: options.NewEndpoint(t, ia)}
	udattest.ConnectPair(t, udattest.Listen(t, ia), x.peer, x.e)
	x.ep = nativeEP(x.e.EP)
	x.iov = []udat.Segment{x.e.Segment(t, 0, 8)}
	memory, err := x.e.Memory.Query()
	if err != nil {
		t.Fatal(err)
	}
	x.native = cgo.LMRTriplet{VirtualAddress: memory.Address, SegmentLength: 8, LMRContext: memory.LMRContext}
	x.receive = slices.Repeat([]udat.Post{{Operation: udat.DTOReceive, Segments: x.iov}}, atOnce)
	x.send = slices.Repeat([]udat.Post{{Operation: udat.DTOSend, Segments: []udat.Segment{x.peer.Segment(t, 0, 8)}}}, atOnce)
	return x
}

func (x *exchange) postInC(n int) error {
	x.waiting += n
	segment := x.native // cgo looks for pointers in all of what a pointer leads into
	return failed(cloop.EPPostRecv(x.ep, &segment, 0, n))
}

func (x *exchange) postBatch(n int) error {
	x.waiting += n
	return inBatches(x.e.EP, x.receive, n)
}

func inBatches(ep *udat.EP, batch []udat.Post, n int) error {
	for n > 0 {
		posted, err := ep.PostBatch(batch[:min(n, len(batch))])
		if err != nil {
			return err
		}
		n -= posted
	}
	return nil
}

// complete has a message come to each receive.
func (x *exchange) complete() error {
	events := make([]udat.Event, len(x.send))
	for x.waiting > 0 {
		n := min(x.waiting, len(x.send))
		if err := inBatches(x.peer.EP, x.send, n); err != nil {
			return err
		}
		x.waiting -= n
		for n > 0 {
			taken, err := x.peer.Request.SpinPoll(events[:n], time.Second)
			if err != nil || taken == 0 {
				return cmp.Or(err, errors.New("a message does not arrive"))
			}
			n -= taken
		}
	}
	return nil
}

// empty takes all completions of receives.
func (x *exchange) empty() error {
	err := x.complete()
	events := make([]udat.Event, mostReceives)
	for taken := 1; taken > 0 && err == nil; {
		taken, err = x.e.Recv.Poll(events)
	}
	return err
}

// postRecvCall posts receives.
func (x *exchange) postRecvCall() call {
	return call{
		name:  "dat_ep_post_recv",
		most:  mostReceives,
		renew: func(bool) error { return x.empty() },
		c:     x.postInC,
		cgo: func(n int) error {
			x.waiting += n
			segments := []cgo.LMRTriplet{x.native}
			return repeat(func() error { return failed(cgo.EPPostRecv(x.ep, segments, 0, 0)) })(n)
		},
		udat: func(n int) error {
			x.waiting += n
			return repeat(func() error { return x.e.PostRecv(x.iov, 0, 0) })(n)
		},
		batch: x.postBatch,
	}
}

// completionCall takes the completions of receives.
func (x *exchange) completionCall(events []udat.Event) call {
	evd := nativeEVD(x.e.Recv)
	return call{
		name: "dat_evd_dequeue",
		most: mostReceives,
		renew: func(udat bool) error {
			post := x.postInC // of which udat has no record
			if udat {
				post = x.postBatch
			}
			err := x.empty()
			if err == nil {
				err = post(mostReceives)
			}
			return cmp.Or(err, x.complete())
		},
		c: func(n int) error { return failed(cloop.EVDDequeue(evd, n)) },
		cgo: repeat(func() error {
			var event cgo.Event
			return failed(cgo.EVDDequeue(evd, &event))
		}),
		udat: repeat(func() error { return second(x.e.Recv.Dequeue()) }),
		batch: func(n int) error {
			for n > 0 {
				taken, err := x.e.Recv.Poll(events[:min(n, len(events))])
				if err != nil || taken == 0 {
					return cmp.Or(err, errors.New("a completion is missing"))
				}
				n -= taken
			}
			return nil
		},
	}
}
