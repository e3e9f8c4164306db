package udat_test

import (
	"bytes"
	"testing"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/udattest"
)

// Short operations on bytes that are on two pages move these bytes. Soft-iWARP cannot read so few:
// see scripts/dapl/native-library.md.
func TestShortOperationsOverPages(t *testing.T) {
	const page, most = 4096, 48
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		active, passive := udattest.Pair(t, ia, nil)
		content, there := active.Memory.Bytes(), passive.Memory.Bytes()
		for i := range content {
			content[i] = byte(i*7 + i>>8)
		}
		for length := 2; length <= most; length += 5 {
			for _, first := range []int{1, length / 2, length - 1} { // bytes on the first page
				at := page - first
				from := one(active.Segment(t, at, length))
				want(t, passive.PostRecv(one(passive.Segment(t, 3*page, most)), 1, 0))
				remote := must(passive.Memory.RMRTriplet(at, length))
				clear(there)
				postAll(t, active.EP, []udat.Post{ // those behind the first are sent by the adapter, not within the call
					{Operation: udat.DTORDMAWrite, Segments: from, Cookie: 1, Remote: remote},
					{Operation: udat.DTORDMAWrite, Segments: from, Cookie: 2, Remote: remote},
					{Operation: udat.DTOSend, Segments: from, Cookie: 3},
				})
				for cookie := range uint64(3) {
					wantCompletion(t, active.Request, cookie+1, udat.DTOSuccess)
				}
				wantCompletion(t, passive.Recv, 1, udat.DTOSuccess)
				sent := content[at:][:length]
				same := func(what string, got []byte) {
					if !bytes.Equal(got[:length], sent) {
						t.Errorf("of %d bytes, %d on the first page, % x were %s as % x", length, first, sent, what, got[:length])
					}
				}
				same("sent", there[3*page:])
				same("written", there[at:])

				if udattest.IWARP(t, ia) && length <= 32 {
					continue
				}
				copy(there[at:], sent)
				want(t, active.PostRDMARead(one(active.Segment(t, 2*page, length)), 4, remote, 0))
				wantCompletion(t, active.Request, 4, udat.DTOSuccess)
				same("read", content[2*page:])
			}
		}
	})
}

// An endpoint for which the adapter has no queues is refused, and there are some again when another
// is freed. Over soft-iWARP, libsiw mistakes the 145th page of an adapter's queues for a failure.
// An endpoint has two such pages, and an event dispatcher for completions has one for 127 of them.
func TestQueuesRunOut(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		if !udattest.IWARP(t, ia) {
			t.Log("not tested: only soft-iWARP has few enough")
			return
		}
		pz := untilEnd(t, must(udat.CreatePZ(ia)))
		var err error
		var eps []*udat.EP
		const most = 200
		for err == nil && len(eps) < most {
			var ep *udat.EP
			if ep, err = udat.CreateEP(ia, pz, nil, nil, nil, nil); err == nil {
				eps = append(eps, ep)
			}
		}
		want(t, err, udat.ErrInsufficientResources)
		want(t, eps[len(eps)-1].Free())
		eps[len(eps)-1] = must(udat.CreateEP(ia, pz, nil, nil, nil, nil))
		for _, ep := range eps {
			want(t, ep.Free())
		}
	})
}
