// Package mpi passes messages between the ranks of a parallel program. Its calls are those of MPI's core, and it is
// built on package udat. See ../shims.md for how it works.
//
// A program calls Init in each process that a launcher has started: mpiexec.hydra, srun, or package launch. It sends
// and receives slices of any kind of number. Numbers travel in the machine's own byte order.
package mpi

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/goudat/goudat/examples/internal/adapter"
	"github.com/goudat/goudat/examples/mpi/launch"
	"github.com/goudat/goudat/examples/mpi/pmi"
	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/device"
	"github.com/goudat/goudat/udat/mem"
)

// Options say how a process becomes a rank. The zero value is ready to use.
type Options struct {
	// Adapter is a name for udat.Open. If it is empty, the environment variable AdapterVariable has the name. If that
	// is empty, too, the rank uses the first adapter that opens.
	Adapter string

	// Bound is the longest time until operations fail when a rank cannot be reached because its machine or a link has
	// failed; 30 seconds if 0. A machine that stops for that long counts as dead. When a process ends, the others
	// notice at once.
	Bound time.Duration

	// Connections limits how many connections this rank keeps; 0 means no limit. A rank over the limit disconnects
	// from the peers that it has not received anything from for the longest time. It keeps its two neighbors, and
	// peers that it has operations under way with.
	Connections int
}

// World is this process as a rank of its job.
type World struct {
	*Comm // of all ranks

	rank    int
	job     uint64          // the same on all ranks, and different in every job
	line    *pmi.Client     // to the launcher; nil for a process without one
	cards   []card          // by rank
	running context.Context // of the World's goroutines
	stop    context.CancelFunc
	failed  context.Context // ends when the world fails or is closed
	end     context.CancelFunc
	work    sync.WaitGroup // the World's goroutines
	forget  func() bool    // stops watching the context of Init

	ia            *udat.IA
	pz            *udat.PZ
	registrations *mem.RegistrationCache
	cno           *udat.CNO
	calls         *udat.EVD // connection requests
	received      *udat.EVD // eager messages
	attr          udat.EPAttr
	bound         time.Duration
	keep          int // mostKept, except in tests
	depth         int // how many operations an endpoint has room for
	// iwarp says that a send or a write completes when it has been handed to TCP, not when it has arrived.
	iwarp bool
	ways  ways
	// readsAtOnce is how many reads of a connection can be under way.
	readsAtOnce int

	mostConnections int // 0 for no limit

	mu       sync.Mutex
	changed  *sync.Cond // something has completed, a message was kept, nobody makes progress, or the world has ended
	peers    []*peer    // by rank; the entry of this rank is not used
	linked   []*peer    // those that have memory for a connection
	banks    []*bank
	owners   map[*udat.EP]*peer // of all endpoints
	givenUp  map[*udat.EP]*bank // endpoints whose request was given up for the peer's own
	areas    areas
	receives receives
	staging  staging
	matcher  matcher
	comms    map[uint32]*Comm          // by id
	handlers map[uint32]func(*message) // by context

	driven     bool               // a waiting goroutine makes progress
	wake       context.CancelFunc // ends the sleep of that goroutine
	driverLeft chan struct{}      // closed when that goroutine has what it waits for; nil if nobody needs to know
	entries    uint64             // calls that have waited
	turn       uint
	vain       int       // glances that have found nothing
	eagerTurns int       // for how many turns to look for eager messages
	blocked    bool      // something cannot continue until an operation completes
	reads      int       // RDMA reads under way
	pending    int       // requests
	gaveWay    time.Time // when this rank last let other goroutines run
	heard      uint64    // counts arrivals from peers
	events     [][]udat.Event
	nesting    int

	stats  Stats
	made   uint32 // ids of communicators
	err    error  // why the world has ended
	left   bool   // all ranks are closing their worlds
	closed bool
}

// Init makes this process a rank of the job that its launcher has started, and waits until the other ranks are there.
// Without a launcher the process is the only rank, and needs no adapter. When ctx ends, all operations fail with an
// error that matches the error of ctx and its cause, and lists the ranks that are awaited.
//
// Init fails with a RankError on all ranks when one of them has no adapter (ErrAdapter), is another build of the
// program (ErrVersion), or was told another number of ranks (ErrSize).
func Init(ctx context.Context, options Options) (*World, error) {
	line, err := pmi.Join(ctx)
	if err != nil && !errors.Is(err, pmi.ErrNoLauncher) {
		return nil, launcherError(err)
	}
	return initialize(ctx, line, options)
}

// initialize is Init with a given line to the launcher, nil for none.
func initialize(ctx context.Context, line *pmi.Client, options Options) (*World, error) {
	if options.Bound < 0 || options.Connections < 0 {
		return nil, badArgument("the options are %+v; numbers must be 0 or more", options)
	}
	rank, size := 0, 1
	if line != nil {
		rank, size = line.Rank, line.Size
	}
	w := newWorld(rank, size, options)
	var err error
	if w.line = line; line != nil {
		err = w.join(ctx, options)
	}
	w.forget = context.AfterFunc(ctx, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.expire(launch.ContextError(ctx))
	})
	if err != nil {
		return nil, errors.Join(err, w.free())
	}
	return w, nil
}

