package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/goudat/goudat/examples/internal/adapter"
	"github.com/goudat/goudat/examples/interop/internal/getopt"
	"github.com/goudat/goudat/examples/interop/internal/testprogram"
	"github.com/goudat/goudat/udat"
)

// fft is a function and feature test: a number of cases. Each makes a few calls on its own adapter. It needs no server.
type fft struct {
	feature string
	cases   []int // none: all
}

// feature is a set of cases.
type feature struct {
	title string
	cases []featureCase
}

// featureCase is a case, which ends with the first check that fails.
type featureCase struct {
	about string
	run   func(*bench)
}

var features = map[string]feature{
	"hwconn":    {"Hardware connection", adapterCases},
	"endpoint":  {"EndPoint management", endpointCases},
	"pz":        {"Protection Zone management", zoneCases},
	"mem":       {"Memory register/deregister", memoryCases},
	"connmgt":   {"Connect Management (Server side)", connectionCases},
	"queryinfo": {"Queryinfo", queryCases},
}

func (f *fft) finish(operands []string) error {
	feature, found := features[f.feature]
	if !found {
		return fmt.Errorf("-f: there is no feature %q", f.feature)
	}
	for _, word := range operands {
		number, isCase := strings.CutPrefix(word, "case")
		i, err := getopt.ParseNumber(number, 0, len(feature.cases)-1)
		if err != nil || !isCase {
			return fmt.Errorf("%q is not case0 to case%d", word, len(feature.cases)-1)
		}
		f.cases = append(f.cases, i)
	}
	return nil
}

// errUnsupported is the result of a case that is not possible.
var errUnsupported = errors.New("not supported")

// runFeature runs the cases. It fails if one fails.
func runFeature(ctx context.Context, c command) error {
	const line = "*********************************************************************"
	f := features[c.fft.feature]
	failed := 0
	for i, fc := range f.cases {
		if len(c.fft.cases) > 0 && !slices.Contains(c.fft.cases, i) {
			continue
		}
		fmt.Printf("%s\nFunction feature: %s        case: %d\nDescription: %s\n", line, f.title, i, fc.about)
		b := &bench{ctx: ctx, command: c}
		err := testprogram.Attempt(func() { fc.run(b) })
		for len(b.made) > 0 {
			err = errors.Join(err, b.freeLast())
		}
		switch {
		case ctx.Err() != nil:
			return err
		case err == nil:
			fmt.Println("Result: PASS")
		case errors.Is(err, errUnsupported):
			fmt.Printf("Result: UNSUPP\n(%v)\n", err)
		default:
			failed++
			fmt.Printf("Result: FAIL\n(%v)\n", err)
		}
		fmt.Println(line)
	}
	if failed > 0 {
		return fmt.Errorf("%d cases failed", failed)
	}
	return nil
}

// bench has the objects of a case, which are freed in reverse order.
type bench struct {
	command
	ctx  context.Context
	made []object
	ia   *udat.IA
}

// keep has an object freed at the end.
func keep[O object](b *bench, o O) O {
	b.made = append(b.made, o)
	return o
}

// freeLast frees the last object.
func (b *bench) freeLast() error {
	last := b.made[len(b.made)-1]
	b.made = b.made[:len(b.made)-1]
	return last.Free()
}

func (b *bench) open() *udat.IA {
	b.ia = must(adapter.Open(b.adapter))
	keep(b, closer{b.ia})
	return b.ia
}

// zone opens an adapter and makes a protection zone on it.
func (b *bench) zone() *udat.PZ { return keep(b, must(udat.CreatePZ(b.open()))) }

// benchQueue is the C program's length of event dispatchers.
const benchQueue = 10

// endpoint makes an endpoint in a zone.
func (b *bench) endpoint(pz *udat.PZ) *link {
	return keep(b, must(newLink(b.ia, pz, sameLengths(benchQueue), b.ia.DefaultEPAttr(), true)))
}

