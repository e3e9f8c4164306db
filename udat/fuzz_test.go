package udat_test

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"reflect"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/udattest"
)

// FuzzCalls makes sequences of calls of the whole package, which the input
// decides, on objects in all states of life, some of the calls beside each
// other. Each must return in time, without a panic, with an error of the
// package or none, and with an error if an object that it gets is freed. In the
// end everything is closed, and nothing may be left of it.
//
// Without -fuzz it runs fixed sequences; those of a failure are
// FuzzCalls/seed#N. A failure, and a sequence that hangs, prints the calls that were made up
// to then.
func FuzzCalls(f *testing.F) {
	names := udattest.Names(f)
	deep := deepCalls
	for _, name := range names {
		deep = slices.Concat(deep, optionalCalls(f, udattest.Open(f, name)))
	}
	random := rand.NewChaCha8([32]byte{1})
	for range seeds() {
		input := make([]byte, 100+random.Uint64()%500)
		random.Read(input)
		f.Add(input)
	}
	sequences, succeeded := 0, map[string]bool{}
	f.Fuzz(func(t *testing.T, input []byte) {
		sequences++
		s := &sequence{
			script: &script{input}, t: t, names: names, start: time.Now(), slots: make(chan struct{}, maxBeside),
			known: map[udat.Object]string{}, freed: map[udat.Object]bool{}, succeeded: succeeded,
		}
		previous := udat.SetAssertions(func(err error) { s.fail("%v", err) })
		defer func() { udat.SetAssertions(previous) }()
		s.run()
		if t.Failed() {
			t.Logf("the calls:\n%s", strings.Join(s.history, "\n"))
		}
	})
	for _, name := range deep {
		if !fuzzing() && sequences >= enoughSequences && !succeeded[name] {
			f.Errorf("%s has never succeeded: the sequences lead nowhere", name)
		}
	}
}

// fuzzing reports whether the test is run with -fuzz.
func fuzzing() bool {
	f, worker := flag.Lookup("test.fuzz"), flag.Lookup("test.fuzzworker")
	return f != nil && f.Value.String() != "" || worker != nil && worker.Value.String() == "true"
}

// seeds is the number of fixed sequences. They take part of the time for -fuzz.
func seeds() int {
	if fuzzing() {
		return 20
	}
	return seedsAtOnce
}

// deepCalls are calls that succeed only after many others, and do so in any
// enoughSequences sequences.
var deepCalls = []string{
	"CR.Accept", "CR.Reject", "EP.Disconnect", "EP.DupConnect", "EP.Modify", "EP.PostSend", "EP.PostRecv", "EP.PostRDMARead", "EP.PostRDMAWrite",
	"EP.Reset", "CNO.Wait", "EVD.Wait", "EVD.PostSE",
}

// optionalCalls are those that not every device has, of the adapter's.
func optionalCalls(t testing.TB, ia *udat.IA) (calls []string) {
	_, provider, err := ia.Query()
	want(t, err)
	for op, name := range map[udat.DTO]string{
		udat.DTOIBRDMAWriteImmed: "EP.PostRDMAWriteImmed", udat.DTOIBFetchAdd: "EP.PostFetchAndAdd", udat.DTOIBCmpSwap: "EP.PostCmpAndSwap",
	} {
		if provider.Supports(op) {
			calls = append(calls, name)
		}
	}
	if hasSRQ(t, ia) {
		calls = append(calls, "SRQ.PostRecv")
	}
	return calls
}

const (
	enoughSequences = 60
	maxSteps        = 60
	maxBeside       = 6 // calls that are made beside the sequence at once
	maxClusters     = 8
)

// Bounds in time. Those of steps and frees are counted from the begin of the sequence, and end it
// early. The fuzzing engine ends a process with a sequence that takes 10 seconds.
const (
	stepsWithin = 1500 * time.Millisecond // calls and scenes
	freesWithin = 3 * time.Second         // of what is freed one by one in the end
	closeWithin = 5 * time.Second         // how long an adapter may be in use
	endWithin   = 3 * time.Second         // how long what was closed may have goroutines
	hangsAfter  = 9 * time.Second
	patience    = 200 * time.Millisecond // of a scene that waits for an event
)

