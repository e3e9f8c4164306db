package devicetest

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/goudat/goudat/cgo"
)

// Attempts that end while the peer answers, and requests of peers that have left, hang or crash the published library.
// This tests the patches of scripts/native.
func TestConnectionLock(t *testing.T) {
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		l, active, passive := a.listen(t), a.newRacer(t, 1), a.newRacer(t, 2)
		// The minimum of several, as the machine may have been busy.
		pause := a.connectTime(t, l, active, passive)
		for range 4 {
			pause = min(pause, a.connectTime(t, l, active, passive))
		}

		for range 100 {
			from := active.newEndpoint(t)
			active.connectTo(t, l, from, "")
			active.spin(pause)
			to := passive.answer(t, l)
			active.spin(pause)
			if active.random.IntN(2) == 0 {
				active.end(t, from)
				passive.end(t, to...)
			} else {
				passive.end(t, to...)
				active.end(t, from)
			}
		}

		// Nothing is left behind.
		active.drain(t)
		passive.drain(t)
		a.connectTime(t, l, active, passive)
	})
}

// racer makes one endpoint after another.
type racer struct {
	a             *adapter
	pz            cgo.PZHandle
	done, connect queue
	random        *rand.Rand
}

func (a *adapter) newRacer(t testing.TB, seed uint64) *racer {
	return &racer{a, a.newPZ(t), a.newQueue(t, cgo.EVDDTO), a.newQueue(t, cgo.EVDConnection), rand.New(rand.NewPCG(seed, 0))}
}

func (r *racer) newEndpoint(t testing.TB) cgo.EPHandle {
	t.Helper()
	return r.a.createEP(t, r.pz, r.done.EVDHandle, r.done.EVDHandle, r.connect.EVDHandle, 0)
}

func (r *racer) connectTo(t testing.TB, l *listener, ep cgo.EPHandle, privateData string) {
	t.Helper()
	success(t, "EPConnect", cgo.EPConnect(ep, r.a.address, l.qual, cgo.TimeoutInfinite, []byte(privateData), cgo.QOSBestEffort, cgo.ConnectDefault))
}

// acceptFrom accepts the request with the given private data. Requests before it are late ones, whose peers have left.
func (r *racer) acceptFrom(t testing.TB, l *listener, privateData string, ep cgo.EPHandle) {
	t.Helper()
	for {
		request := l.request(t)
		if requestData(t, request, len(privateData)) == privateData {
			success(t, "CRAccept", cgo.CRAccept(request, ep, nil))
			return
		}
		success(t, "CRReject", cgo.CRReject(request, nil))
	}
}

// requestData returns the first bytes of a request's private data. Providers pad it with zeros.
func requestData(t testing.TB, request cgo.CRHandle, size int) string {
	t.Helper()
	var param cgo.CRParam
	success(t, "CRQuery", cgo.CRQuery(request, cgo.CRFieldAll, &param))
	data := make([]byte, min(size, int(param.PrivateDataSize)))
	cgo.CopyOut(data, param.PrivateData)
	return string(data)
}

// end disconnects, which fails in some states, and frees.
func (r *racer) end(t testing.TB, eps ...cgo.EPHandle) {
	t.Helper()
	for _, ep := range eps {
		cgo.EPDisconnect(ep, cgo.CloseAbrupt)
		success(t, "EPFree", cgo.EPFree(ep))
	}
	r.drain(t)
}

func (r *racer) drain(t testing.TB) {
	t.Helper()
	r.connect.drain(t)
}

// undisturbed is the private data of a connection that must succeed.
const undisturbed = "undisturbed"

// connectTime returns the time of an undisturbed connection.
func (a *adapter) connectTime(t testing.TB, l *listener, active, passive *racer) time.Duration {
	t.Helper()
	from, to := active.newEndpoint(t), passive.newEndpoint(t)
	start := time.Now()
	a.joinRacers(t, l, active, passive, from, to, undisturbed)
	took := time.Since(start)
	success(t, "EPDisconnect", cgo.EPDisconnect(from, cgo.CloseAbrupt))
	active.connect.expect(t, cgo.EventConnectionDisconnected)
	passive.connect.expect(t, cgo.EventConnectionDisconnected)
	active.end(t, from)
	passive.end(t, to)
	return took
}

// joinRacers connects an endpoint of each.
func (a *adapter) joinRacers(t testing.TB, l *listener, active, passive *racer, from, to cgo.EPHandle, privateData string) {
	t.Helper()
	active.connectTo(t, l, from, privateData)
	passive.acceptFrom(t, l, privateData, to)
	active.connect.expect(t, cgo.EventConnectionEstablished)
	passive.connect.expect(t, cgo.EventConnectionEstablished)
}

// answer accepts or rejects the waiting requests, and returns the endpoints.
func (r *racer) answer(t testing.TB, l *listener) (answered []cgo.EPHandle) {
	t.Helper()
	for {
		var event cgo.Event
		if !cgo.EVDDequeue(l.requests.EVDHandle, &event).OK() {
			return answered
		}
		request, ep := event.CRArrival().CRHandle, r.newEndpoint(t)
		answered = append(answered, ep)
		if r.random.IntN(3) == 0 || !cgo.CRAccept(request, ep, nil).OK() {
			success(t, "CRReject", cgo.CRReject(request, nil))
		}
	}
}

// spin lets a random time up to the limit pass, with a finer resolution than a timer.
func (r *racer) spin(longest time.Duration) {
	for end := time.Now().Add(time.Duration(r.random.Int64N(int64(longest)))); time.Now().Before(end); {
	}
}

// An endpoint is freed while the thread handles the end of its connection.
func TestFreeBesideDisconnect(t *testing.T) {
	preloaded(t, slowThreads, func(t *testing.T, a *adapter) {
		l, active, passive := a.listen(t), a.newRacer(t, 1), a.newRacer(t, 2)
		from, to := active.newEndpoint(t), passive.newEndpoint(t)
		a.joinRacers(t, l, active, passive, from, to, "")
		success(t, "EPDisconnect", cgo.EPDisconnect(from, cgo.CloseGraceful))
		passive.end(t, to)
		active.end(t, from)
	}, overwriteFreed)
}
