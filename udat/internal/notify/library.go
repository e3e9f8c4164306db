package notify

import (
	"time"

	"github.com/goudat/goudat/cgo"
)

// library is what waiting calls. Tests have another one.
type library interface {
	take(evd cgo.EVDHandle, events []cgo.Event) (int, cgo.Return)
	spin(evd cgo.EVDHandle, events []cgo.Event, budget time.Duration) (int, cgo.Return)
	wait(evd cgo.EVDHandle, timeout uint32, threshold int, events []cgo.Event) (int, cgo.Return)
	setUnwaitable(cgo.EVDHandle) cgo.Return
	clearUnwaitable(cgo.EVDHandle) cgo.Return
	enable(cgo.EVDHandle) cgo.Return
	disable(cgo.EVDHandle) cgo.Return
	attach(cgo.EVDHandle, cgo.CNOHandle) cgo.Return
	resize(evd cgo.EVDHandle, least int32) cgo.Return
}

type native struct{}

func (native) take(evd cgo.EVDHandle, events []cgo.Event) (int, cgo.Return) {
	return cgo.EVDDequeueBatch(evd, events)
}

func (native) spin(evd cgo.EVDHandle, events []cgo.Event, budget time.Duration) (int, cgo.Return) {
	return cgo.EVDSpin(evd, events, budget)
}

func (native) wait(evd cgo.EVDHandle, timeout uint32, threshold int, events []cgo.Event) (int, cgo.Return) {
	return cgo.EVDWaitBatch(evd, timeout, int32(threshold), events)
}

func (native) setUnwaitable(evd cgo.EVDHandle) cgo.Return   { return cgo.EVDSetUnwaitable(evd) }
func (native) clearUnwaitable(evd cgo.EVDHandle) cgo.Return { return cgo.EVDClearUnwaitable(evd) }
func (native) enable(evd cgo.EVDHandle) cgo.Return          { return cgo.EVDEnable(evd) }
func (native) disable(evd cgo.EVDHandle) cgo.Return         { return cgo.EVDDisable(evd) }

func (native) attach(evd cgo.EVDHandle, cno cgo.CNOHandle) cgo.Return {
	return cgo.EVDModifyCNO(evd, cno)
}

func (native) resize(evd cgo.EVDHandle, least int32) cgo.Return { return cgo.EVDResize(evd, least) }
