package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/goudat/goudat/udat"
)

var adapterCases = []featureCase{
	{"open an adapter, and close it", (*bench).open},
	{"open adapters that do not exist", func(b *bench) error {
		for _, name := range []string{"40", "x", "xsdf", "x34", "34df"} {
			ia, err := udat.Open(name)
			if err == nil {
				b.made = append(b.made, closer{ia})
			}
			if err := want(udat.ErrProviderNotFound, err); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
		return nil
	}},
	{"close an adapter that is not open", func(*bench) error {
		var ia *udat.IA
		return want(udat.ErrInvalidHandle, ia.Close(udat.CloseAbrupt))
	}},
	{"close an adapter on which an endpoint is alive", func(b *bench) error {
		if _, _, err := b.linked(); err != nil {
			return err
		}
		b.made = nil // the close frees them
		return b.ia.Close(udat.CloseAbrupt)
	}},
}

var endpointCases = []featureCase{
	{"make an endpoint, and free it", func(b *bench) error {
		_, _, err := b.linked()
		return err
	}},
	{"make an endpoint in a protection zone that is freed", func(b *bench) error {
		pz, err := b.zone()
		if err == nil {
			err = b.freeLast()
		}
		if err != nil {
			return err
		}
		_, err = b.endpoint(pz)
		return want(udat.ErrInvalidHandle, err)
	}},
	{"free an endpoint on which a receive is posted", func(b *bench) error {
		pz, l, err := b.linked()
		if err != nil {
			return err
		}
		memory, err := newBuffers(pz, limitSize, 1)
		if memory, err = made(b, memory, err); err != nil {
			return err
		}
		if err := l.postNote(memory, 0, limitSize); err != nil {
			return err
		}
		ep := l.ep
		l.ep = nil
		if err := ep.Free(); err != nil {
			return err
		}
		return drain(l.recv)
	}},
}

var zoneCases = []featureCase{
	{"make a protection zone, and free it", func(b *bench) error {
		_, err := b.zone()
		return err
	}},
	{"free a protection zone in which an endpoint is alive", func(b *bench) error {
		pz, _, err := b.linked()
		if err != nil {
			return err
		}
		return want(udat.ErrInvalidState, pz.Free())
	}},
	{"free a protection zone in which memory is registered", func(b *bench) error {
		pz, err := b.zone()
		if err != nil {
			return err
		}
		if _, err := b.memory(pz, 1024); err != nil {
			return err
		}
		return want(udat.ErrInvalidState, pz.Free())
	}},
}

// memory registers memory of the Go heap.
func (b *bench) memory(pz *udat.PZ, size int) (*udat.LMR, error) {
	lmr, err := udat.RegisterMemory(pz, make([]byte, size), udat.MemPrivAll)
	return made(b, lmr, err)
}

var memoryCases = []featureCase{
	{"register memory, and free it", func(b *bench) error {
		pz, err := b.zone()
		if err == nil {
			_, err = b.memory(pz, 1024)
		}
		return err
	}},
	{"register memory, free it, and register it again", func(b *bench) error {
		pz, err := b.zone()
		if err != nil {
			return err
		}
		memory := make([]byte, 1024)
		for range 2 {
			lmr, err := udat.RegisterMemory(pz, memory, udat.MemPrivAll)
			if _, err := made(b, lmr, err); err != nil {
				return err
			}
			if err := b.freeLast(); err != nil {
				return err
			}
		}
		return nil
	}},
	{"register no memory", func(b *bench) error {
		pz, err := b.zone()
		if err != nil {
			return err
		}
		// The C program expects a length error; package udat names the argument.
		_, err = b.memory(pz, 0)
		return want(udat.ErrInvalidParameter, err)
	}},
	{"register memory in no protection zone", func(b *bench) error {
		_, err := b.memory(nil, 1024)
		return want(udat.ErrInvalidHandle, err)
	}},
	{"free memory that is not registered", func(*bench) error {
		var lmr *udat.LMR
		return want(udat.ErrInvalidHandle, lmr.Free())
	}},
}

var connectionCases = []featureCase{
	{"wait for a request until the time-out", func(b *bench) error { return b.waitInVain(10 * time.Millisecond) }},
	{"wait for a request for no time", func(b *bench) error { return b.waitInVain(0) }},
}

func (b *bench) listen() (l *link, sp object, err error) {
	_, l, err = b.linked()
	if err != nil {
		return nil, nil, err
	}
	sp, err = l.listen(b.ia, b.port, false)
	sp, err = made(b, sp, err)
	return l, sp, err
}

func (b *bench) waitInVain(d time.Duration) error {
	l, _, err := b.listen()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(b.ctx, d)
	defer cancel()
	_, err = l.requests.Wait(ctx)
	return want(context.DeadlineExceeded, err)
}

// queryable is an object with parameters of type P.
type queryable[P any] interface {
	object
	Query() (P, error)
}

// queries queries an object.
func queries[P any, O queryable[P]](b *bench, o O, err error) error {
	if o, err = made(b, o, err); err != nil {
		return err
	}
	_, err = o.Query()
	return err
}

// queriesFreed queries a freed object, and one that was never made.
func queriesFreed[P any, O queryable[P]](o O, err error) error {
	if err != nil {
		return err
	}
	if err := o.Free(); err != nil {
		return err
	}
	var none O
	_, freed := o.Query()
	_, never := none.Query()
	return errors.Join(want(udat.ErrInvalidHandle, freed), want(udat.ErrInvalidHandle, never))
}

// noParameter is the case of a query without a place for its results.
func noParameter(*bench) error {
	return fmt.Errorf("%w: a query returns its results", errUnsupported)
}

var queryCases = []featureCase{
	{"query an IA", func(b *bench) error {
		if err := b.open(); err != nil {
			return err
		}
		_, _, err := b.ia.Query()
		return err
	}},
	{"query a CNO", func(b *bench) error {
		cno, err := b.notification()
		return queries(b, cno, err)
	}},
	{"query an EVD", func(b *bench) error {
		if err := b.open(); err != nil {
			return err
		}
		_, err := b.ia.AsyncEVD().Query()
		return err
	}},
	{"query a PSP", func(b *bench) error {
		psp, err := b.public()
		return queries(b, psp, err)
	}},
	{"query an RSP", func(b *bench) error {
		_, l, err := b.linked()
		if err != nil {
			return err
		}
		rsp, err := udat.CreateRSP(b.ia, b.port, l.ep, l.requests)
		return queries(b, rsp, err)
	}},
	{"query a CR", (*bench).queryRequest},
	{"query an EP", func(b *bench) error {
		_, l, err := b.linked()
		if err != nil {
			return err
		}
		_, err = l.ep.Query()
		return err
	}},
	{"query a PZ", func(b *bench) error {
		pz, err := b.zone()
		if err != nil {
			return err
		}
		_, err = pz.Query()
		return err
	}},
	{"query an LMR", func(b *bench) error {
		pz, err := b.zone()
		if err != nil {
			return err
		}
		lmr, err := b.memory(pz, 1024)
		if err != nil {
			return err
		}
		_, err = lmr.Query()
		return err
	}},
	{"query an RMR", func(b *bench) error {
		pz, err := b.zone()
		if err != nil {
			return err
		}
		rmr, err := udat.CreateRMR(pz)
		if errors.Is(err, udat.ErrModelNotSupported) {
			return fmt.Errorf("%w: %w", errUnsupported, err)
		}
		return queries(b, rmr, err)
	}},
	{"query an IA into nothing", noParameter},
	{"query an invalid IA", func(b *bench) error {
		if err := b.open(); err != nil {
			return err
		}
		if err := b.freeLast(); err != nil {
			return err
		}
		var none *udat.IA
		_, _, closed := b.ia.Query()
		_, _, never := none.Query()
		return errors.Join(want(udat.ErrInvalidHandle, closed), want(udat.ErrInvalidHandle, never))
	}},
	{"query a CNO into nothing", noParameter},
	{"query an invalid CNO", func(b *bench) error { return queriesFreed(b.notification()) }},
	{"query an EVD into nothing", noParameter},
	{"query an invalid EVD", func(b *bench) error {
		if err := b.open(); err != nil {
			return err
		}
		return queriesFreed(udat.CreateEVD(b.ia, benchQueue, nil, udat.EVDDTO))
	}},
	{"query a PSP into nothing", noParameter},
	{"query an invalid PSP", func(b *bench) error { return queriesFreed(b.public()) }},
}

func (b *bench) notification() (*udat.CNO, error) {
	if err := b.open(); err != nil {
		return nil, err
	}
	return udat.CreateCNO(b.ia, nil)
}

func (b *bench) public() (*udat.PSP, error) {
	if err := b.open(); err != nil {
		return nil, err
	}
	evd, err := udat.CreateEVD(b.ia, benchQueue, nil, udat.EVDCR)
	if evd, err = made(b, evd, err); err != nil {
		return nil, err
	}
	return udat.CreatePSP(b.ia, b.port, evd)
}

// queryRequest connects an endpoint to another one, and checks the request.
func (b *bench) queryRequest() error {
	l, _, err := b.listen()
	if err != nil {
		return err
	}
	param, err := l.ep.Query()
	if err != nil {
		return err
	}
	peer, err := b.endpoint(param.PZ)
	if err != nil {
		return err
	}
	attr, _, err := b.ia.Query()
	if err != nil {
		return err
	}
	if err := peer.ep.Connect(attr.Address, b.port, patience, []byte(greeting)); err != nil {
		return err
	}
	ctx, cancel := patient(b.ctx)
	defer cancel()
	cr, request, err := l.nextRequest(ctx)
	if err != nil {
		return err
	}
	if data := string(request.PrivateData); len(data) < len(greeting) || data[:len(greeting)] != greeting {
		err = fmt.Errorf("the request came with %q", data)
	}
	return errors.Join(err, cr.Reject(nil))
}