// within returns a bound. Without -fuzz there is time for a machine that has much else to do.
func within(bound time.Duration) time.Duration {
	if fuzzing() {
		return bound
	}
	return 20 * bound
}

// sequence is one sequence of calls.
type sequence struct {
	*script
	t     *testing.T
	names []string // of the adapters
	start time.Time

	focus    *cluster // that arguments are most likely from
	clusters []*cluster

	besides sync.WaitGroup // calls beside the sequence
	slots   chan struct{}  // as many as there are

	mu      sync.Mutex
	known   map[udat.Object]string // the objects, and their names
	freed   map[udat.Object]bool
	history []string

	succeeded map[string]bool // calls, of all sequences
}

// script is the input.
type script struct{ rest []byte }

func (s *script) byte() byte {
	if len(s.rest) == 0 {
		return 0
	}
	b := s.rest[0]
	s.rest = s.rest[1:]
	return b
}

// below returns a number from 0 to n-1.
func (s *script) below(n int) int {
	b := int(s.byte())
	if n > 256 {
		b = b<<8 | int(s.byte())
	}
	return b % n
}

// percent is true in n of 100 cases.
func (s *script) percent(n int) bool { return int(s.byte())*100 < n*256 }

func choose[T any](s *script, values ...T) T { return values[s.below(len(values))] }

// cluster is a group of objects that fit together.
type cluster struct {
	ia      *udat.IA
	objects map[reflect.Type][]udat.Object

	// What the scenes made.
	pz                     *udat.PZ
	recv, request, connect *udat.EVD
	memory                 *udat.LMR
	ep                     *udat.EP
	peer                   *cluster // of the endpoint that ep is connected with
	requests               *udat.EVD
	psp                    *udat.PSP
	qual                   udat.ConnQual
}

// newCluster adds a cluster, which gets the focus.
func (s *sequence) newCluster(ia *udat.IA) {
	s.focus = &cluster{ia: ia, objects: map[reflect.Type][]udat.Object{}}
	s.clusters = append(s.clusters, s.focus)
}

func (s *sequence) run() {
	watchdog := time.AfterFunc(within(hangsAfter), s.hang)
	defer watchdog.Stop()
	before := runtime.NumGoroutine()
	for _, i := range choose(s.script, []int{0, 1}, []int{1, 0}, []int{0}, []int{1}, []int{0, 0}, []int{1, 1}) {
		s.open(s.names[i%len(s.names)])
	}
	for steps := 0; steps < maxSteps && len(s.rest) > 0 && time.Since(s.start) < within(stepsWithin); steps++ {
		s.step()
	}
	s.close()
	s.besides.Wait()
	s.close() // what calls beside the sequence have opened
	_ = udat.UnregisterProvider(registeredName)
	s.checkClosed()
	s.checkGoroutines(before)
}

func (s *sequence) step() {
	if len(s.clusters) == 0 {
		s.open(s.names[0])
		return
	}
	s.focus = choose(s.script, s.clusters...)
	if s.percent(45) {
		scene := choose(s.script, scenes...)
		s.note("scene %s", scene.name)
		scene.run(s)
		return
	}
	c := surface[choose(s.script, surfaceNames...)]
	switch {
	case c.name == "IA.Close" && s.percent(70): // it ends much
	case s.percent(25):
		s.goBeside(c, s.arguments(c, true))
	default:
		s.judged(c, s.arguments(c, false), "", s.focus)
	}
}

// open opens an adapter with a cluster of its own.
func (s *sequence) open(name string) {
	s.newCluster(nil)
	results, err := s.do("Open", name)
	if err != nil {
		s.t.Fatalf("the adapter does not open: %v", err)
	}
	s.focus.ia = results[0].Interface().(*udat.IA)
}

// do makes a call whose arguments are given. Those that are nil are zero values.
func (s *sequence) do(name string, args ...any) ([]reflect.Value, error) {
	c := surface[name]
	return s.judged(c, c.values(args), "", s.focus)
}

// beside makes such a call beside the sequence.
func (s *sequence) beside(name string, args ...any) {
	c := surface[name]
	s.goBeside(c, c.values(args))
}

