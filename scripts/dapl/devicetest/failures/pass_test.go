//go:build linux

package failures

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/goudat/goudat/udat"
)

const (
	bound          = 15 * time.Second     // of each wait
	connectTimeout = udat.TimeoutInfinite // which hides no event that does not come
)

// pass is one run of the scenario. Calls may fail in it: the pass then leaves out what cannot be done any more, and goes
// on.
type pass struct {
	noticed []string // errors and events that report a failure
	faults  []string
	steps   int // of the scenario that have succeeded

	cookie   uint64
	ops      map[uint64]*operation // outstanding
	arrivals chan arrival
	handlers map[*udat.EVD]func(udat.Event)
	pumps    map[*udat.EVD]*pump
}

// operation is a posted operation.
type operation struct {
	what   string
	side   *side
	shared bool // of a shared queue, which may be freed with it
	silent bool // does not complete if it succeeds
}

// arrival is an event, or the failure of a wait for one.
type arrival struct {
	evd   *udat.EVD
	event udat.Event
	err   error
}

// pump waits for the events of an EVD.
type pump struct {
	stop context.CancelFunc
	done sync.WaitGroup
}

func newPass() *pass {
	return &pass{
		ops:      make(map[uint64]*operation),
		arrivals: make(chan arrival, 1000), // more than come in a pass, so that no pump blocks
		handlers: make(map[*udat.EVD]func(udat.Event)),
		pumps:    make(map[*udat.EVD]*pump),
	}
}

// ok notes an error, and reports whether there is none.
func (p *pass) ok(what string, err error) bool {
	if err != nil {
		p.notice("%s: %v", what, err)
	}
	return err == nil
}

func (p *pass) notice(format string, arguments ...any) {
	p.noticed = append(p.noticed, fmt.Sprintf(format, arguments...))
}

func (p *pass) fault(format string, arguments ...any) {
	p.faults = append(p.faults, fmt.Sprintf(format, arguments...))
}

// object is anything that the scenario makes.
type object interface {
	comparable
	Free() error
}

// made notes a failure to make an object, and reports whether it was made.
func made[T object](p *pass, o *T, what string) func(T, error) bool {
	return func(created T, err error) bool {
		*o = created
		return p.ok("creating the "+what, err)
	}
}

// free frees an object if it was made. Only one call fails, so the second attempt must succeed.
func free[T object](p *pass, what string, o T) {
	var none T
	if o == none || p.ok("freeing the "+what, o.Free()) {
		return
	}
	if err := o.Free(); err != nil && !errors.Is(err, udat.ErrClosed) {
		p.fault("the %s cannot be freed: %v", what, err)
	}
}

// watch has the events of the EVD handled. next waits for one; it is that of the EVD, or of its CNO.
func (p *pass) watch(evd *udat.EVD, handle func(udat.Event), next func(context.Context) (udat.Event, error)) {
	ctx, stop := context.WithCancel(context.Background())
	pump := &pump{stop: stop}
	p.handlers[evd], p.pumps[evd] = handle, pump
	pump.done.Add(1)
	go func() {
		defer pump.done.Done()
		for failures := 0; ctx.Err() == nil && failures < 5; {
			event, err := next(ctx)
			if err != nil && ctx.Err() != nil {
				return
			}
			if err != nil {
				failures++
			}
			p.arrivals <- arrival{evd, event, err}
		}
	}()
}

// freeEVD frees an EVD that was made, and handles the events that have come.
func (p *pass) freeEVD(what string, evd *udat.EVD) {
	if evd == nil {
		return
	}
	if pump := p.pumps[evd]; pump != nil {
		pump.stop()
		pump.done.Wait()
	}
	p.handleThose()
	for event, err := evd.Dequeue(); err == nil; event, err = evd.Dequeue() {
		p.handle(arrival{evd: evd, event: event})
	}
	free(p, what, evd)
}

func (p *pass) handle(a arrival) {
	switch {
	case errors.Is(a.err, udat.ErrClosed):
		p.fault("an event dispatcher is freed while the scenario waits: %v", a.err)
	case a.err != nil:
		p.notice("waiting: %v", a.err)
	default:
		p.handlers[a.evd](a.event)
	}
}

// handleThose handles the events that have arrived.
func (p *pass) handleThose() {
	for {
		select {
		case a := <-p.arrivals:
			p.handle(a)
		default:
			return
		}
	}
}

// until handles events until there is what the pass waits for. It returns false, and notes a fault, if that does not
// come.
func (p *pass) until(what string, come func() bool) bool {
	timer := time.NewTimer(bound)
	defer timer.Stop()
	for !come() {
		select {
		case a := <-p.arrivals:
			p.handle(a)
		case <-timer.C:
			p.fault("%s: not within %v", what, bound)
			return false
		}
	}
	return true
}

// posted records an operation that was posted with the next cookie, unless it was refused.
func (p *pass) posted(op operation, post func(cookie uint64) error) bool {
	p.cookie++
	p.ops[p.cookie] = &op // it may complete at once
	if !p.ok("posting the "+op.what, post(p.cookie)) {
		delete(p.ops, p.cookie)
		return false
	}
	return true
}

// completed handles the completion of an operation.
func (p *pass) completed(e udat.Event) {
	op := p.ops[e.Cookie]
	switch {
	case e.Number != udat.EventDTOCompletion && e.Number != udat.EventRMRBindCompletion:
		p.fault("a %v comes to an EVD for completions", e.Number)
		return
	case op == nil:
		p.fault("a completion, %v, of the cookie %d, with which nothing is outstanding", e.Err(), e.Cookie)
		return
	}
	delete(p.ops, e.Cookie)
	err := e.Err()
	if err == nil {
		op.side.succeeded = append(op.side.succeeded, op.what)
		return
	}
	op.side.failed = true
	if !op.side.ending {
		p.notice("the %s: %v", op.what, err)
	}
}

// outstanding returns what has not completed and must, of some sides.
func (p *pass) outstanding(sides ...*side) (what []string) {
	for _, op := range p.ops {
		if slices.Contains(sides, op.side) && !op.silent && !op.shared {
			what = append(what, op.what)
		}
	}
	slices.Sort(what)
	return what
}