// newWorld returns a world that has no adapter yet.
func newWorld(rank, size int, options Options) *World {
	w := &World{rank: rank, bound: cmp.Or(options.Bound, defaultBound), keep: mostKept, mostConnections: options.Connections, owners: map[*udat.EP]*peer{}, givenUp: map[*udat.EP]*bank{}, comms: map[uint32]*Comm{}, handlers: map[uint32]func(*message){}}
	w.running, w.stop = context.WithCancel(context.Background())
	w.failed, w.end = context.WithCancel(context.Background())
	w.changed = sync.NewCond(&w.mu)
	for rank := range size {
		w.peers = append(w.peers, &peer{world: w, rank: rank})
	}
	w.Comm = w.comm(0)
	return w
}

// join opens the adapter, and exchanges cards with the other ranks. If it has no adapter, its card tells them.
func (w *World) join(ctx context.Context, options Options) error {
	mine := newCard(w.Size())
	trouble := w.open(cmp.Or(options.Adapter, os.Getenv(AdapterVariable)))
	if trouble == nil {
		trouble = w.listen(&mine)
	}
	if trouble != nil {
		mine.Trouble = trouble.Error()
		trouble = &RankError{w.rank, fmt.Errorf("%w: %w", ErrAdapter, trouble)}
	}
	var err error
	if w.cards, err = exchangeCards(ctx, w.line, mine); trouble != nil {
		return trouble
	}
	if err != nil {
		return err
	}
	hash := fnv.New64a()
	_, _ = hash.Write([]byte(w.line.Name())) // has no errors
	w.job = hash.Sum64() ^ w.cards[0].Nonce
	w.work.Add(3)
	go w.hear()
	go w.tend()
	go w.guard()
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.watch()
}

// hear notices the end of the launcher.
func (w *World) hear() {
	defer w.work.Done()
	select {
	case <-w.line.Gone():
	case <-w.running.Done():
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.left {
		w.fail(ErrLauncherGone)
	}
}

// open creates everything that the connections share.
func (w *World) open(name string) error {
	var err error
	if w.ia, err = adapter.Open(name); err != nil {
		return err
	}
	if w.pz, err = udat.CreatePZ(w.ia); err != nil {
		return err
	}
	if w.cno, err = udat.CreateCNO(w.ia, nil); err != nil {
		return err
	}
	attr, _, err := w.ia.Query()
	if err != nil {
		return err
	}
	rdma, err := adapter.Device(attr.AdapterName)
	if err != nil {
		return err
	}
	w.iwarp = rdma.Transport == device.TransportIWARP
	if w.readsAtOnce = mostReads; rdma.Software {
		w.readsAtOnce = softwareReads
	}
	ranks := len(w.peers)
	w.depth, w.receives.first, w.receives.most = 31, firstGrant, firstGrant*ranks+2*receivesAtOnce
	if ranks > manyRanks {
		w.depth, w.receives.first, w.receives.most = 7, 1, mostReceives
	}
	w.attr = udat.EPAttr{MaxRequestDTOs: w.depth, MaxRequestIOV: 1, MaxRecvDTOs: 1, MaxRecvIOV: 1, MaxRDMAReadIn: mostReads, MaxRDMAReadOut: mostReads}
	if w.iwarp {
		w.depth-- // the last place is for confirm
	}
	if w.calls, err = w.dispatcher(max(2*ranks, 16), udat.EVDCR); err != nil {
		return err
	}
	if w.received, err = w.dispatcher(w.receives.most+receivesAtOnce, udat.EVDDTO); err != nil {
		return err
	}
	w.receives.pool, err = mem.CreateBufferPool(w.pz, mem.BufferPoolConfig{
		BufferSize: slotSize, MaxBuffers: w.receives.most + receivesAtOnce + stagingSlots, SlabBuffers: receivesAtOnce,
	})
	if err != nil {
		return err
	}
	if w.registrations, err = mem.CreateRegistrationCache(w.pz, mem.RegistrationCacheLimits{IdleBytes: keptRegistered}); err != nil {
		return err
	}
	if w.receives.srq, err = udat.CreateSRQ(w.ia, w.pz, udat.SRQAttr{MaxRecvDTOs: w.receives.most + receivesAtOnce, MaxRecvIOV: 1}); err != nil {
		return err
	}
	w.staging.slots, err = newSlots(w.receives.pool, stagingSlots)
	for i := range stagingSlots {
		w.staging.free = append(w.staging.free, i)
	}
	return err
}

// listen makes it possible to connect to this rank, and writes the address to its card.
func (w *World) listen(mine *card) error {
	psp, err := udat.CreatePSPAny(w.ia, w.calls)
	if err != nil {
		return err
	}
	param, err := psp.Query()
	if err != nil {
		return err
	}
	attr, provider, err := w.ia.Query()
	if err != nil {
		return err
	}
	mine.Address = attr.Address.WithZone("") // a zone means something on this host alone
	mine.Qualifier, mine.Provider = uint64(param.ConnQual), providerName(provider)
	return nil
}

// Close waits until the messages of this rank are received, or stored at the receiver, and until all other ranks have
// called Close. Then it frees everything. Receives that are still posted fail with ErrClosed. Close returns the error
// that ended the world, if there was one. If other ranks are in collective operations without this one, all fail within
// Options.Bound. The second call fails with ErrClosed.
func (w *World) Close() error {
	w.mu.Lock()
	again := w.closed
	w.closed = true
	w.mu.Unlock()
	if again {
		return ErrClosed
	}
	err := w.finish()
	if err == nil {
		err = w.depart()
	}
	return errors.Join(err, w.free())
}

// partingTime bounds how long the end of a world waits for peers and the launcher.
func (w *World) partingTime() time.Duration { return min(w.bound/4, 5*time.Second) }

// depart meets the others in the launcher's barrier twice. After the first time the end of a connection is no failure
// to this rank. After the second it is none to any rank.
func (w *World) depart() error {
	if w.line == nil {
		return nil
	}
	met := w.line.Barrier(w.failed)
	w.mu.Lock()
	if met != nil {
		w.fail(launcherError(met))
	}
	w.left = w.err == nil
	err := w.err
	w.mu.Unlock()
	if err != nil {
		return err
	}
	bounded, cancel := context.WithTimeout(w.failed, w.bound)
	defer cancel()
	if err := w.line.Barrier(bounded); err != nil {
		return launcherError(err)
	}
	brief, cancel := context.WithTimeout(w.failed, w.partingTime())
	defer cancel()
	return launcherError(w.line.Finalize(brief))
}

// finish waits until nothing is under way, not even a Put that no call has waited for.
func (w *World) finish() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.await(func() bool {
		return !slices.ContainsFunc(w.linked, func(p *peer) bool { return !p.quiet() })
	})
}

