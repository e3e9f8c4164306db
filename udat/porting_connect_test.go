package udat_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"math/bits"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/udattest"
)

// What docs/porting.md shows of connections is here, line by line, and runs.

// qualOfRank is the number that a rank in C listens on.
func qualOfRank(rank int) udat.ConnQual { return udat.ConnQual(rank+1) << 35 }

// qualOfProcess is the same for a program that uses process ids.
func qualOfProcess(pid int) udat.ConnQual { return udat.ConnQual(1024 + pid) }

// qualOfPort is the same for one that uses a port as it lies in a sockaddr_in.
func qualOfPort(port uint16) udat.ConnQual { return udat.ConnQual(bits.ReverseBytes16(port)) }

// qualOfTCPPort reaches a server of the socket CM provider if its TCP port is known, and
// its number is not.
func qualOfTCPPort(port uint16) udat.ConnQual { return udat.ConnQual(port - 1000) }

// look is dat_evd_wait with a time-out of 0.
func look(evd *udat.EVD) (event udat.Event, found bool, err error) {
	event, err = evd.Dequeue()
	if errors.Is(err, udat.ErrQueueEmpty) {
		return event, false, nil
	}
	return event, err == nil, err
}

// connectTo connects to a server that may not be there yet.
func connectTo(ctx context.Context, ep *udat.EP, events *udat.EVD, server netip.Addr, qual udat.ConnQual) error {
	for {
		if err := ep.Connect(server, qual, 5*time.Second, nil); err != nil {
			return err
		}
		_, err := events.Expect(ctx, udat.EventConnectionEstablished)
		if !errors.Is(err, udat.EventConnectionNonPeerRejected) {
			return err
		}
		if err := ep.Reset(); err != nil { // it is DISCONNECTED now
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// packed puts the length before private data, unpacked takes them out of what
// has arrived.
func packed(data []byte) []byte {
	return append(binary.BigEndian.AppendUint16(nil, uint16(len(data))), data...)
}

func unpacked(arrived []byte) ([]byte, error) {
	if len(arrived) < 2 || len(arrived)-2 < int(binary.BigEndian.Uint16(arrived)) {
		return nil, errors.New("the peer sends something else")
	}
	return arrived[2:][:binary.BigEndian.Uint16(arrived)], nil
}

// drop frees what a program has for one peer, and leaves what its peers share. An
// endpoint that is freed takes back what is posted on it.
func drop(ep *udat.EP, memory *udat.LMR) error {
	if err := ep.Free(); err != nil {
		return err
	}
	return memory.Free()
}

// What one peer had goes with it, and another one goes on.
func TestPortedDrop(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		l, e, gone, goneToo := udattest.Listen(t, ia), udattest.NewEndpoint(t, ia, nil), udattest.NewEndpoint(t, ia, nil), udattest.NewEndpoint(t, ia, nil)
		shared := must(udat.CreateEP(ia, e.PZ, e.Recv, e.Request, e.Connect, nil))
		udattest.ConnectPair(t, l, &udattest.Endpoint{IA: ia, EP: shared, PZ: e.PZ, Recv: e.Recv, Request: e.Request, Connect: e.Connect}, gone)
		memory := must(udat.AllocMemory(e.PZ, 64, udat.MemPrivAll))
		segment := must(memory.Segment(0, 64))
		want(t, shared.PostRecv(one(segment), 1, 0))
		want(t, drop(shared, memory))
		udattest.ConnectPair(t, l, e, goneToo)
	})
}

// The numbers of C programs lead to their servers.
func TestPortedQualifiers(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		quals := []udat.ConnQual{qualOfRank(0), qualOfRank(3), qualOfProcess(70000), qualOfPort(30000)}
		if strings.Contains(ia.Name(), "scm") {
			quals = append(quals, qualOfTCPPort(12000), qualOfTCPPort(1001))
			if os.Geteuid() == 0 {
				quals = append(quals, qualOfTCPPort(900))
			}
			if got := qualOfTCPPort(900); got+1000 != 65536+900 {
				t.Errorf("the TCP port 900 is that of the qualifier %d", got)
			}
		}
		for _, qual := range quals {
			requests := createEVD(t, ia, 4, udat.EVDCR)
			psp := must(udat.CreatePSP(ia, qual, requests))
			l := &udattest.Listener{PSP: psp, Requests: requests, ConnQual: qual}
			udattest.ConnectPair(t, l, udattest.NewEndpoint(t, ia, nil), udattest.NewEndpoint(t, ia, nil))
			want(t, psp.Free()) // several lead to one port
		}
	})
}

