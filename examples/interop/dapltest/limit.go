package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/goudat/goudat/examples/internal/adapter"
	"github.com/goudat/goudat/examples/interop/internal/testprogram"
	"github.com/goudat/goudat/udat"
)

// limit is a test that makes objects of one kind until that fails. It needs no server.
type limit struct {
	most  int // objects of a kind
	width int // sets of the objects that are needed; they are used in turn
	names []string
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
	call  string
	made  string // what the result counts
	make  func(t *limitTest, s *objectSet, i int) (object, error)
}

var limits = []limitedKind{
	{"limit_ia", "opens for the same physical IA", "dat_ia_open", "IAs opened", func(t *limitTest, _ *objectSet, _ int) (object, error) {
		ia, err := adapter.Open(t.adapter)
		return closer{ia}, err
	}},
	{"limit_pz", "PZs that are supported by an IA", "dat_pz_create", "PZs created", func(_ *limitTest, s *objectSet, _ int) (object, error) {
		return udat.CreatePZ(s.ia)
	}},
	{"limit_cno", "CNOs that are supported by an IA", "dat_cno_create", "CNOs created", func(_ *limitTest, s *objectSet, _ int) (object, error) {
		return udat.CreateCNO(s.ia, nil)
	}},
	{"limit_evd", "EVDs that are supported by an IA", "dat_evd_create", "EVDs created", func(_ *limitTest, s *objectSet, _ int) (object, error) {
		return udat.CreateEVD(s.ia, limitQueue, nil, limitStreams)
	}},
	{"limit_ep", "EPs that are supported by an IA", "dat_ep_create", "EPs created", func(_ *limitTest, s *objectSet, _ int) (object, error) {
		return s.makeEP()
	}},
	{"limit_rsp", "RSPs that are supported by an IA", "dat_rsp_create", "RSPs created", func(_ *limitTest, s *objectSet, i int) (object, error) {
		ep, err := s.makeEP()
		if err != nil {
			return nil, err
		}
		rsp, err := udat.CreateRSP(s.ia, firstLimitQual+udat.ConnQual(i), ep, s.evd)
		if err != nil {
			return nil, errors.Join(err, ep.Free())
		}
		return reservation{rsp, ep}, nil
	}},
	{"limit_psp", "PSPs that are supported by an IA", "dat_psp_create", "PSPs created", func(_ *limitTest, s *objectSet, i int) (object, error) {
		return udat.CreatePSP(s.ia, firstLimitQual+udat.ConnQual(i), s.evd)
	}},
	{"limit_lmr", "LMRs that are supported by an IA", "dat_lmr_create", "LMRs created", func(_ *limitTest, s *objectSet, _ int) (object, error) {
		return udat.AllocMemory(s.pz, limitSize, udat.MemPrivAll)
	}},
	// The same memory is posted again and again, to the endpoint of each set.
	{"limit_rpost", "receive buffers posted to an EP", "dat_ep_post_recv", "recv buffers posted per EP", func(_ *limitTest, s *objectSet, i int) (object, error) {
		iov, err := s.buffer.segments(1)
		if err == nil {
			err = s.ep.PostRecv(iov, uint64(i), udat.CompletionDefault)
		}
		return nil, err
	}},
}

// reservation is a reserved service point with its endpoint.
type reservation struct {
	*udat.RSP
	ep *udat.EP
}

func (r reservation) Free() error { return errors.Join(r.RSP.Free(), r.ep.Free()) }

// runLimits runs the tests that the command line names, or all.
func runLimits(ctx context.Context, c command) error {
	const line = "**********************************************************************"
	for _, kind := range limits {
		if len(c.limit.names) > 0 && !slices.Contains(c.limit.names, kind.name) {
			continue
		}
		fmt.Printf("%s\nLimitation Test                      %s\nDescription:  Test max num of %s\n", line, kind.name, kind.about)
		t := &limitTest{ctx: ctx, command: c}
		err := testprogram.Attempt(func() { t.exhaust(kind) })
		if err = errors.Join(err, t.free()); err != nil {
			return fmt.Errorf("%s: %w", kind.name, err)
		}
		fmt.Println(line)
	}
	return nil
}

// limitTest is a test with the objects that it needs, and those that it makes.
type limitTest struct {
	command
	ctx  context.Context
	sets []*objectSet
	made []object
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

// objectSet is one object of each kind.
type objectSet struct {
	ia               *udat.IA
	pz               *udat.PZ
	cno              *udat.CNO
	connections, evd *udat.EVD
	ep               *udat.EP
	buffer           *buffers
}

func (t *limitTest) makeSet() {
	s := &objectSet{ia: must(adapter.Open(t.adapter))}
	t.sets = append(t.sets, s)
	s.pz = must(udat.CreatePZ(s.ia))
	s.cno = must(udat.CreateCNO(s.ia, nil))
	s.connections = must(udat.CreateEVD(s.ia, limitQueue, nil, udat.EVDConnection))
	s.evd = must(udat.CreateEVD(s.ia, limitCompletions, nil, limitStreams))
	check(s.evd.ModifyCNO(s.cno))
	s.ep = must(s.makeEP())
	s.buffer = must(newBuffers(s.pz, limitSize, 1))
}

func (s *objectSet) makeEP() (*udat.EP, error) {
	return udat.CreateEP(s.ia, s.pz, s.evd, s.evd, s.connections, nil)
}

// free frees everything, users first.
func (t *limitTest) free() error {
	err := free(t.made...)
	for _, s := range t.sets {
		err = errors.Join(err, free(s.ep, s.buffer, s.evd, s.connections, s.cno, s.pz, closer{s.ia}))
	}
	return err
}

// closer has a Free that closes an adapter.
type closer struct{ *udat.IA }

func (c closer) Free() error { return c.Close(udat.CloseGraceful) }

// exhaust makes objects until that fails or there are enough.
func (t *limitTest) exhaust(kind limitedKind) {
	most, perSet := t.limit.most, 1
	for range t.limit.width {
		t.makeSet()
	}
	if kind.name == "limit_rpost" {
		perSet = len(t.sets)
		most *= perSet
	}
	count := 0
	for ; count < most; count++ {
		o, err := kind.make(t, t.sets[count%len(t.sets)], count)
		check(t.ctx.Err())
		if err != nil {
			fmt.Printf("LimitTest: %s #%d fails: %v\n", kind.call, count+1, err)
			break
		}
		t.made = append(t.made, o)
	}
	fmt.Printf("LimitTest: %s: %d\n", kind.made, count/perSet)
}