// part sends all peers a last notice.
func (w *World) part(notice uint32, rank int) {
	for _, p := range w.linked {
		if p.link != connected {
			continue
		}
		p.line.notice, p.line.rank = notice, uint32(rank)
		p.posted++
		err := p.writeLine(p.mark())
		if w.iwarp && err == nil {
			err = p.confirm()
		}
		p.parting = p.answer
		if err != nil {
			p.parting = p.delivered // a peer that does not get it notices the end of the connection
		}
	}
}

// free ends what is still under way, and frees everything.
func (w *World) free() error {
	w.mu.Lock()
	w.fail(ErrClosed)
	w.mu.Unlock()
	w.forget()
	w.settle()
	w.stop()
	var err error
	if w.line != nil {
		err = w.line.Close()
	}
	w.work.Wait()
	if w.ia != nil {
		err = errors.Join(err, w.ia.Close(udat.CloseAbrupt))
	}
	// Reads that were under way are now over.
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, p := range w.peers {
		for len(p.reading) > 0 {
			_ = p.readDone(nil)
		}
	}
	return err
}

// settle waits until the last notices have arrived, for no longer than partingTime.
func (w *World) settle() {
	end := time.Now().Add(w.partingTime())
	w.mu.Lock()
	defer w.mu.Unlock()
	for w.ia != nil && time.Now().Before(end) && slices.ContainsFunc(w.linked, func(p *peer) bool {
		return p.link == connected && later(p.parting, p.delivered)
	}) {
		w.pollAll()
		w.mu.Unlock()
		time.Sleep(100 * time.Microsecond) // others need the lock, and the adapter the processor
		w.mu.Lock()
	}
}

// Adapter returns the name of the adapter, "" for a process without a launcher.
func (w *World) Adapter() string { return w.ia.Name() }

// providerName returns a name that differs for providers that cannot connect to each other.
func providerName(attr udat.ProviderAttr) string {
	return cmp.Or(attr.ProviderSpecificAttr["DAT_IB_PROVIDER_NAME"], attr.ProviderName)
}

// Stats counts what a rank has done to pass messages since Init.
type Stats struct {
	Short      uint64 // messages written into peers' rings, including those of the protocol
	Eager      uint64 // messages sent to shared receive queues, including those of the protocol
	Parted     uint64 // connections that were ended because there were too many
	Sleeps     uint64 // times that a goroutine slept because nothing arrived
	Registered uint64 // long messages, and long pieces of windows, whose memory was registered
	Found      uint64 // those whose memory was registered already
}

// Stats returns the counters.
func (w *World) Stats() Stats {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.stats
	if w.registrations != nil {
		c := w.registrations.Stats()
		s.Registered, s.Found = c.Misses, c.Hits
	}
	return s
}
