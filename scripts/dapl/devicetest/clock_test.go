package devicetest

import (
	"math"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/goudat/goudat/cgo"
	"github.com/goudat/goudat/udat/udattest"
)

// setClock moves the clock of the machine.
func setClock(t *testing.T, by time.Duration) {
	t.Helper()
	var now syscall.Timeval
	err := syscall.Gettimeofday(&now)
	if err == nil {
		now.Sec += int64(by / time.Second)
		err = syscall.Settimeofday(&now)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// Time-outs last as long as they say, also if somebody sets the clock meanwhile.
func TestTimeoutsBesideSetClock(t *testing.T) {
	if !udattest.InTestbed(t) {
		return
	}
	const timeout = 300 * time.Millisecond
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		cno := a.newCNO(t)
		evd := a.newEVD(t, 0, cgo.EVDSoftware)
		t.Cleanup(func() { success(t, "EVDFree", cgo.EVDFree(evd)) })
		l := a.listen(t)
		for _, by := range []time.Duration{-time.Hour, time.Hour} {
			e, begin := a.newEndpoint(t), time.Now()
			lasts := func(what string) {
				t.Helper()
				if took := time.Since(begin); took < timeout {
					t.Errorf("with the clock set by %v, %s took %v", by, what, took)
				}
			}
			a.startConnect(t, l, e, uint32(timeout/time.Microsecond))
			onEVD, onCNO := startWait(t, evd, uint32(timeout/time.Microsecond), 1), make(chan waitOutcome, 1)
			go func() {
				_, r := cgo.CNOWait(cno, uint32(timeout/time.Microsecond))
				onCNO <- waitOutcome{Return: r}
			}()
			setClock(t, by)
			restore := sync.OnceFunc(func() { setClock(t, -by) })
			t.Cleanup(restore)
			outcome(t, "EVDWait", waitEnd(t, onEVD).Return, cgo.TimeoutExpired, cgo.NoSubtype)
			lasts("EVDWait")
			outcome(t, "CNOWait", waitEnd(t, onCNO).Return, cgo.QueueEmpty, cgo.NoSubtype)
			lasts("CNOWait")
			e.connect.expect(t, cgo.EventConnectionTimedOut)
			lasts("the attempt")
			restore()
		}
		l.rejectAll(t)
	})
}

// The longest time-out is not over at once.
func TestLongestWait(t *testing.T) {
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		evd := a.newEVD(t, 0, cgo.EVDSoftware)
		t.Cleanup(func() { success(t, "EVDFree", cgo.EVDFree(evd)) })
		ended := startWait(t, evd, math.MaxUint32-1, 1)
		success(t, "EVDPostSE", cgo.EVDPostSE(evd, cgo.EventSoftware, 1))
		success(t, "EVDWait", waitEnd(t, ended).Return)
	})
}
