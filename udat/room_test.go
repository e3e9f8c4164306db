package udat_test

import (
	"testing"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/udattest"
)

// noRoom are what a post without room on its EVD fails with.
var noRoom = []error{udat.ErrInsufficientResources, udat.ResourceTEVD}

// A post needs room on its EVD. Without room it has no effect. Taking completions frees room.
func TestPostWithoutRoom(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		a, b := udattest.NewEndpoint(t, ia, nil), udattest.NewEndpoint(t, ia, nil)
		short := createEVD(t, ia, 8, udat.EVDDTO)
		a.EP = must(udat.CreateEP(ia, a.PZ, short, short, a.Connect, nil))
		defer a.EP.Free()
		udattest.ConnectPair(t, udattest.Listen(t, ia), a, b)
		iov, room := one(a.Segment(t, 0, 8)), qlen(t, short)
		for i := range room {
			want(t, a.PostRecv(iov, uint64(i), 0))
		}
		batch := []udat.Post{{Operation: udat.DTOReceive, Segments: iov, Cookie: 100}, {Operation: udat.DTOReceive, Segments: iov, Cookie: 101}}
		for range 3 {
			want(t, a.PostRecv(iov, 99, 0), noRoom...)
			want(t, a.PostSend(iov, 99, 0), noRoom...)
			want(t, a.PostSend(iov, 99, udat.CompletionSuppress), noRoom...)
			wantAccepted(t, a.EP, batch, 0, noRoom...)
		}

		// One message makes room for one operation, once its completion was taken.
		want(t, b.PostSend(one(b.Segment(t, 0, 8)), 1, 0))
		wantCompletion(t, b.Request, 1, udat.DTOSuccess)
		want(t, a.PostRecv(iov, 99, 0), noRoom...)
		wantCompletion(t, short, 0, udat.DTOSuccess)
		wantAccepted(t, a.EP, batch, 1, noRoom...)
	})
}
