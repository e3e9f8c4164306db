package udat_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"path"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goudat/goudat/cgo"
	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/udattest"
)

// live is an object of each kind that there can be, and what their calls need
// beside them.
type live struct {
	objects   map[reflect.Type]udat.Object
	connect   *udat.EVD
	requests  *udat.EVD
	segment   udat.Segment
	remote    udat.RMRTriplet
	freeOrder []udat.Object
}

// makeLive makes the objects on an adapter of their own. The test must free them.
func makeLive(t *testing.T, name string) *live {
	t.Helper()
	ia := udattest.Open(t, name)
	e, reserved := udattest.NewEndpoint(t, ia, nil), udattest.NewEndpoint(t, ia, nil)
	listener := udattest.Listen(t, ia)
	cno := must(udat.CreateCNO(ia, nil))
	requests := must(udat.CreateEVD(ia, 8, nil, udat.EVDCR))
	rsp := must(udat.CreateRSP(ia, udattest.ConnQual(), reserved.EP, requests))
	cr := request(t, udattest.NewEndpoint(t, ia, nil), listener)
	l := &live{
		objects:   map[reflect.Type]udat.Object{},
		connect:   e.Connect,
		requests:  requests,
		segment:   e.Segment(t, 0, 8),
		remote:    must(e.Memory.RMRTriplet(0, 8)),
		freeOrder: []udat.Object{cr, listener.PSP, rsp, e.EP, e.Memory, e.PZ, cno, e.Recv, e.Connect, requests, ia},
	}
	if hasSRQ(t, ia) {
		l.freeOrder = slices.Insert(l.freeOrder, 0, udat.Object(must(udat.CreateSRQ(ia, e.PZ, udat.SRQAttr{MaxRecvDTOs: 1, MaxRecvIOV: 1}))))
	}
	for _, o := range l.freeOrder {
		if typ := reflect.TypeOf(o); l.objects[typ] == nil {
			l.objects[typ] = o
		}
	}
	return l
}

// free frees the objects.
func (l *live) free(t *testing.T) {
	t.Helper()
	for _, o := range l.freeOrder {
		want(t, end(o))
	}
}

// end frees an object of any kind.
func end(o udat.Object) error {
	switch o := o.(type) {
	case *udat.IA:
		return o.Close(udat.CloseAbrupt)
	case *udat.CR:
		return o.Reject(nil)
	}
	return o.(interface{ Free() error }).Free()
}

// argument returns a valid one for the i-th parameter of a call.
func (l *live) argument(t *testing.T, c *surfaceCall, i int) reflect.Value {
	t.Helper()
	typ := c.f.Type().In(i)
	if isObject(typ) && typ.Kind() == reflect.Pointer {
		o := l.objects[typ]
		switch c.stream(i) {
		case udat.EVDConnection:
			o = l.connect
		case udat.EVDCR:
			o = l.requests
		}
		if v := reflect.ValueOf(o); v.IsValid() {
			return v
		}
		return reflect.Zero(typ)
	}
	for _, v := range []any{
		context.Background(), time.Second, loopback, udat.ConnQual(1), make([]byte, 8), make([]udat.Event, 1), []udat.Segment{l.segment},
		[]udat.Post{{Operation: udat.DTOSend, Segments: []udat.Segment{l.segment}}},
		l.segment, l.remote, 1, uint32(1), uint64(1), false, "no-such-adapter", udat.MemPrivAll, udat.EVDDTO, udat.CloseAbrupt,
		udat.CompletionDefault, udat.EPFieldMaxRecvDTOs, &udat.EPParam{}, udat.SRQAttr{MaxRecvDTOs: 1, MaxRecvIOV: 1},
		udat.Return(0), udat.EventSoftware,
	} {
		if reflect.TypeOf(v).AssignableTo(typ) && typ.Kind() != reflect.Interface || typ == reflect.TypeFor[context.Context]() {
			return reflect.ValueOf(v)
		}
	}
	if typ.Kind() == reflect.Interface || typ.Kind() == reflect.Func || typ.Kind() == reflect.Pointer {
		return reflect.Zero(typ)
	}
	t.Fatalf("%s has a parameter of type %v, for which there is no value", c.name, typ)
	return reflect.Value{}
}

