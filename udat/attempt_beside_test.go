package udat_test

import (
	"context"
	"testing"

	"github.com/goudat/goudat/cgo"
	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/udattest"
)

// A request can be rejected whose client has gone. An accept says that the client has gone, which is not the fault of an argument. The endpoint and the service point
// are of use to others.
func TestAcceptAfterClientHasGone(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		listener, server := udattest.Listen(t, ia), udattest.NewEndpoint(t, ia, nil)
		for range fewerOnSIW(t, ia, 3, 1) { // where the end of an attempt takes ten seconds
			client := udattest.NewEndpoint(t, ia, nil)
			want(t, client.EP.Connect(udattest.Address(t, ia), listener.ConnQual, udattest.Patience, nil))
			request := udattest.Expect(t, listener.Requests, udat.EventConnectionRequest)
			want(t, client.Disconnect(udat.CloseAbrupt))
			want(t, request.CR().Reject(nil))
			client = udattest.NewEndpoint(t, ia, nil)
			want(t, client.EP.Connect(udattest.Address(t, ia), listener.ConnQual, udattest.Patience, nil))
			request = udattest.Expect(t, listener.Requests, udat.EventConnectionRequest)
			want(t, client.EP.Free())
			err := request.CR().Accept(server.EP, nil)
			if err == nil { // the kernel does not know yet, as with socket CM
				if event := udattest.Wait(t, server.Connect); event.Number == udat.EventConnectionEstablished {
					udattest.Wait(t, server.Connect)
				}
				want(t, server.Reset())
				continue
			}
			want(t, err, udat.ErrInvalidHandle, udat.InvalidHandleCR)
			wantDetail(t, err)
			wantState(t, server.EP, udat.EPStateUnconnected)
			want(t, request.CR().Accept(server.EP, nil), udat.ErrClosed)
			want(t, request.CR().Reject(nil), udat.ErrClosed)
		}
		udattest.ConnectPair(t, listener, udattest.NewEndpoint(t, ia, nil), server)
	})
}

// What is wrong with the arguments matters less than that the object is gone.
func TestClosedBeforeArguments(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		e := udattest.NewEndpoint(t, ia, nil)
		evd := must(udat.CreateEVD(ia, 8, udat.EVDSoftware))
		want(t, evd.Free())
		want(t, e.EP.Free())
		var none context.Context
		want(t, second(evd.SpinPoll(make([]udat.Event, 1), -1)), udat.ErrClosed)
		want(t, second(evd.Wait(none)), udat.ErrClosed)
		want(t, second(evd.Expect(none, udat.EventSoftware)), udat.ErrClosed)
		want(t, e.PostSend(nil, 0, 1<<30), udat.ErrClosed)
		want(t, e.PostRecv(nil, 0, 1<<30), udat.ErrClosed)
		want(t, e.Modify(udat.EPParamMask(cgo.EPFieldAll), nil), udat.ErrClosed)
		for _, nobody := range []*udat.EVD{nil, {}} {
			want(t, second(nobody.SpinPoll(make([]udat.Event, 1), -1)), udat.ErrInvalidHandle)
			for _, err := range nobody.Events(none) {
				want(t, err, udat.ErrInvalidHandle)
			}
		}
	})
}