// linked makes an adapter, a zone and an endpoint.
func (b *bench) linked() (*udat.PZ, *link) {
	pz := b.zone()
	return pz, b.endpoint(pz)
}

// memory registers memory of the Go heap.
func (b *bench) memory(pz *udat.PZ, size int) *udat.LMR {
	return keep(b, must(udat.RegisterMemory(pz, make([]byte, size), udat.MemPrivAll)))
}

// listening makes an endpoint that listens.
func (b *bench) listening() *link {
	_, l := b.linked()
	keep(b, must(l.listen(b.ia, b.port, false)))
	return l
}

// want checks that a call failed with the expected error.
func want(target, err error) {
	switch {
	case err == nil:
		check(fmt.Errorf("the call succeeded, but must fail with %w", target))
	case !errors.Is(err, target):
		check(fmt.Errorf("the call failed with %w, but must fail with %w", err, target))
	}
}

var adapterCases = []featureCase{
	{"open an adapter, and close it", func(b *bench) { b.open() }},
	{"open adapters that do not exist", func(*bench) {
		for _, name := range []string{"40", "x", "xsdf", "x34", "34df"} {
			_, err := udat.Open(name)
			want(udat.ErrProviderNotFound, err)
		}
	}},
	{"close an adapter that is not open", func(*bench) {
		var ia *udat.IA
		want(udat.ErrInvalidHandle, ia.Close(udat.CloseAbrupt))
	}},
	{"close an adapter on which an endpoint is alive", func(b *bench) {
		b.linked()
		b.made = nil // the close frees them
		check(b.ia.Close(udat.CloseAbrupt))
	}},
}

var endpointCases = []featureCase{
	{"make an endpoint, and free it", func(b *bench) { b.linked() }},
	{"make an endpoint in a protection zone that is freed", func(b *bench) {
		pz := b.zone()
		check(b.freeLast())
		_, err := newLink(b.ia, pz, sameLengths(benchQueue), b.ia.DefaultEPAttr(), true)
		want(udat.ErrInvalidHandle, err)
	}},
	{"free an endpoint on which a receive is posted", func(b *bench) {
		pz, l := b.linked()
		l.postNote(keep(b, must(newBuffers(pz, limitSize, 1))), 0, limitSize)
		ep := l.ep
		l.ep = nil
		check(ep.Free())
		drain(l.recv)
	}},
}

var zoneCases = []featureCase{
	{"make a protection zone, and free it", func(b *bench) { b.zone() }},
	{"free a protection zone in which an endpoint is alive", func(b *bench) {
		pz, _ := b.linked()
		want(udat.ErrInvalidState, pz.Free())
	}},
	{"free a protection zone in which memory is registered", func(b *bench) {
		pz := b.zone()
		b.memory(pz, 1024)
		want(udat.ErrInvalidState, pz.Free())
	}},
}

var memoryCases = []featureCase{
	{"register memory, and free it", func(b *bench) { b.memory(b.zone(), 1024) }},
	{"register memory, free it, and register it again", func(b *bench) {
		pz, memory := b.zone(), make([]byte, 1024)
		for range 2 {
			check(must(udat.RegisterMemory(pz, memory, udat.MemPrivAll)).Free())
		}
	}},
	{"register no memory", func(b *bench) {
		// The C program expects a length error; package udat names the argument.
		_, err := udat.RegisterMemory(b.zone(), []byte{}, udat.MemPrivAll)
		want(udat.ErrInvalidParameter, err)
	}},
	{"register memory in no protection zone", func(b *bench) {
		_, err := udat.RegisterMemory(nil, make([]byte, 1024), udat.MemPrivAll)
		want(udat.ErrInvalidHandle, err)
	}},
	{"free memory that is not registered", func(*bench) {
		var lmr *udat.LMR
		want(udat.ErrInvalidHandle, lmr.Free())
	}},
}

var connectionCases = []featureCase{
	{"wait for a request until the time-out", func(b *bench) { b.waitInVain(10 * time.Millisecond) }},
	{"wait for a request for no time", func(b *bench) { b.waitInVain(0) }},
}