func (l *live) arguments(t *testing.T, c *surfaceCall) []reflect.Value {
	t.Helper()
	args := make([]reflect.Value, c.f.Type().NumIn())
	for i := range args {
		args[i] = l.argument(t, c, i)
	}
	return args
}

// errorOf calls a function.
func (c *surfaceCall) errorOf(args []reflect.Value) error {
	results, err := c.call(args)
	if c.name == "EVD.Events" {
		err = takeInLoop(results[0], 1)
	}
	return err
}

// takeInLoop takes up to n events from what EVD.Events returns.
func takeInLoop(events reflect.Value, n int) (err error) {
	for _, err = range events.Interface().(iter.Seq2[udat.Event, error]) {
		if n--; n == 0 {
			break
		}
	}
	return err
}

// objectParameters returns the positions of the objects among the parameters of a
// call that can fail.
func (c *surfaceCall) objectParameters() (positions []int) {
	if !c.reportsErrors() && c.name != "EVD.Events" {
		return nil
	}
	for i := range c.f.Type().NumIn() {
		if isObject(c.f.Type().In(i)) {
			positions = append(positions, i)
		}
	}
	return positions
}

// lacksSRQ reports whether the call takes a shared receive queue, and the device has none.
func (l *live) lacksSRQ(c *surfaceCall) bool {
	srq := reflect.TypeFor[*udat.SRQ]()
	return l.objects[srq] == nil && slices.ContainsFunc(c.objectParameters(), func(i int) bool { return c.f.Type().In(i) == srq })
}

// What is left out of the tests of all calls, with the reason.
var (
	leftOut = map[string]string{
		"CR.Query":        "tells of a request that was answered too",
		"AllocHugeMemory": "needs huge pages before it can look at the zone",
	}
	mayBeNil = map[string][]int{
		"CreateEP":      {2, 3, 4},
		"CreateEVD":     {2},
		"EVD.ModifyCNO": {1},
	}
	// The other objects are looked at only after the first.
	looksAtFirstOnly = map[string]string{
		"RMR.Bind": "needs a region, which not every device has",
	}
)

// forEachObject makes each call that takes objects once for each of these, with a replacement in
// its place that makes it an error. There may be several, by what they are. The adapter is as it
// was then.
func forEachObject(t *testing.T, replacements func(t *testing.T, c *surfaceCall, i int, typ reflect.Type) map[string]reflect.Value, targets ...error) {
	for _, name := range udattest.Names(t) {
		t.Run(name, func(t *testing.T) {
			alive := makeLive(t, name)
			for _, call := range surfaceNames {
				c := surface[call]
				if leftOut[call] != "" {
					continue
				}
				for n, i := range c.objectParameters() {
					if n > 0 && looksAtFirstOnly[call] != "" || alive.lacksSRQ(c) {
						break
					}
					kinds := []reflect.Type{c.f.Type().In(i)}
					if kinds[0].Kind() == reflect.Interface {
						kinds = objectTypes
					}
					for _, typ := range kinds {
						for what, replacement := range replacements(t, c, i, typ) {
							args := alive.arguments(t, c)
							args[i] = replacement
							t.Run(fmt.Sprintf("%s %d %s %s", call, i, what, typ.Elem().Name()), func(t *testing.T) {
								want(t, c.errorOf(args), targets...)
							})
						}
					}
				}
			}
			alive.free(t)
		})
	}
}

// Every call on a freed object, or with one, is an error that says so.
func TestUseAfterFree(t *testing.T) {
	freed := map[*testing.T]*live{}
	forEachObject(t, func(t *testing.T, c *surfaceCall, i int, typ reflect.Type) map[string]reflect.Value {
		if freed[t] == nil {
			freed[t] = makeLive(t, path.Base(t.Name()))
			freed[t].free(t)
			if freed[t].objects[reflect.TypeFor[*udat.LMR]()].(*udat.LMR).Bytes() != nil {
				t.Error("a freed region still returns its memory")
			}
		}
		if o := freed[t].objects[typ]; o != nil {
			return map[string]reflect.Value{"freed": reflect.ValueOf(o)}
		}
		return nil // there is none of its kind
	}, udat.ErrClosed, udat.ErrInvalidHandle)
}

