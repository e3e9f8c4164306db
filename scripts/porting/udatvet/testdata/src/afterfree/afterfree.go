package afterfree

import (
	"log"

	"github.com/goudat/goudat/udat"
)

type peer struct{ ep *udat.EP }

func must(err error) {}

func (p *peer) Check(err error) {}

func mustFail(err error) {}

func bad(ia *udat.IA, pz *udat.PZ, evd *udat.EVD, p *peer) error {
	lmr, err := udat.AllocMemory(pz, 100, 0)
	memory := lmr.Bytes()
	if err := lmr.Free(); err != nil {
		return err
	}
	memory[0] = 1 // want `memory is used after it was freed in line 20`

	must(p.ep.Free())
	if p != nil {
		err = p.ep.PostSend(nil, 1, 0) // want `p.ep is used after it was freed in line 25`
	}
	err = evd.Free()
	if err != nil {
		log.Fatal(err)
	}
	evd.Dequeue() // want `evd is used after it was freed in line 29`

	p.Check(pz.Free())
	pz.Query() // want `pz is used after it was freed in line 35`

	ia.Close(0)
	_, err = udat.CreatePZ(ia) // want `ia is used after it was freed in line 38`
	return err
}

func badSegments(pz *udat.PZ, ep *udat.EP) {
	lmr, _ := udat.RegisterMemory(pz, make([]byte, 3), 0)
	segment, err := lmr.Segment(0, 3)
	iov := []udat.Segment{mustBe(lmr.Segment(0, 3))}
	must(lmr.Free())
	must(ep.PostSend([]udat.Segment{segment}, 1, 0)) // want `segment is used after it was freed in line 47`
	must(err)
	must(lmr.Free())
	must(ep.PostSend(iov, 1, 0)) // want `iov is used after it was freed in line 50`
}

func mustBe(s udat.Segment, err error) udat.Segment { return s }

func good(ia *udat.IA, pz *udat.PZ, evd *udat.EVD, p *peer) error {
	must(p.ep.Free())
	p.ep = new(udat.EP)
	must(p.ep.PostSend(nil, 1, 0))
	must(p.ep.Free())
	must(p.ep.Free()) // the second is refused
	p = &peer{new(udat.EP)}
	must(p.ep.PostSend(nil, 1, 0))

	err := evd.Free() // may be refused
	println(err == nil)
	evd.Dequeue()
	if err := evd.Free(); err != nil {
		evd.Dequeue()
	}
	if evd != nil {
		must(evd.Free())
	} else {
		evd.Dequeue()
	}
	lmr, err := udat.RegisterMemory(pz, make([]byte, 3), 0)
	memory := lmr.Bytes()
	must(lmr.Free())
	memory[0] = 1 // Go's memory stays
	other, err := udat.RegisterMemory(pz, nil, 0)
	segment, err := other.Segment(0, 1)
	must(other.Free())
	segment, err = udat.Segment{}, nil
	must(new(udat.EP).PostSend([]udat.Segment{segment}, 1, 0))
	own, err := udat.AllocMemory(pz, 100, 0)
	allocated := own.Bytes()
	must(own.Free())
	allocated = nil
	allocated = append(allocated, 1)
	mustFail(pz.Free())
	pz.Query()
	must(ia.Close(0))
	println(ia.Name())
	ia = nil
	defer ia.Close(0)
	_, err = udat.CreatePZ(ia)
	return err
}
