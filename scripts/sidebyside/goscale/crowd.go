package main

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"runtime"
	"time"

	"github.com/goudat/goudat/udat"
)

const (
	requests    = 4   // of an endpoint, outstanding
	receives    = 2   // of an endpoint, outstanding
	ownLength   = 8   // length of an event dispatcher that one endpoint has for itself
	eventsPerEP = 4   // on the event dispatcher for connections
	leastShared = 256 // length
	message     = 8   // bytes
	alive       = 256 // connections between two signs of life
	burst       = 32  // completions that are taken in one call
	slice       = 64  // posts that take a software device a millisecond: see EP.PostBatch
)

// station is an endpoint with its event dispatchers, which may be shared with the others.
type station struct {
	ep                *udat.EP
	done, connections *udat.EVD
}

// crowd is an adapter with many endpoints.
type crowd struct {
	ia *udat.IA
	pz *udat.PZ

	arrivals *udat.EVD
	qual     udat.ConnQual
	address  netip.Addr // the server's

	memory   *udat.LMR
	from, to []udat.Segment // one message to send and one to receive into, for all

	stations      []station
	count, rounds int
	server, own   bool
	events        [burst]udat.Event
	ctx           context.Context
}

func (c *crowd) open(adapter string) (err error) {
	c.ctx = context.Background()
	if c.ia, err = udat.Open(adapter); err != nil {
		return err
	}
	if c.pz, err = udat.CreatePZ(c.ia); err != nil {
		return err
	}
	if c.memory, err = udat.AllocMemory(c.pz, 4096, udat.MemPrivAll); err != nil {
		return err
	}
	from, err := c.memory.Segment(0, message)
	if err != nil {
		return err
	}
	to, err := c.memory.Segment(message, message)
	if err != nil {
		return err
	}
	c.from, c.to = []udat.Segment{from}, []udat.Segment{to}
	c.stations = make([]station, c.count)
	return nil
}

// evds makes the event dispatchers of an endpoint, or of all.
func (c *crowd) evds(done, connections int) (s station, err error) {
	if s.done, err = udat.CreateEVD(c.ia, done, nil, udat.EVDDTO); err != nil {
		return s, err
	}
	s.connections, err = udat.CreateEVD(c.ia, connections, nil, udat.EVDConnection)
	return s, err
}

func (c *crowd) create() (err error) {
	var s station
	if !c.own {
		if s, err = c.evds(c.count*(requests+receives)+leastShared, c.count*eventsPerEP+leastShared); err != nil {
			return err
		}
	}
	attr := udat.EPAttr{MaxRequestDTOs: requests, MaxRecvDTOs: receives}
	for i := range c.stations {
		if c.own {
			if s, err = c.evds(ownLength, ownLength); err != nil {
				return err
			}
		}
		if s.ep, err = udat.CreateEP(c.ia, c.pz, s.done, s.done, s.connections, &attr); err != nil {
			return err
		}
		c.stations[i] = s
	}
	return nil
}

func (c *crowd) listen() (err error) {
	if c.arrivals, err = udat.CreateEVD(c.ia, leastShared, nil, udat.EVDCR); err != nil {
		return err
	}
	if _, err = udat.CreatePSP(c.ia, c.qual, c.arrivals); err != nil {
		return err
	}
	attr, _, err := c.ia.Query()
	if err != nil {
		return err
	}
	fmt.Println("listening", attr.Address)
	return nil
}

// meet makes the connections, one after the other.
func (c *crowd) meet() error {
	for i := range c.stations {
		s := &c.stations[i]
		if err := c.postReceive(i); err != nil {
			return err
		}
		if c.server {
			arrival, err := c.arrivals.Wait(c.ctx)
			if err != nil {
				return err
			}
			if err := arrival.CR().AcceptAndWait(c.ctx, s.ep, nil); err != nil {
				return err
			}
		} else if _, err := s.ep.ConnectAndWait(c.ctx, c.address, c.qual, nil); err != nil {
			return err
		}
		if i%alive == alive-1 {
			fmt.Println("alive")
		}
	}
	return nil
}

func (c *crowd) postReceive(i int) error {
	return c.stations[i].ep.PostRecv(c.to, uint64(i)<<1|1, 0)
}

func (c *crowd) postSend(i int) error {
	if i%slice == slice-1 {
		runtime.Gosched()
	}
	return c.stations[i].ep.PostSend(c.from, uint64(i)<<1, 0)
}

// exchange sends a message from the client on each endpoint, in each round. The server answers each.
func (c *crowd) exchange(rounds int) error {
	for range rounds {
		if !c.server {
			for i := range c.stations {
				if err := c.postSend(i); err != nil {
					return err
				}
			}
		}
		for i := 0; i < c.count; {
			came, err := c.take(c.stations[i].done)
			if err != nil {
				return err
			}
			i += came
		}
	}
	return nil
}

// take takes completions, and returns how many were of receives.
func (c *crowd) take(evd *udat.EVD) (came int, err error) {
	n, err := evd.SpinPoll(c.events[:], time.Millisecond)
	if err != nil {
		return 0, err
	}
	for i := range n {
		event := &c.events[i]
		if err := event.Err(); err != nil {
			return 0, err
		}
		if event.Cookie&1 == 0 {
			continue
		}
		came++
		err := c.postReceive(int(event.Cookie >> 1))
		if c.server && err == nil {
			err = c.postSend(int(event.Cookie >> 1))
		}
		if err != nil {
			return 0, err
		}
	}
	return came, nil
}

// part ends the connections from the client, one after the other. The server sees them end in any order, and then frees
// its endpoints.
func (c *crowd) part() error {
	for i := range c.stations {
		s := &c.stations[i]
		if !c.server {
			if err := s.ep.Disconnect(udat.CloseGraceful); err != nil {
				return err
			}
		}
		if _, err := s.connections.Expect(c.ctx, udat.EventConnectionDisconnected); err != nil {
			return err
		}
		if c.server {
			continue
		}
		if err := c.free(s); err != nil {
			return err
		}
		if i%alive == alive-1 {
			fmt.Println("alive")
		}
	}
	for i := 0; c.server && i < c.count; i++ {
		if err := c.free(&c.stations[i]); err != nil {
			return err
		}
	}
	return nil
}

func (c *crowd) free(s *station) error {
	if err := s.ep.Free(); err != nil || !c.own {
		return err
	}
	return errors.Join(s.done.Free(), s.connections.Free())
}
