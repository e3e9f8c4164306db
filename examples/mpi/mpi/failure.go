package mpi

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/goudat/goudat/udat"
)

var (
	// ErrTruncated says that a message is longer than the buffer. The buffer has the beginning of the message. The
	// connection stays intact, and the sender does not notice.
	ErrTruncated = errors.New("mpi: the message is longer than the buffer")
	// ErrType says that a message has a different kind of numbers than the buffer.
	ErrType = errors.New("mpi: the message has a different kind of numbers than the buffer")
	// ErrArgument matches the errors of calls with invalid arguments.
	ErrArgument = errors.New("mpi: invalid argument")
	// ErrClosed says that the world is closed.
	ErrClosed = errors.New("mpi: the world is closed")
	// ErrFreed says that a communicator or a window was used after Free.
	ErrFreed = errors.New("mpi: the communicator or window was freed")
	// ErrDied says that a rank's process has ended, or has closed its world early, or that it cannot be reached.
	ErrDied = errors.New("its process has ended")
	// ErrLate says that a rank was awaited by another one until the context of that one ended.
	ErrLate = errors.New("another rank has awaited it until its time ended")
	// ErrAdapter says that a rank has no adapter, or one that cannot connect to those of the others.
	ErrAdapter = errors.New("no adapter that all ranks can use")
	// ErrVersion says that a rank runs another build of the program.
	ErrVersion = errors.New("it is another build of the program")
	// ErrSize says that a rank was told a different number of ranks.
	ErrSize = errors.New("it was started for another number of ranks")
	// ErrLauncherGone says that the process that started the ranks has ended.
	ErrLauncherGone = errors.New("mpi: the launcher has gone")
)

// RankError says that another rank has failed. It ends all operations of this rank, also those with other ranks: a
// parallel program cannot continue without one of its ranks.
type RankError struct {
	Rank int // in the world
	// Err is ErrDied, or what was wrong with the connection.
	Err error
}

func (e *RankError) Error() string { return fmt.Sprintf("mpi: rank %d: %v", e.Rank, e.Err) }

// Unwrap returns Err.
func (e *RankError) Unwrap() error { return e.Err }

func badArgument(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrArgument, fmt.Sprintf(format, args...))
}

// lose records that the connection to a peer is lost. It first handles what has already arrived: another rank may
// have died, and this peer may have reported that before it ended. The caller holds mu.
func (p *peer) lose(cause error) {
	w := p.world
	if p.link == lost || p.ended() {
		return
	}
	if p.memory.block != nil && w.err == nil {
		_, _ = p.look() // the peer is lost, whether or not this fails
	}
	p.link = lost
	for w.err == nil && !w.left && w.look(true, true) {
	}
	switch {
	case w.left:
	case w.err == nil && w.launcherEnds():
		w.fail(ErrLauncherGone)
	default:
		w.fail(&RankError{p.rank, fmt.Errorf("%w: %w", ErrDied, cause)})
	}
}

// launcherGrace is for a launcher that has ended, and with it a rank that noticed that sooner than this one.
const launcherGrace = 20 * time.Millisecond

// launcherEnds waits for launcherGrace, and reports whether the launcher has gone.
func (w *World) launcherEnds() bool {
	if w.line == nil {
		return false
	}
	select {
	case <-w.line.Gone():
		return true
	case <-time.After(launcherGrace):
		return false
	}
}

// fail ends all operations, now and later, and tells the other ranks. The caller holds mu.
func (w *World) fail(err error) {
	notice, dead := uint32(noticeDeath), &RankError{Rank: w.rank}
	switch {
	case errors.Is(err, ErrLauncherGone):
		notice = noticeLauncher
	case errors.As(err, &dead) && errors.Is(err, ErrLate):
		notice = noticeLate
	}
	w.failTelling(err, notice, dead.Rank)
}

// failTelling is fail with a notice for the other ranks.
func (w *World) failTelling(err error, notice uint32, rank int) {
	if w.err != nil {
		return
	}
	w.err = err
	w.end()
	if !w.left {
		w.part(notice, rank)
	}
	for _, r := range slices.Collect(w.matcher.receives()) {
		w.matcher.withdraw(r)
		r.request.complete(Status{}, err)
	}
	for m := range w.matcher.unexpected.items() {
		if m.sender != nil && !m.sender.done {
			m.sender.complete(Status{}, err)
		}
	}
	var connections []*udat.EP
	for _, p := range w.peers {
		p.abandon(err)
		if p.ep != nil {
			connections = append(connections, p.ep)
		}
	}
	w.run() // ends what is due
	w.stir()
	if w.left {
		return // nothing is under way, and free takes care of the endpoints
	}
	// Operations that are under way end with their connection. That may take long, and others need mu meanwhile.
	w.work.Add(1)
	go func() {
		defer w.work.Done()
		w.settle()
		for _, ep := range connections {
			// It fails if there is no connection any longer, which is the goal.
			_ = ep.Disconnect(udat.CloseAbrupt)
		}
	}()
}

// abandon ends the operations with a peer. Transfers into the program's memory end when the adapter has released it.
func (p *peer) abandon(err error) {
	for _, o := range p.queue {
		o.abandon(err)
	}
	for _, o := range p.offers {
		o.abandon(err)
	}
	for _, t := range p.transfers {
		if t.outstanding == 0 {
			t.end(err)
		}
	}
	p.queue, p.transfers, p.acks = nil, nil, nil
	clear(p.offers)
}

func (o *outgoing) abandon(err error) {
	if failed := o.region.release(); failed != nil {
		err = errors.Join(err, failed)
	}
	o.request.complete(Status{}, err)
}