func (b *bench) waitInVain(d time.Duration) {
	l := b.listening()
	ctx, cancel := context.WithTimeout(b.ctx, d)
	defer cancel()
	_, err := l.requests.Wait(ctx)
	want(context.DeadlineExceeded, err)
}

// queryable is an object with parameters of type P.
type queryable[P any] interface {
	object
	Query() (P, error)
}

// queries queries an object.
func queries[P any, O queryable[P]](b *bench, o O) { must(keep(b, o).Query()) }

// queriesFreed queries a freed object, and one that was never made.
func queriesFreed[P any, O queryable[P]](o O) {
	check(o.Free())
	var none O
	for _, invalid := range []O{o, none} {
		_, err := invalid.Query()
		want(udat.ErrInvalidHandle, err)
	}
}

// noParameter is the case of a query without a place for its results.
func noParameter(*bench) { check(fmt.Errorf("%w: a query returns its results", errUnsupported)) }

func (b *bench) public() *udat.PSP {
	evd := keep(b, must(udat.CreateEVD(b.open(), benchQueue, nil, udat.EVDCR)))
	return must(udat.CreatePSP(b.ia, b.port, evd))
}

var queryCases = []featureCase{
	{"query an IA", func(b *bench) {
		_, _, err := b.open().Query()
		check(err)
	}},
	{"query a CNO", func(b *bench) { queries(b, must(udat.CreateCNO(b.open(), nil))) }},
	{"query an EVD", func(b *bench) { must(b.open().AsyncEVD().Query()) }},
	{"query a PSP", func(b *bench) { queries(b, b.public()) }},
	{"query an RSP", func(b *bench) {
		_, l := b.linked()
		queries(b, must(udat.CreateRSP(b.ia, b.port, l.ep, l.requests)))
	}},
	{"query a CR", (*bench).queryRequest},
	{"query an EP", func(b *bench) {
		_, l := b.linked()
		must(l.ep.Query())
	}},
	{"query a PZ", func(b *bench) { must(b.zone().Query()) }},
	{"query an LMR", func(b *bench) { must(b.memory(b.zone(), 1024).Query()) }},
	{"query an RMR", func(b *bench) {
		rmr, err := udat.CreateRMR(b.zone())
		if errors.Is(err, udat.ErrModelNotSupported) {
			err = fmt.Errorf("%w: %w", errUnsupported, err)
		}
		queries(b, must(rmr, err))
	}},
	{"query an IA into nothing", noParameter},
	{"query an invalid IA", func(b *bench) {
		ia := b.open()
		check(b.freeLast())
		for _, invalid := range []*udat.IA{ia, nil} {
			_, _, err := invalid.Query()
			want(udat.ErrInvalidHandle, err)
		}
	}},
	{"query a CNO into nothing", noParameter},
	{"query an invalid CNO", func(b *bench) { queriesFreed(must(udat.CreateCNO(b.open(), nil))) }},
	{"query an EVD into nothing", noParameter},
	{"query an invalid EVD", func(b *bench) { queriesFreed(must(udat.CreateEVD(b.open(), benchQueue, nil, udat.EVDDTO))) }},
	{"query a PSP into nothing", noParameter},
	{"query an invalid PSP", func(b *bench) { queriesFreed(b.public()) }},
}

// queryRequest connects an endpoint to another one, and checks the request.
func (b *bench) queryRequest() {
	l := b.listening()
	peer := b.endpoint(must(l.ep.Query()).PZ)
	attr, _, err := b.ia.Query()
	check(err)
	check(peer.ep.Connect(attr.Address, b.port, patience, []byte(greeting)))
	ctx, cancel := patient(b.ctx)
	defer cancel()
	cr, request := l.nextRequest(ctx)
	if !strings.HasPrefix(string(request.PrivateData), greeting) {
		err = fmt.Errorf("the request came with %q", request.PrivateData)
	}
	check(errors.Join(err, cr.Reject(nil)))
}
