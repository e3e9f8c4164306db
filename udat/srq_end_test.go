package udat_test

import (
	"testing"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/udattest"
)

// A connection that ends in the middle of a message to a shared queue keeps none
// of its receives: each completes, or serves others. Some adapters forget the
// receive, soft-RoCE since Linux 6.3. It completes as flushed all the same.
func TestSRQEndsInMessage(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		const receives, size, ends = 2, 4 << 20, 6
		e := udattest.Options{MemorySize: receives * size}.NewEndpoint(t, ia)
		srq, err := udat.CreateSRQ(ia, e.PZ, udat.SRQAttr{MaxRecvDTOs: receives, MaxRecvIOV: 1})
		want(t, err)
		defer func() { want(t, srq.Free()) }()
		posted := make([]bool, receives)
		post := func(index uint64) {
			t.Helper()
			if posted[index] {
				t.Fatalf("receive %d completes twice", index)
			}
			posted[index] = true
			want(t, srq.PostRecv(one(e.Segment(t, int(index)*size, size)), index))
		}
		for i := range uint64(receives) {
			post(i)
		}
		listener := udattest.Listen(t, ia)
		connect := func(recv *udat.EVD) (client, server *udattest.Endpoint) {
			accepting := *e
			accepting.EP, err = udat.CreateEPWithSRQ(ia, e.PZ, recv, e.Request, e.Connect, srq, nil)
			want(t, err)
			client = udattest.Options{MemorySize: size}.NewEndpoint(t, ia)
			udattest.ConnectPair(t, listener, client, &accepting)
			return client, &accepting
		}
		steady, server := connect(e.Recv)
		defer func() { want(t, server.EP.Free()) }()
		others := createEVD(t, ia, receives, udat.EVDDTO)
		whole, failed := 0, 0
		repost := func(event udat.Event) {
			posted[event.Cookie] = false
			switch {
			case event.Err() != nil:
				want(t, event.Err(), udat.DTOErrFlushed)
				if event.Operation != udat.DTOReceive || event.Length != 0 {
					t.Errorf("got the completion %+v", event)
				}
				failed++
			case event.Length == size:
				whole++
			}
			post(event.Cookie)
		}
		drain := func(evd *udat.EVD) {
			for {
				event, err := evd.Dequeue()
				if err != nil {
					want(t, err, udat.ErrQueueEmpty)
					return
				}
				repost(event)
			}
		}
		message := func() {
			t.Helper()
			want(t, steady.PostSend(one(steady.Segment(t, 0, 8)), 1, 0))
			udattest.Completion(t, steady.Request, 1)
			for {
				event := udattest.Expect(t, e.Recv, udat.EventDTOCompletion)
				repost(event)
				if event.Err() == nil {
					break
				}
			}
		}
		for range ends {
			client, server := connect(others)
			want(t, client.PostSend(one(client.Segment(t, 0, size)), 1, 0))
			want(t, client.Disconnect(udat.CloseAbrupt))
			udattest.Expect(t, e.Connect, udat.EventConnectionDisconnected)
			drain(others) // Free drops what has completed for the endpoint
			want(t, server.EP.Free())
			drain(others)
			drain(e.Recv)
			message()
		}
		t.Logf("%d messages of those that ended were whole, %d receives failed", whole, failed)
		for range 3 * receives {
			message()
		}
		drain(others)
		drain(e.Recv)
		param, err := srq.Query()
		want(t, err)
		if param.Outstanding != receives {
			t.Errorf("%d receives are outstanding", param.Outstanding)
		}
	})
}
