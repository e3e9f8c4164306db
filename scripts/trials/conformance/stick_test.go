package conformance

import (
	"errors"
	"time"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/udattest"
)

// Many trials need requests that stay outstanding. A send without a receive at the peer does. On iWARP such a send
// completes, and ends the connection; there the trials use an RDMA read behind several long ones.

// handedOver is a remark about iWARP.
const handedOver = "over iWARP a send or an RDMA write succeeds when it was handed to the TCP connection, whether or not it arrives; " +
	"only RDMA reads, and requests behind them, wait"

// stick posts requests that stay outstanding until unstick, or for a while on iWARP.
func (t *trial) stick(e, peer *udattest.Endpoint, cookies ...uint64) {
	t.Helper()
	if !t.iwarp {
		t.postSend(e, cookies...)
		return
	}
	t.occupy(e, peer)
	for _, cookie := range cookies {
		t.postRead(e, peer, cookie)
	}
}

// stickOnce posts one of several requests in a row. The others wait for the first.
func (t *trial) stickOnce(e, peer *udattest.Endpoint, cookie uint64) {
	t.Helper()
	switch {
	case !t.iwarp:
		t.postSend(e, cookie)
	case cookie == 0:
		t.stick(e, peer, cookie)
	default:
		t.postRead(e, peer, cookie)
	}
}

// unstick lets them complete. unstuck expects what the peer then receives.
func (t *trial) unstick(peer *udattest.Endpoint, cookies ...uint64) {
	t.Helper()
	if !t.iwarp {
		t.postRecv(peer, cookies...)
	}
}

func (t *trial) unstuck(peer *udattest.Endpoint, cookies ...uint64) {
	t.Helper()
	if !t.iwarp {
		t.succeeded(peer.Recv, cookies...)
	}
}

// occupation is how long the requests in front take.
const occupation = 300 * time.Millisecond

// occupying is the most requests in front. measuredRead is the number of bytes that their length is measured with.
// Their cookies begin with occupier. Only failures of these requests are reported.
const (
	occupying    = 8
	occupier     = 1 << 40
	measuredRead = 1 << 20
	longestRead  = 64 << 20
)

// sticks reports whether requests of an endpoint can be made to wait.
func (t *trial) sticks(e *udattest.Endpoint) bool {
	t.Helper()
	return !t.iwarp || int(t.query(e).Attr.MaxRDMASize) >= longestRead
}

// occupy posts requests that others have to wait for.
func (t *trial) occupy(e, peer *udattest.Endpoint) {
	t.Helper()
	if t.longRead == 0 {
		took := t.measure(t.pair())
		t.longRead = min(max(measuredRead, int(measuredRead*occupation/occupying/took)), longestRead)
	}
	reads := min(occupying, t.query(e).Attr.MaxRequestDTOs-2)
	size := min(t.longRead*occupying/reads, longestRead)
	segment, remote := t.regionsFor(e, peer, size)
	for i := range uint64(reads) {
		t.must(e.PostRDMARead(one(segment), occupier+i, remote, udat.CompletionSuppress))
	}
}

// measure returns the shortest time of a read of measuredRead bytes.
func (t *trial) measure(e, peer *udattest.Endpoint) time.Duration {
	t.Helper()
	segment, remote := t.regionsFor(e, peer, measuredRead)
	took := udattest.Patience
	for range 10 { // the first one allocates the pages, and others may wait for a processor
		begin := time.Now()
		t.must(e.PostRDMARead(one(segment), 1, remote, 0))
		udattest.Completion(t, e.Request, 1)
		took = min(took, time.Since(begin))
	}
	return took
}

// regionsFor makes memory for a read of an endpoint.
func (t *trial) regionsFor(e, peer *udattest.Endpoint, size int) (udat.Segment, udat.RMRTriplet) {
	t.Helper()
	segment, err := t.region(e, size).Segment(0, size)
	t.must(err)
	remote, err := t.region(peer, size).RMRTriplet(0, size)
	t.must(err)
	return segment, remote
}

// region makes memory of an endpoint's protection zone, which is freed after the endpoint.
func (t *trial) region(e *udattest.Endpoint, size int) *udat.LMR {
	t.Helper()
	region, err := udat.AllocMemory(t.query(e).PZ, size, udat.MemPrivAll)
	t.must(err)
	t.Cleanup(func() {
		_ = e.Disconnect(udat.CloseAbrupt)
		_ = e.EP.Free()
		if err := region.Free(); err != nil && !errors.Is(err, udat.ErrClosed) {
			t.Error(err)
		}
	})
	t.regions = append(t.regions, region)
	return region
}

// freeRegions frees the memory of the stuck requests. They must have completed.
func (t *trial) freeRegions() {
	t.Helper()
	for _, region := range t.regions {
		t.must(region.Free())
	}
	t.regions = nil
}