func (c *surfaceCall) values(args []any) []reflect.Value {
	values := make([]reflect.Value, len(args))
	for i, a := range args {
		if values[i] = reflect.ValueOf(a); a == nil {
			values[i] = reflect.Zero(c.f.Type().In(i))
		}
	}
	return values
}

func (s *sequence) goBeside(c *surfaceCall, args []reflect.Value) {
	select {
	case s.slots <- struct{}{}:
	default:
		return
	}
	into := s.focus
	spawn(&s.besides, func() {
		s.judged(c, args, "beside: ", into)
		<-s.slots
	})
}

// judged makes a call and judges its outcome. What it makes belongs to a cluster.
func (s *sequence) judged(c *surfaceCall, args []reflect.Value, prefix string, into *cluster) ([]reflect.Value, error) {
	freed := s.freedAmong(args)
	line := s.note("%s%s", prefix, s.describe(c, args))
	results, err := c.call(args)
	if c.name == "EVD.Events" {
		results, err = nil, takeInLoop(results[0], 2)
	}
	s.noteOutcome(line, c, args, err)
	if err != nil {
		s.checkError(c, err)
	} else if freed != "" && c.reportsErrors() && c.name != "CR.Query" {
		s.fail("%s was freed, and %s succeeds", freed, c.name)
	}
	s.noteResults(args, results, into)
	return results, err
}

// checkError accepts the errors of the package.
func (s *sequence) checkError(c *surfaceCall, err error) {
	var other *udat.EventError
	var e *udat.Error
	switch {
	case c.name == "EVD.Expect" && errors.As(err, &other):
		if other.Event.Number == other.Want && other.Event.Status == udat.DTOSuccess {
			s.fail("%s gives the event as an error: %v", c.name, err)
		}
	case strings.HasSuffix(c.name, "AndWait") && errors.As(err, &other): // maybe that of another endpoint
	case !errors.As(err, &e):
		s.fail("%s gives an error that is none of the package's: %T %v", c.name, err, err)
	case e.Op == "" || e.Return.Type() == 0 || e.Error() == "":
		s.fail("%s gives an error without content: %#v", c.name, e)
	}
}

// freedAmong names an object among the arguments that is freed.
func (s *sequence) freedAmong(args []reflect.Value) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range args {
		if o, ok := a.Interface().(udat.Object); ok && s.freed[o] {
			return s.known[o]
		}
	}
	return ""
}

// noteResults takes new objects among the results, and among the events in the
// arguments, into the cluster.
func (s *sequence) noteResults(args, results []reflect.Value, into *cluster) {
	for _, a := range args {
		events, _ := a.Interface().([]udat.Event)
		for i := range events {
			s.noteEvent(events[i], into)
		}
	}
	for _, r := range results {
		switch r := r.Interface().(type) {
		case udat.Event:
			s.noteEvent(r, into)
		case udat.Object:
			s.noteObject(r, into)
		}
	}
}

func (s *sequence) noteEvent(event udat.Event, into *cluster) {
	event.Err()
	event.PrivateData()
	if cr := event.CR(); cr != nil {
		s.noteObject(cr, into)
	}
}

func (s *sequence) noteObject(o udat.Object, into *cluster) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if reflect.ValueOf(o).IsNil() || s.known[o] != "" {
		return
	}
	typ := reflect.TypeOf(o)
	s.known[o] = fmt.Sprintf("%s%d", strings.ToLower(typ.Elem().Name()), len(s.known)+1)
	into.objects[typ] = append(into.objects[typ], o)
}

// fail reports a fault. The calls up to there are shown at the end.
func (s *sequence) fail(format string, args ...any) {
	s.note("FAULT: "+format, args...)
	s.t.Errorf(format, args...)
}

// hang ends the process, since the sequence cannot be ended.
func (s *sequence) hang() {
	s.mu.Lock()
	debug.SetTraceback("all")
	panic(fmt.Sprintf("FuzzCalls hangs, after %v:\n%s", time.Since(s.start), strings.Join(s.history, "\n")))
}

func (s *sequence) objects(c *cluster, typ reflect.Type) []udat.Object {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(c.objects[typ])
}

// all returns the objects that are known.
func (s *sequence) all() (objects []udat.Object) {
	for _, c := range s.clusters {
		for _, typ := range objectTypes {
			objects = append(objects, s.objects(c, typ)...)
		}
	}
	return objects
}

