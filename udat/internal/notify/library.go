package notify

import (
	"time"

	"github.com/goudat/goudat/cgo"
)

// library is what waiting calls. Tests have another one.
type library struct {
	take                                            func(cgo.EVDHandle, []cgo.Event) (int, cgo.Return)
	spin                                            func(cgo.EVDHandle, []cgo.Event, time.Duration) (int, cgo.Return)
	wait                                            func(evd cgo.EVDHandle, timeout uint32, threshold int32, events []cgo.Event) (int, cgo.Return)
	setUnwaitable, clearUnwaitable, enable, disable func(cgo.EVDHandle) cgo.Return
	attach                                          func(cgo.EVDHandle, cgo.CNOHandle) cgo.Return
	resize                                          func(cgo.EVDHandle, int32) cgo.Return
}

var native = &library{
	take:            cgo.EVDDequeueBatch,
	spin:            cgo.EVDSpin,
	wait:            cgo.EVDWaitBatch,
	setUnwaitable:   cgo.EVDSetUnwaitable,
	clearUnwaitable: cgo.EVDClearUnwaitable,
	enable:          cgo.EVDEnable,
	disable:         cgo.EVDDisable,
	attach:          cgo.EVDModifyCNO,
	resize:          cgo.EVDResize,
}
