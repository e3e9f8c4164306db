package main

import (
	"errors"
	"fmt"

	"github.com/goudat/goudat/examples/internal/adapter"
	"github.com/goudat/goudat/udat"
)

func openAdapter(name string) (*udat.IA, error) { return adapter.Open(name) }

func (t *limitTest) adapters() error {
	return t.exhaust("dat_ia_open", "IAs", "opened", func(int) (object, error) {
		ia, err := openAdapter(t.adapter)
		return closer{ia}, err
	})
}

func (t *limitTest) zones() error {
	return t.exhaust("dat_pz_create", "PZs", "created", func(i int) (object, error) { return udat.CreatePZ(t.set(i).ia) })
}

func (t *limitTest) notifications() error {
	return t.exhaust("dat_cno_create", "CNOs", "created", func(i int) (object, error) { return udat.CreateCNO(t.set(i).ia, nil) })
}

func (t *limitTest) dispatchers() error {
	return t.exhaust("dat_evd_create", "EVDs", "created", func(i int) (object, error) {
		return udat.CreateEVD(t.set(i).ia, limitQueue, nil, limitStreams)
	})
}

func (t *limitTest) endpoints() error {
	return t.exhaust("dat_ep_create", "EPs", "created", func(i int) (object, error) { return t.set(i).makeEP() })
}

// reservation is a reserved service point with its endpoint.
type reservation struct {
	*udat.RSP
	ep *udat.EP
}

func (r reservation) Free() error { return errors.Join(r.RSP.Free(), r.ep.Free()) }

func (t *limitTest) reserved() error {
	return t.exhaust("dat_rsp_create", "RSPs", "created", func(i int) (object, error) {
		s := t.set(i)
		ep, err := s.makeEP()
		if err != nil {
			return nil, err
		}
		rsp, err := udat.CreateRSP(s.ia, firstLimitQual+udat.ConnQual(i), ep, s.evd)
		if err != nil {
			return nil, errors.Join(err, ep.Free())
		}
		return reservation{rsp, ep}, nil
	})
}

func (t *limitTest) public() error {
	return t.exhaust("dat_psp_create", "PSPs", "created", func(i int) (object, error) {
		s := t.set(i)
		return udat.CreatePSP(s.ia, firstLimitQual+udat.ConnQual(i), s.evd)
	})
}

func (t *limitTest) regions() error {
	return t.exhaust("dat_lmr_create", "LMRs", "created", func(i int) (object, error) {
		return udat.AllocMemory(t.set(i).pz, limitSize, udat.MemPrivAll)
	})
}

// receives posts the same memory again and again, to the endpoint of each set.
func (t *limitTest) receives() error {
	posted, perEP := 0, 0
	for i := range t.limit.most * len(t.sets) {
		if t.ctx.Err() != nil {
			return t.ctx.Err()
		}
		s := t.set(i)
		iov, err := s.buffer.segments(1)
		if err != nil {
			return err
		}
		if err := s.ep.PostRecv(iov, uint64(i), udat.CompletionDefault); err != nil {
			fmt.Printf("LimitTest: dat_ep_post_recv #%d fails: %v\n", i+1, err)
			break
		}
		posted++
		perEP = posted / len(t.sets)
	}
	fmt.Printf("LimitTest: recv buffers posted per EP: %d\n\t\t (total posted: %d)\n", perEP, posted)
	return nil
}

// regionSize doubles the size of a region until registration fails.
func (t *limitTest) regionSize() error {
	const most = 1 << 30 // the C program's numbers have only 32 bits
	largest := 0
	for size := limitSize; size <= most; size *= 2 {
		if t.ctx.Err() != nil {
			return t.ctx.Err()
		}
		lmr, err := udat.AllocMemory(t.sets[0].pz, size, udat.MemPrivAll)
		if err != nil {
			fmt.Printf("LimitTest: Largest LMR was 0x%x bytes\n\t (failed attempting 0x%x bytes: %v)\n", largest, size, err)
			return nil
		}
		if err := lmr.Free(); err != nil {
			return err
		}
		largest = size
	}
	fmt.Printf("LimitTest: LMR of 0x%x bytes OK - stopping now.\n", largest)
	return nil
}
