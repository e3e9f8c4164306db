//go:build linux

package soak

import (
	"errors"
	"fmt"

	"github.com/goudat/goudat/udat"
)

// end is one side of a connection: an endpoint and its objects. It outlives the connection.
type end struct {
	ia     *udat.IA
	pz     *udat.PZ
	recv   *udat.EVD
	reqs   *udat.EVD
	conn   *udat.EVD
	memory *udat.LMR
	attr   *udat.EPAttr
	ep     *udat.EP
	iwarp  bool // a request completes when it has been handed over, not when it has arrived
}

// open makes an unconnected endpoint and its objects.
func (e *end) open() (err error) {
	if e.pz, err = udat.CreatePZ(e.ia); err != nil {
		return err
	}
	for _, evd := range []struct {
		at     **udat.EVD
		length int
		flags  udat.EVDFlags
	}{{&e.recv, posted, udat.EVDDTO}, {&e.reqs, window, udat.EVDDTO}, {&e.conn, 8, udat.EVDConnection}} {
		if *evd.at, err = udat.CreateEVD(e.ia, evd.length, nil, evd.flags); err != nil {
			return err
		}
	}
	if e.memory, err = udat.AllocMemory(e.pz, memorySize, udat.MemPrivAll); err != nil {
		return err
	}
	return e.newEndpoint()
}

func (e *end) newEndpoint() (err error) {
	e.ep, err = udat.CreateEP(e.ia, e.pz, e.recv, e.reqs, e.conn, e.attr)
	return err
}

// close frees the existing objects.
func (e *end) close() error {
	var failures []error
	free := func(isThere bool, free func() error) {
		if !isThere {
			return
		}
		if err := free(); err != nil && !errors.Is(err, udat.ErrClosed) {
			failures = append(failures, err)
		}
	}
	free(e.ep != nil, e.ep.Free)
	free(e.memory != nil, e.memory.Free)
	for _, evd := range []*udat.EVD{e.recv, e.reqs, e.conn} {
		free(evd != nil, evd.Free)
	}
	free(e.pz != nil, e.pz.Free)
	return errors.Join(failures...)
}

// renewal is how an end prepares for another connection.
type renewal int

const (
	reset     renewal = iota
	remake            // the endpoint
	remakeAll         // the event dispatchers and the memory, too
	renewals
)

func (r renewal) String() string {
	return [...]string{"reset", "made again", "made again with all its objects"}[r]
}

func (e *end) renew(how renewal) error {
	switch how {
	case reset:
		return e.ep.Reset()
	case remake:
		if err := e.free(); err != nil {
			return err
		}
		return e.newEndpoint()
	default:
		if err := e.close(); err != nil {
			return err
		}
		return e.open()
	}
}

// free frees the endpoint, unless it is freed already.
func (e *end) free() error {
	if err := e.ep.Free(); err != nil && !errors.Is(err, udat.ErrClosed) {
		return err
	}
	return nil
}

func (e *end) segment(offset, length int) []udat.Segment {
	s, err := e.memory.Segment(offset, length)
	if err != nil {
		panic(fmt.Sprintf("there is no piece of %d bytes at %d in the memory: %v", length, offset, err))
	}
	return []udat.Segment{s}
}
