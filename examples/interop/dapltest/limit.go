package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/goudat/goudat/examples/interop/internal/getopt"
	"github.com/goudat/goudat/udat"
)

// limit is a test that makes objects of one kind until that fails. It needs no server.
type limit struct {
	most  int // objects of a kind
	width int // sets of the objects that are needed; they are used in turn
	names []string
}

func (l *limit) set(letter byte, value string) (err error) {
	switch letter {
	case 'm':
		l.most, err = getopt.Number(letter, value, 1, maxCount)
	case 'w':
		l.width, err = getopt.Number(letter, value, 1, maxCount)
	}
	return err
}

func (l *limit) finish(operands []string) error {
	for _, name := range operands {
		if !slices.ContainsFunc(limits, func(k limitedKind) bool { return k.name == name }) {
			return fmt.Errorf("there is no limit test %q", name)
		}
	}
	l.names = operands
	return nil
}

// limitedKind is a kind of object whose number is limited.
type limitedKind struct {
	name  string
	about string
	needs depth
	test  func(*limitTest) error
}

var limits = []limitedKind{
	{"limit_ia", "opens for the same physical IA", 0, (*limitTest).adapters},
	{"limit_pz", "PZs that are supported by an IA", depthIA, (*limitTest).zones},
	{"limit_cno", "CNOs that are supported by an IA", depthPZ, (*limitTest).notifications},
	{"limit_evd", "EVDs that are supported by an IA", depthCNO, (*limitTest).dispatchers},
	{"limit_ep", "EPs that are supported by an IA", depthEVD, (*limitTest).endpoints},
	{"limit_rsp", "RSPs that are supported by an IA", depthEP, (*limitTest).reserved},
	{"limit_psp", "PSPs that are supported by an IA", depthEP, (*limitTest).public},
	{"limit_lmr", "LMRs that are supported by an IA", depthEP, (*limitTest).regions},
	{"limit_rpost", "receive buffers posted to an EP", depthLMR, (*limitTest).receives},
	{"limit_size_lmr", "bytes of an LMR", depthEP, (*limitTest).regionSize},
}

// runLimits runs the tests that the command line names, or all.
func runLimits(ctx context.Context, c command) error {
	const line = "**********************************************************************"
	for _, kind := range limits {
		if len(c.limit.names) > 0 && !slices.Contains(c.limit.names, kind.name) {
			continue
		}
		fmt.Printf("%s\nLimitation Test                      %s\nDescription:  Test max num of %s\n", line, kind.name, kind.about)
		if err := runLimit(ctx, c, kind); err != nil {
			return fmt.Errorf("%s: %w", kind.name, err)
		}
		fmt.Println(line)
	}
	return nil
}

func runLimit(ctx context.Context, c command, kind limitedKind) error {
	t := &limitTest{ctx: ctx, command: c}
	err := t.makeSets(kind.needs)
	if err == nil {
		err = kind.test(t)
	}
	return errors.Join(err, t.freeSets())
}

// limitTest is a test with the objects that it needs.
type limitTest struct {
	command
	ctx  context.Context
	sets []*objectSet
}

// The C program's lengths and sizes.
const (
	limitQueue       = 10   // of events of connections
	limitCompletions = 1024 // of those of operations
	limitSize        = 4096 // bytes of a region
)

// limitStreams are the streams of the event dispatchers other than those of connection events.
const limitStreams = udat.EVDDTO | udat.EVDRMRBind | udat.EVDCR

// firstLimitQual is the first qualifier of the service points.
const firstLimitQual udat.ConnQual = 0xaffab1e

// depth says which objects of a set are made. Each object needs those before it.
type depth int

const (
	depthIA depth = iota + 1
	depthPZ
	depthCNO
	depthEVD
	depthEP
	depthLMR
)

// objectSet is one object of each kind.
type objectSet struct {
	ia               *udat.IA
	pz               *udat.PZ
	cno              *udat.CNO
	connections, evd *udat.EVD
	ep               *udat.EP
	buffer           *buffers
}

func (t *limitTest) makeSets(needs depth) error {
	if needs == 0 {
		return nil
	}
	for range t.limit.width {
		s := &objectSet{}
		t.sets = append(t.sets, s)
		if err := s.make(t.adapter, needs); err != nil {
			return fmt.Errorf("set %d of what the test needs: %w", len(t.sets), err)
		}
	}
	return nil
}

// set returns the next set in turn.
func (t *limitTest) set(i int) *objectSet { return t.sets[i%len(t.sets)] }

func (s *objectSet) make(name string, needs depth) (err error) {
	steps := []func() error{
		func() error { s.ia, err = openAdapter(name); return err },
		func() error { s.pz, err = udat.CreatePZ(s.ia); return err },
		func() error { s.cno, err = udat.CreateCNO(s.ia, nil); return err },
		s.makeEVDs,
		func() error { s.ep, err = s.makeEP(); return err },
		func() error { s.buffer, err = newBuffers(s.pz, limitSize, 1); return err },
	}
	for _, step := range steps[:needs] {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

func (s *objectSet) makeEVDs() (err error) {
	for _, evd := range []struct {
		evd    **udat.EVD
		length int
		flags  udat.EVDFlags
	}{
		{&s.connections, limitQueue, udat.EVDConnection},
		{&s.evd, limitCompletions, limitStreams},
	} {
		if *evd.evd, err = udat.CreateEVD(s.ia, evd.length, nil, evd.flags); err != nil {
			return err
		}
	}
	return s.evd.ModifyCNO(s.cno)
}

func (s *objectSet) makeEP() (*udat.EP, error) {
	return udat.CreateEP(s.ia, s.pz, s.evd, s.evd, s.connections, nil)
}

// freeSets frees the sets in the reverse order of the tests' kinds.
func (t *limitTest) freeSets() error {
	var errs []error
	for _, s := range t.sets {
		errs = append(errs, free(s.ep, s.buffer, s.evd, s.connections, s.cno, s.pz, closer{s.ia}))
	}
	return errors.Join(errs...)
}

// closer has a Free that closes an adapter.
type closer struct{ *udat.IA }

func (c closer) Free() error { return c.Close(udat.CloseGraceful) }

// exhaust makes objects until that fails or there are enough, and frees them.
func (t *limitTest) exhaust(call, objects, made string, create func(i int) (object, error)) (err error) {
	var all []object
	defer func() { err = errors.Join(err, free(all...)) }()
	for i := range t.limit.most {
		o, err := create(i)
		if t.ctx.Err() != nil {
			return t.ctx.Err()
		}
		if err != nil {
			fmt.Printf("LimitTest: %s #%d fails: %v\n", call, i+1, err)
			break
		}
		all = append(all, o)
	}
	fmt.Printf("LimitTest: %s %s: %d\n", objects, made, len(all))
	return nil
}
