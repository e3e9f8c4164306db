package mpi

import (
	"errors"
	"fmt"
	"slices"
	"strings"
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
	// ErrFreed says that a window was used after Free.
	ErrFreed = errors.New("mpi: the window was freed")
	// ErrDied says that a rank's process has ended, that its world has failed or was closed early, or that it cannot be
	// reached.
	ErrDied = errors.New("its process has ended, or its world has failed")
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
	Rank int // in the world; of a rank that heard of the failure, if the connection to that was just being made
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

// launcherEnds reports whether the launcher has gone. A launcher that has ended may have taken a rank with it that noticed
// that sooner than this one, so launcherEnds waits a little.
func (w *World) launcherEnds() bool {
	if w.line == nil {
		return false
	}
	select {
	case <-w.line.Gone():
		return true
	case <-time.After(20 * time.Millisecond):
		return false
	}
}

// fail ends all operations, now and later, and tells the other ranks. The caller holds mu.
func (w *World) fail(err error) {
	if w.err != nil {
		return
	}
	w.err = err
	w.end()
	if !w.left {
		notice, dead := uint32(noticeDeath), &RankError{Rank: w.rank}
		if errors.Is(err, ErrLauncherGone) {
			notice = noticeLauncher
		}
		errors.As(err, &dead)
		w.part(notice, dead.Rank)
	}
	for _, r := range w.matcher.receives() {
		w.matcher.withdraw(r)
		r.request.complete(Status{}, err)
	}
	var connections []*udat.EP
	for _, p := range w.peers {
		p.abandon(err)
		if p.ep != nil {
			connections = append(connections, p.ep)
		}
	}
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

// expire ends the world when the time of this rank has ended. The error lists what it awaits.
func (w *World) expire(cause error) {
	var texts []string
	add := func(format string, args ...any) {
		if text := fmt.Sprintf(format, args...); !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
	}
	for _, r := range w.matcher.receives() {
		switch {
		case r.context == r.comm.collectiveContext():
			add("rank %d (%s)", r.source, r.comm.running)
		case r.source == AnySource:
			add("any rank (send)")
		default:
			add("rank %d (send)", r.source)
		}
	}
	for _, p := range w.linked {
		if len(p.queue)+len(p.offers) > 0 {
			add("rank %d (receive)", p.rank)
		}
	}
	if len(texts) > 0 {
		slices.Sort(texts)
		cause = fmt.Errorf("%w: this rank awaits %s", cause, strings.Join(texts[:min(len(texts), 10)], "; "))
	}
	w.fail(cause)
}

// When a process ends, its kernel ends its connections. But a machine that loses its power or its link sends nothing,
// and adapters may try for minutes to reach it. So a goroutine makes each connection complete an operation from time
// to time, which needs an answer from the peer's adapter, but not from the peer's program.

const (
	// defaultBound is the default of Options.Bound.
	defaultBound = 30 * time.Second
	// checks is how many times within the bound the connections are checked, and silence how many checks in a row may
	// find that nothing has completed. One check may pass before the first that counts.
	checks  = 5
	silence = 3
)

// guard checks the connections until the world ends.
func (w *World) guard() {
	defer w.work.Done()
	ticks := time.NewTicker(w.bound / checks)
	defer ticks.Stop()
	for {
		select {
		case <-w.running.Done():
			return
		case <-ticks.C:
		}
		w.checkAll()
	}
}

func (w *World) checkAll() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil || w.left {
		return
	}
	w.pollAll() // a peer that seemed silent may have sent something
	w.trim()
	w.ask()
	for _, p := range w.linked {
		if err := p.check(); err != nil {
			p.lose(err)
		}
	}
}

// check records whether the connection has completed something since the last check, and fails if it has not for too
// long.
func (p *peer) check() error {
	w := p.world
	switch p.link {
	case idle, lost:
		return nil
	case connected:
		if p.delivered != p.checked || p.posted == p.delivered {
			p.checked, p.silent = p.delivered, 0
		} else if p.silent++; p.silent >= silence {
			return fmt.Errorf("it has not answered for %v", silence*w.bound/checks)
		}
		return p.confirm()
	default:
		// The connection is being established, which needs the peer's program.
		if p.silent++; p.silent >= checks {
			return fmt.Errorf("no connection to it could be made within %v", w.bound)
		}
	}
	return nil
}
