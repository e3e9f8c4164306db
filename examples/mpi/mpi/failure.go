package mpi

import (
	"errors"
	"fmt"
	"time"

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
	// ErrDied says that a rank's process has ended, or closed its world, in the middle.
	ErrDied = errors.New("its process has ended")
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

// suspicion is how long a lost connection waits for the launcher to say which
// rank has died. It knows them in their order: a rank that ended because of
// another's death is not blamed.
const suspicion = 20 * time.Second

// suspect takes note that the connection to a peer is lost. The caller holds mu.
func (w *World) suspect(p *peer, cause error) {
	if w.err != nil || w.leaving || p.link == lost {
		return
	}
	p.link = lost
	time.AfterFunc(suspicion, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if !w.leaving {
			w.fail(&RankError{p.rank, cause})
		}
	})
}

// fail ends all operations, now and later. The caller holds mu.
func (w *World) fail(err error) {
	if w.err != nil {
		return
	}
	w.err = err
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
	w.changed.Broadcast()
	if w.left {
		return // nothing is under way, and Close frees the endpoints
	}
	// What is under way ends with its connection. That may take long, and mu is needed meanwhile.
	w.work.Add(1)
	go func() {
		defer w.work.Done()
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
	p.queue, p.offers, p.transfers = nil, nil, nil
}

func (o *outgoing) abandon(err error) {
	if o.region != nil {
		err = errors.Join(err, o.region.Free())
	}
	if o.request != nil {
		o.request.complete(Status{}, err)
	}
}
