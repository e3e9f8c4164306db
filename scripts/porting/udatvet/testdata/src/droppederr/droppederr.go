package droppederr

import (
	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/mem"
)

type own struct{ *udat.EP }

func (own) PostMortem() error { return nil }

func bad(ep *udat.EP, cr *udat.CR, ia *udat.IA, lmr *udat.LMR, r *mem.Registration, embedded own) {
	ep.PostSend(nil, 1, 0)       // want `the error of EP.PostSend is dropped`
	go ep.PostBatch(nil)         // want `the error of EP.PostBatch is dropped`
	lmr.Free()                   // want `the error of LMR.Free is dropped`
	(ia.Close(0))                // want `the error of IA.Close is dropped`
	r.Release()                  // want `the error of Registration.Release is dropped`
	cr.Accept(ep, nil)           // want `the error of CR.Accept is dropped`
	ep.ConnectAndWait(nil)       // want `the error of EP.ConnectAndWait is dropped`
	ep.Reset()                   // want `the error of EP.Reset is dropped`
	ep.Disconnect(0)             // want `the error of EP.Disconnect is dropped`
	embedded.PostSend(nil, 1, 0) // want `the error of EP.PostSend is dropped`
}

func good(ep *udat.EP, ia *udat.IA, lmr *udat.LMR, embedded own) error {
	defer ia.Close(0)
	defer ep.Disconnect(0)
	_ = lmr.Free()
	if _, err := ep.PostBatch(nil); err != nil {
		return err
	}
	embedded.PostMortem()
	lmr.Bytes()
	return ep.PostSend(nil, 1, 0)
}