// close closes the adapters, some gracefully, once what is on them is freed in
// an order that the script decides.
func (s *sequence) close() {
	if s.percent(30) {
		s.freeAll()
	}
	for _, o := range s.all() {
		if ia, ok := o.(*udat.IA); ok && !s.isFreed(ia) {
			s.closeAdapter(ia)
		}
	}
}

func (s *sequence) isFreed(o udat.Object) bool {
	return s.freedAmong([]reflect.Value{reflect.ValueOf(o)}) != ""
}

// freeAll frees what is there. What is in use is tried again when others are free.
func (s *sequence) freeAll() {
	for range 5 {
		left, objects := 0, s.all()
		rand.New(rand.NewPCG(uint64(s.below(256)), 0)).Shuffle(len(objects), func(i, j int) { objects[i], objects[j] = objects[j], objects[i] })
		for _, o := range objects {
			if time.Since(s.start) > within(freesWithin) {
				return
			}
			if s.isFreed(o) && s.percent(95) {
				continue
			}
			if err := s.free(o); err != nil && !errors.Is(err, udat.ErrClosed) {
				left++
			}
		}
		if left == 0 {
			return
		}
	}
}

// free calls what frees an object of its kind, but for what goes with its adapter.
func (s *sequence) free(o udat.Object) error {
	switch o := o.(type) {
	case *udat.IA:
		return nil
	case *udat.CR:
		_, err := s.do("CR.Reject", o, nil)
		return err
	case *udat.EVD:
		if slices.ContainsFunc(s.clusters, func(c *cluster) bool { return c.ia.AsyncEVD() == o }) {
			return nil
		}
	}
	_, err := s.do(reflect.TypeOf(o).Elem().Name()+".Free", o)
	var e *udat.Error
	if errors.As(err, &e) && e.Detail == "" {
		s.fail("the library does not free %s: %v", s.word(o), err)
	}
	return err
}

func (s *sequence) closeAdapter(ia *udat.IA) {
	if s.percent(30) {
		if _, err := s.do("IA.Close", ia, udat.CloseGraceful); err == nil {
			return
		}
	}
	// Calls beside may make or free objects meanwhile, which the adapter then refuses to leave
	// alone.
	deadline := time.Now().Add(within(closeWithin))
	err := error(udat.InvalidStateIAInUse)
	for errors.Is(err, udat.InvalidStateIAInUse) && time.Now().Before(deadline) {
		_, err = s.do("IA.Close", ia, udat.CloseAbrupt)
	}
	if err != nil && !errors.Is(err, udat.ErrClosed) {
		s.fail("%s cannot be closed: %v", s.word(ia), err)
	}
}

// checkClosed checks that closing the adapters has ended all objects.
func (s *sequence) checkClosed() {
	for _, o := range s.all() {
		if err := udat.Entered(o); !errors.Is(err, udat.ErrClosed) {
			s.fail("%s lives on without its adapter: %v", s.word(o), err)
		}
	}
}

// checkGoroutines checks that no goroutine is left. Those that are told to end
// need a moment for it.
func (s *sequence) checkGoroutines(before int) {
	for deadline := time.Now().Add(within(endWithin)); runtime.NumGoroutine() > before; runtime.Gosched() {
		if time.Now().After(deadline) {
			stacks := make([]byte, 1<<20)
			s.fail("there are %d goroutines, %d before:\n%s", runtime.NumGoroutine(), before, stacks[:runtime.Stack(stacks, true)])
			return
		}
	}
}

// note adds a line to the history.
func (s *sequence) note(format string, args ...any) (line int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.history = append(s.history, fmt.Sprintf(format, args...))
	return len(s.history) - 1
}

// noteOutcome completes the line of a call, and notes what it has freed.
func (s *sequence) noteOutcome(line int, c *surfaceCall, args []reflect.Value, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.history[line] += fmt.Sprintf(": %v", err)
	if err != nil {
		return
	}
	s.succeeded[c.name] = true
	switch _, verb, _ := strings.Cut(c.name, "."); verb {
	case "Free", "Close", "Accept", "Reject":
		s.freed[args[0].Interface().(udat.Object)] = true
	}
}