// Nil pointers and objects that the package did not make are errors too.
func TestNilAndZeroArguments(t *testing.T) {
	forEachObject(t, func(t *testing.T, c *surfaceCall, i int, typ reflect.Type) map[string]reflect.Value {
		none := map[string]reflect.Value{"zero": reflect.New(typ.Elem())}
		if !slices.Contains(mayBeNil[c.name], i) {
			none["nil"] = reflect.Zero(typ)
		}
		return none
	}, udat.ErrInvalidHandle)
	var ia *udat.IA
	if (*udat.LMR)(nil).Bytes() != nil || ia.AsyncEVD() != nil || ia.Name() != "" {
		t.Error("a nil object has parts")
	}
}

// The objects that a call takes must all be of the same adapter.
func TestObjectsOfAnotherAdapter(t *testing.T) {
	there := map[*testing.T]*live{}
	forEachObject(t, func(t *testing.T, c *surfaceCall, i int, typ reflect.Type) map[string]reflect.Value {
		if there[t] == nil {
			there[t] = makeLive(t, path.Base(t.Name()))
			t.Cleanup(func() { there[t].free(t) }) // it is as it was
		}
		if len(c.objectParameters()) < 2 || looksAtFirstOnly[c.name] != "" {
			return nil
		}
		return map[string]reflect.Value{"another's": there[t].argument(t, c, i)}
	}, udat.ErrInvalidHandle)
}

// A parent that is in use refuses to go and names its users.
func TestFreeInUse(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		e := udattest.NewEndpoint(t, ia, nil)
		listener := udattest.Listen(t, ia)
		cno := createCNO(t, ia, nil, e.Connect)
		reserved := udattest.NewEndpoint(t, ia, nil)
		rsp, l := reserve(t, reserved)
		want(t, e.PostRecv(one(e.Segment(t, 0, 8)), 1, 0))

		type use struct {
			o     udat.Object
			sub   udat.ReturnSubtype
			names []string
		}
		inUse := []use{
			{e.PZ, udat.InvalidStatePZInUse, []string{"endpoint", "memory region"}},
			{e.Recv, udat.InvalidStateEVDInUse, []string{"endpoint"}},
			{listener.Requests, udat.InvalidStateEVDInUse, []string{"public service point"}},
			{l.Requests, udat.InvalidStateEVDInUse, []string{"reserved service point"}},
			{ia.AsyncEVD(), udat.InvalidStateEVDInUse, nil},
			{cno, udat.InvalidStateCNOInUse, []string{"event dispatcher"}},
			{reserved.EP, udat.InvalidStateEPReserved, nil},
			{ia, udat.InvalidStateIAInUse, []string{"endpoint", "more"}},
		}
		freed := []udat.Object{rsp}
		if hasSRQ(t, ia) {
			zone := must(udat.CreatePZ(ia))
			srq := must(udat.CreateSRQ(ia, zone, udat.SRQAttr{MaxRecvDTOs: 1, MaxRecvIOV: 1}))
			shared := must(udat.CreateEPWithSRQ(ia, e.PZ, e.Recv, e.Request, e.Connect, srq, nil))
			inUse = append(inUse, use{zone, udat.InvalidStatePZInUse, []string{"shared receive queue"}}, use{srq, udat.InvalidStateSRQInUse, []string{"endpoint"}})
			freed = append(freed, shared, srq, zone)
		}
		// Nothing uses these, or needs them; freeing a service point rejects its requests.
		tested := []reflect.Type{reflect.TypeFor[*udat.LMR](), reflect.TypeFor[*udat.PSP](), reflect.TypeFor[*udat.RSP](), reflect.TypeFor[*udat.CR](), reflect.TypeFor[*udat.RMR](), reflect.TypeFor[*udat.SRQ]()}
		for _, c := range inUse {
			tested = append(tested, reflect.TypeOf(c.o))
			err := freeOf(c.o)
			want(t, err, udat.ErrInvalidState, c.sub)
			wantDetail(t, err)
			for _, name := range c.names {
				if err != nil && !strings.Contains(err.Error(), name) {
					t.Errorf("the error does not name the %s: %v", name, err)
				}
			}
		}
		for _, typ := range objectTypes {
			if !slices.Contains(tested, typ) {
				t.Errorf("what uses a %v is not tested", typ)
			}
		}
		want(t, ia.Close(77), udat.ErrInvalidParameter, udat.InvalidArg2)
		// All still work, also while a graceful close is refused.
		stop := beside(func() error {
			if err := ia.Close(udat.CloseGraceful); !errors.Is(err, udat.InvalidStateIAInUse) {
				return fmt.Errorf("the close is not refused: %w", err)
			}
			return nil
		})
		defer func() { want(t, <-stop()) }()
		peer := udattest.NewEndpoint(t, ia, nil)
		udattest.ConnectPair(t, listener, e, peer)
		for _, o := range freed {
			want(t, freeOf(o))
		}
	})
}

