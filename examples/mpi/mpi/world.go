package mpi

import (
	"context"
	"errors"
	"sync"

	"github.com/goudat/goudat/examples/mpi/launch"
	"github.com/goudat/goudat/udat"
)

// World is this process as one of the ranks of its job.
type World struct {
	*Comm // of all ranks

	rank    int
	member  *launch.Member
	places  []launch.Place
	running context.Context // of the goroutines
	stop    context.CancelFunc
	work    sync.WaitGroup // the goroutines
	// forget ends the watch on the context of Init.
	forget func() bool

	ia          *udat.IA
	pz          *udat.PZ
	cno         *udat.CNO
	calls       *udat.EVD // connection requests
	connections *udat.EVD
	received    *udat.EVD
	requested   *udat.EVD // completions of sends and RDMA reads
	attr        udat.EPAttr

	mu          sync.Mutex
	peers       []*peer // by rank; that of this rank is not used
	matcher     matcher
	nextContext uint32     // a number for communicators that is not in use
	changed     *sync.Cond // a message was kept, something has completed, or the world has ended
	err         error      // what has ended the world
	leaving     bool       // this rank needs the others no more
	left        bool       // and no other rank needs this one
	closed      bool
}

// Init makes this process, which a launcher has started, a rank of its job, and
// waits until the other ranks are there. adapter is a name for udat.Open. When
// ctx ends, all operations fail with an error that matches the error of ctx and
// its cause.
func Init(ctx context.Context, adapter string) (*World, error) {
	member, err := launch.Join()
	if err != nil {
		return nil, err
	}
	w := &World{rank: member.Rank, member: member, nextContext: 1}
	w.running, w.stop = context.WithCancel(context.Background())
	w.changed = sync.NewCond(&w.mu)
	group := make([]int, member.Size)
	for rank := range group {
		group[rank] = rank
		w.peers = append(w.peers, &peer{world: w, rank: rank})
	}
	w.Comm = &Comm{world: w, group: group, rank: w.rank}

	err = w.open(adapter)
	if err == nil {
		err = w.meet()
	}
	w.forget = context.AfterFunc(ctx, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.fail(launch.ContextError(ctx))
	})
	if err == nil {
		w.work.Add(2)
		go w.hear()
		go w.progress()
		err = w.await(func() bool { return w.places != nil })
	}
	if err != nil {
		return nil, errors.Join(err, w.end())
	}
	return w, nil
}

// open makes all that the connections share.
func (w *World) open(adapter string) error {
	var err error
	if w.ia, err = udat.Open(adapter); err != nil {
		return err
	}
	if w.pz, err = udat.CreatePZ(w.ia); err != nil {
		return err
	}
	if w.cno, err = udat.CreateCNO(w.ia, nil); err != nil {
		return err
	}
	ranks := len(w.peers)
	const requests = slotCount + readWindow
	for _, e := range []struct {
		evd    **udat.EVD
		length int
		flags  udat.EVDFlags
	}{
		{&w.calls, 2 * ranks, udat.EVDCR},
		{&w.connections, 4 * ranks, udat.EVDConnection},
		{&w.received, slotCount * ranks, udat.EVDDTO},
		{&w.requested, requests * ranks, udat.EVDDTO},
	} {
		if *e.evd, err = udat.CreateEVD(w.ia, e.length, e.flags); err != nil {
			return err
		}
		if err := (*e.evd).ModifyCNO(w.cno); err != nil {
			return err
		}
	}
	// The attributes are a default endpoint's, but for the depths.
	ep, err := udat.CreateEP(w.ia, w.pz, w.received, w.requested, w.connections, nil)
	if err != nil {
		return err
	}
	param, err := ep.Query()
	w.attr = param.Attr
	w.attr.MaxRecvDTOs, w.attr.MaxRequestDTOs = slotCount, requests
	w.attr.MaxRDMAReadIn, w.attr.MaxRDMAReadOut = readWindow, readWindow
	return errors.Join(err, ep.Free())
}

// meet listens, and tells the launcher where.
func (w *World) meet() error {
	psp, err := udat.CreatePSPAny(w.ia, w.calls)
	if err != nil {
		return err
	}
	param, err := psp.Query()
	if err != nil {
		return err
	}
	attr, _, err := w.ia.Query()
	if err != nil {
		return err
	}
	return w.member.Announce(launch.Place{Address: attr.Address, Qualifier: uint64(param.ConnQual)})
}

// await waits until something is true, or the world has ended.
func (w *World) await(something func() bool) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for w.err == nil && !something() {
		w.changed.Wait()
	}
	return w.err
}

// Close waits until what this rank has sent is received or at the receiver, and
// until all other ranks have called Close, and then frees everything. Receives
// that are still posted fail with ErrClosed. It fails with what has ended the
// world before, or meanwhile, and with ErrClosed the second time.
func (w *World) Close() error {
	w.mu.Lock()
	again := w.closed
	w.closed = true
	w.mu.Unlock()
	if again {
		return ErrClosed
	}
	return errors.Join(w.leave(), w.end())
}

func (w *World) leave() error {
	if err := w.await(w.quiet); err != nil {
		return err
	}
	w.mu.Lock()
	w.leaving = true
	w.mu.Unlock()
	if err := w.member.Leave(); err != nil {
		return err
	}
	return w.await(func() bool { return w.left })
}

func (w *World) quiet() bool {
	for _, p := range w.peers {
		if !p.quiet() {
			return false
		}
	}
	return true
}

// end frees everything.
func (w *World) end() error {
	w.mu.Lock()
	w.fail(ErrClosed)
	w.leaving = true
	w.mu.Unlock()
	w.forget()
	w.stop()
	err := w.member.Close()
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
