package mpi

import (
	"errors"
	"fmt"

	"github.com/goudat/goudat/udat"
)

var (
	// ErrTruncated says that a message is longer than the buffer. The buffer has
	// its beginning, the connection goes on, and the sender hears nothing of it.
	ErrTruncated = errors.New("mpi: the message is longer than the buffer")
	// ErrType says that a message has numbers of another kind than the buffer.
	ErrType = errors.New("mpi: the message has numbers of another kind than the buffer")
	// ErrArgument matches the error of a call that was given something impossible.
	ErrArgument = errors.New("mpi: impossible argument")
	// ErrClosed says that the world is closed.
	ErrClosed = errors.New("mpi: the world is closed")
	// ErrDied says that a rank's process has ended, or closed its world, in the
	// middle, or that it cannot be reached any more.
	ErrDied = errors.New("its process has ended")
	// ErrAdapter says that a rank has no adapter, or one that does not go with the
	// adapters of the others.
	ErrAdapter = errors.New("no adapter that all ranks can use")
	// ErrVersion says that a rank runs another build of the program.
	ErrVersion = errors.New("it is another build of the program")
	// ErrSize says that a rank was told another number of ranks.
	ErrSize = errors.New("it was started for another number of ranks")
	// ErrLauncherGone says that the process that started the ranks has ended.
	ErrLauncherGone = errors.New("mpi: the launcher has gone")
)

// RankError says that another rank has failed. It ends all operations of this
// rank, those with other ranks too: a program that has lost a part of itself
// does not get far.
type RankError struct {
	Rank int // in the world
	// Err is ErrDied, or what was wrong with the connection.
	Err error
}

func (e *RankError) Error() string { return fmt.Sprintf("mpi: rank %d: %v", e.Rank, e.Err) }

// Unwrap gives Err.
func (e *RankError) Unwrap() error { return e.Err }

func badArgument(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrArgument, fmt.Sprintf(format, args...))
}

// lose takes note that the connection to a peer is lost. What has arrived before
// that is looked at first: another rank may have died, and this peer has only told
// of it before it ended. The caller holds mu.
func (p *peer) lose(cause error) {
	w := p.world
	if p.link == lost || p.ended() {
		return
	}
	if p.memory.block != nil && w.err == nil {
		_, _ = p.look() // which is lost, whatever comes of it
	}
	p.link = lost
	for w.err == nil && !w.left && w.pollAll() {
	}
	if w.left {
		return
	}
	w.fail(&RankError{p.rank, fmt.Errorf("%w: %w", ErrDied, cause)})
}

// fail ends all operations, now and later, and tells the other ranks. The caller
// holds mu.
func (w *World) fail(err error) {
	if w.err != nil {
		return
	}
	w.err = err
	w.end()
	if !w.left {
		dead := &RankError{Rank: w.rank}
		errors.As(err, &dead)
		w.part(noticeDeath, dead.Rank)
	}
	for _, r := range w.matcher.posted {
		r.request.complete(Status{}, err)
	}
	w.matcher = matcher{}
	var connections []*udat.EP
	for _, p := range w.peers {
		p.abandon(err)
		if p.ep != nil {
			connections = append(connections, p.ep)
		}
	}
	w.run()
	w.stir()
	if w.left {
		return // nothing is under way, and free takes care of the endpoints
	}
	// What is under way ends with its connection. That may take long, and mu is needed meanwhile.
	w.work.Add(1)
	go func() {
		defer w.work.Done()
		w.settle()
		for _, ep := range connections {
			// It fails when there is no connection, or none any more, which is all that is wanted.
			_ = ep.Disconnect(udat.CloseAbrupt)
		}
	}()
}

// abandon ends the operations with a peer. Transfers into memory of the program
// end when the adapter has let go of it.
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