// freeOf frees an object of any kind, an adapter gracefully.
func freeOf(o udat.Object) error {
	if ia, ok := o.(*udat.IA); ok {
		return ia.Close(udat.CloseGraceful)
	}
	return o.(interface{ Free() error }).Free()
}

// An abrupt close takes everything along, in whatever state it is, and ends all waits. What was on
// the adapter stays closed, although the next one has its handle.
func TestCloseAbrupt(t *testing.T) {
	for _, name := range udattest.Names(t) {
		t.Run(name, func(t *testing.T) {
			ia := must(udat.Open(name))
			listener := udattest.Listen(t, ia)
			active, passive := udattest.Pair(t, ia, nil)
			waiting := udattest.NewEndpoint(t, ia, nil)
			want(t, active.PostRecv(one(active.Segment(t, 0, 8)), 1, 0))
			want(t, active.PostSend(one(active.Segment(t, 0, 8)), 1, 0))
			want(t, passive.PostRecv(one(passive.Segment(t, 0, 8)), 1, 0))
			cr := request(t, waiting, listener)
			idle := must(udat.CreateCNO(ia, func(*udat.EVD) { t.Error("the agent is called") }))
			async := ia.AsyncEVD()
			want(t, async.ModifyCNO(idle))
			ended := asleep(t, ia, waitsFor(context.Background(), waiting.Recv, 1)...)
			given := make(chan error, 1)
			go func() { given <- second(idle.Wait(context.Background())) }()
			awaitCNOWaiters(t, 2)
			want(t, ia.Close(udat.CloseAbrupt))
			want(t, receive(t, ended), udat.ErrClosed)
			want(t, receive(t, given), udat.ErrClosed)
			next := udattest.Open(t, name)
			for _, err := range []error{
				ia.Close(udat.CloseAbrupt), active.EP.Free(), cr.Reject(nil), second(passive.GetStatus()), second(async.Dequeue()),
				second(udat.CreatePZ(ia)), second(udat.AllocMemory(active.PZ, 8, udat.MemPrivAll)),
			} {
				want(t, err, udat.ErrClosed)
			}
			udattest.Pair(t, next, nil)
		})
	}
}

// What is wrong with the arguments matters less than that the object is gone.
func TestClosedBeforeArguments(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		e := udattest.NewEndpoint(t, ia, nil)
		evd := must(udat.CreateEVD(ia, 8, nil, udat.EVDSoftware))
		want(t, evd.Free())
		want(t, e.EP.Free())
		var none context.Context
		for _, err := range []error{
			second(evd.SpinPoll(make([]udat.Event, 1), -1)), second(evd.Wait(none)), second(evd.Expect(none, udat.EventSoftware)),
			e.PostSend(nil, 0, 1<<30), e.PostRecv(nil, 0, 1<<30), e.Modify(udat.EPParamMask(cgo.EPFieldAll), nil),
		} {
			want(t, err, udat.ErrClosed)
		}
		for _, nobody := range []*udat.EVD{nil, {}} {
			want(t, second(nobody.SpinPoll(make([]udat.Event, 1), -1)), udat.ErrInvalidHandle)
			for _, err := range nobody.Events(none) {
				want(t, err, udat.ErrInvalidHandle)
			}
		}
	})
}

// While an endpoint is freed, which may wait for its peer, nobody takes its connection events.
func TestFreeBesideConnectionEvents(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		for range 4 {
			active, _ := udattest.Pair(t, ia, nil)
			stop := beside(func() error {
				if event, err := active.Connect.Dequeue(); err == nil {
					return fmt.Errorf("got the event %v", event.Number)
				}
				runtime.Gosched()
				return nil
			})
			want(t, active.EP.Free())
			want(t, receive(t, stop()))
		}
	})
}