// A client waits for its server, sends and gets private data of any length, and
// looks for events without waiting.
func TestPortedConnect(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		ctx := udattest.Context(t)
		e, peer := udattest.NewEndpoint(t, ia, nil), udattest.NewEndpoint(t, ia, nil)
		requests := createEVD(t, ia, 4, udat.EVDCR)
		qual := udattest.ConnQual()
		if _, found, err := look(requests); found || err != nil {
			t.Errorf("an event is found, or %v", err)
		}
		want(t, e.PostRecv(one(e.Segment(t, 0, 8)), 1, 0))
		connected := make(chan error, 1)
		go func() { connected <- connectTo(ctx, e.EP, e.Connect, udattest.Address(t, ia), qual) }()
		// The receive comes back with the first attempt that fails.
		if event := udattest.Expect(t, e.Recv, udat.EventDTOCompletion); event.Status != udat.DTOErrFlushed {
			t.Errorf("the receive completes with %v", event.Status)
		}
		untilEnd(t, must(udat.CreatePSP(ia, qual, requests)))
		request, err := requests.Expect(ctx, udat.EventConnectionRequest)
		want(t, err)
		want(t, request.CR().Accept(peer.EP, nil))
		want(t, receive(t, connected))
		udattest.Expect(t, peer.Connect, udat.EventConnectionEstablished)
		event, found, err := look(peer.Connect)
		if found || err != nil {
			t.Errorf("there is an event %v, or %v", event.Number, err)
		}
	})
}

// Private data arrive with the sizes that docs/porting.md tells.
func TestPrivateDataSizes(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		if _, err := unpacked(nil); err == nil {
			t.Error("nothing is unpacked")
		}
		sent := []byte("hello")
		most, ofRequest, ofAnswer, ofReject := 56, 56, 196, 144
		switch exact := len(packed(sent)); {
		case strings.Contains(ia.Name(), "scm"):
			most, ofRequest, ofAnswer, ofReject = 68, exact, 68, 68
		case udattest.IWARP(t, ia):
			most, ofRequest, ofAnswer, ofReject = 56, exact, exact, exact
		}
		_, provider, err := ia.Query()
		want(t, err)
		if provider.MaxPrivateDataSize != most {
			t.Errorf("at most %d bytes can be sent, want %d", provider.MaxPrivateDataSize, most)
		}
		check := func(what string, arrived []byte, size int) {
			t.Helper()
			if len(arrived) != size {
				t.Errorf("the %s has %d bytes, want %d", what, len(arrived), size)
			}
			if data, err := unpacked(arrived); err != nil || !bytes.Equal(data, sent) {
				t.Errorf("the %s brings %q, %v", what, data, err)
			}
		}
		l, e, peer := udattest.Listen(t, ia), udattest.NewEndpoint(t, ia, nil), udattest.NewEndpoint(t, ia, nil)
		cr := request(t, e, l, packed(sent)...)
		check("request", must(cr.Query()).PrivateData, ofRequest)
		want(t, cr.Reject(packed(sent)))
		check("rejection", udattest.Expect(t, e.Connect, udat.EventConnectionPeerRejected).PrivateData(), ofReject)
		want(t, e.Reset())
		want(t, request(t, e, l, packed(sent)...).Accept(peer.EP, packed(sent)))
		check("answer", udattest.Expect(t, e.Connect, udat.EventConnectionEstablished).PrivateData(), ofAnswer)
		udattest.Expect(t, peer.Connect, udat.EventConnectionEstablished)
	})
}
