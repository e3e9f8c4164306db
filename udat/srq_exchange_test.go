package udat_test

import (
	"context"
	"encoding/binary"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/udattest"
)

var sharedMessages = flag.Int("srq.messages", 100, "how many messages TestSRQExchange sends through a shared receive queue, with each provider and number of peers")

// sharedLoad is traffic from several peers into one shared receive queue.
type sharedLoad struct {
	peers, receives, evds int
	messages              int                   // in all
	ahead                 int                   // sends that a peer has outstanding
	size                  func(peer, n int) int // bytes of the n-th message of a peer
}

const (
	sharedBuffer = 30 << 10 // bytes of a receive
	sharedHeader = 16       // peer, number and length; shorter messages have the first half of it
)

// writeMessage writes the n-th message of a peer.
func writeMessage(message []byte, peer, n int) {
	for i := range message {
		message[i] = byte(i*7 + n*31 + peer*101)
	}
	binary.BigEndian.PutUint32(message, uint32(peer))
	binary.BigEndian.PutUint32(message[4:], uint32(n))
	if len(message) >= sharedHeader {
		binary.BigEndian.PutUint64(message[8:], uint64(len(message)))
	}
}

// sharedReceiver has the receives, and what has come.
type sharedReceiver struct {
	*sharedLoad
	srq    *udat.SRQ
	memory *udat.LMR

	mu     sync.Mutex
	posted []bool // by receive
	next   []int  // by peer
	came   int
}

func (r *sharedReceiver) post(index int) error {
	r.mu.Lock()
	r.posted[index] = true
	r.mu.Unlock()
	segment, err := r.memory.Segment(index*sharedBuffer, sharedBuffer)
	if err != nil {
		return err
	}
	if err := r.srq.PostRecv(one(segment), uint64(index)); err != nil {
		return fmt.Errorf("posting receive %d: %w", index, err)
	}
	return nil
}

// take checks a completion, and the message in its receive.
func (r *sharedReceiver) take(event *udat.Event) error {
	if err := event.Err(); err != nil || event.Number != udat.EventDTOCompletion || event.Operation != udat.DTOReceive {
		return fmt.Errorf("receive %d completed as %+v: %w", event.Cookie, *event, err)
	}
	index := int(event.Cookie)
	if index >= r.receives {
		return fmt.Errorf("there is no receive %d", index)
	}
	got := r.memory.Bytes()[index*sharedBuffer:][:event.Length]
	if len(got) < 8 {
		return fmt.Errorf("receive %d has %d bytes", index, len(got))
	}
	peer, n := int(binary.BigEndian.Uint32(got)), int(binary.BigEndian.Uint32(got[4:]))
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.posted[index] {
		return fmt.Errorf("receive %d has completed twice", index)
	}
	r.posted[index] = false
	if peer >= r.peers {
		return fmt.Errorf("receive %d with %d bytes has no message of any peer", index, len(got))
	}
	if n != r.next[peer] {
		return fmt.Errorf("receive %d has message %d of peer %d, after %d", index, n, peer, r.next[peer]-1)
	}
	want := make([]byte, r.size(peer, n))
	writeMessage(want, peer, n)
	if !slices.Equal(got, want) {
		return fmt.Errorf("receive %d with %d bytes has another content than message %d of peer %d, of %d bytes", index, len(got), n, peer, len(want))
	}
	r.next[peer]++
	r.came++
	return nil
}

// exchange sends the messages, and fails the test unless each comes once, in a
// receive that was posted, unharmed, and in order among those of its peer.
func (l sharedLoad) exchange(t *testing.T, ia *udat.IA) {
	perPeer := max(l.messages/l.peers, 1)
	options := udattest.Options{QueueLength: max(l.receives, 256), MemorySize: l.receives * sharedBuffer}
	e := options.NewEndpoint(t, ia)
	srq, err := udat.CreateSRQ(ia, e.PZ, udat.SRQAttr{MaxRecvDTOs: l.receives, MaxRecvIOV: 1})
	want(t, err)
	defer func() { want(t, srq.Free()) }()
	evds := []*udat.EVD{e.Recv}
	for len(evds) < l.evds {
		evds = append(evds, createEVD(t, ia, l.receives, udat.EVDDTO))
	}
	r := &sharedReceiver{sharedLoad: &l, srq: srq, memory: e.Memory, posted: make([]bool, l.receives), next: make([]int, l.peers)}
	for i := range l.receives {
		want(t, r.post(i))
	}
	// A message that finds no receive waits for one, or ends a connection of iWARP.
	inFlight := make(chan struct{}, l.messages+l.peers)
	if udattest.IWARP(t, ia) {
		inFlight = make(chan struct{}, l.receives)
	}

	listener := udattest.Listen(t, ia)
	attr := udattest.DefaultAttr(t, ia)
	attr.MaxRecvDTOs, attr.MaxRequestDTOs = 1, l.ahead
	senders := make([]*udattest.Endpoint, l.peers)
	perEVD := make([]int, len(evds))
	for peer := range senders {
		server := *e
		evd := peer % len(evds)
		perEVD[evd] += perPeer
		server.EP, err = udat.CreateEPWithSRQ(ia, e.PZ, evds[evd], e.Request, e.Connect, srq, &attr)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { want(t, server.EP.Free()) }()
		senders[peer] = udattest.Options{Attr: &attr, QueueLength: 64, MemorySize: l.ahead * sharedBuffer}.NewEndpoint(t, ia)
		udattest.ConnectPair(t, listener, senders[peer], &server)
	}

	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	wait := func(evd *udat.EVD) (udat.Event, error) {
		ctx, cancel := context.WithTimeout(ctx, udattest.Patience)
		defer cancel()
		return evd.Wait(ctx)
	}
	var working sync.WaitGroup
	for i, evd := range evds {
		working.Add(1)
		go func() {
			defer working.Done()
			for range perEVD[i] {
				event, err := wait(evd)
				if err == nil {
					err = r.take(&event)
				}
				if err == nil {
					err = r.post(int(event.Cookie))
				}
				if err != nil {
					cancel(err)
					return
				}
				<-inFlight
			}
		}()
	}
	for peer, sender := range senders {
		working.Add(1)
		go func() {
			defer working.Done()
			for n := range perPeer + l.ahead {
				if n >= l.ahead { // the one that was in this place before
					if event, err := wait(sender.Request); err != nil || event.Err() != nil {
						cancel(fmt.Errorf("peer %d sending: %w, %w", peer, err, event.Err()))
						return
					}
				}
				if n >= perPeer || ctx.Err() != nil {
					continue
				}
				select {
				case inFlight <- struct{}{}:
				case <-ctx.Done():
					return
				}
				offset, length := n%l.ahead*sharedBuffer, l.size(peer, n)
				segment, err := sender.Memory.Segment(offset, length)
				if err == nil {
					writeMessage(sender.Memory.Bytes()[offset:][:length], peer, n)
					err = sender.PostSend(one(segment), uint64(n), 0)
				}
				if err != nil {
					cancel(err)
					return
				}
			}
		}()
	}
	working.Wait()
	if err := context.Cause(ctx); err != nil {
		t.Fatal(err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.came != perPeer*l.peers {
		t.Errorf("%d messages have come of %d", r.came, perPeer*l.peers)
	}
	for _, evd := range evds {
		wantNoEvent(t, evd)
	}
}

// Receives of a shared queue complete out of order when one message takes longer
// than another: each completion names the receive that the message is in.
func TestSRQTwoPeers(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		sharedLoad{peers: 2, receives: 8, evds: 1, messages: 60, ahead: 1, size: func(peer, n int) int {
			return [...]int{sharedBuffer, 8}[peer]
		}}.exchange(t, ia)
	})
}

// Whatever the number of peers, of receives and of event dispatchers, and the
// sizes: no message is seen twice, lost, or with another's content.
func TestSRQExchange(t *testing.T) {
	mixed := func(peer, n int) int {
		r := rand.New(rand.NewPCG(uint64(peer), uint64(n)))
		if r.IntN(4) > 0 {
			return 8 + r.IntN(500)
		}
		return 8 + r.IntN(sharedBuffer-7)
	}
	small := func(peer, n int) int { return 8 + (peer+n)%64 }
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		for _, l := range []sharedLoad{
			{peers: 2, receives: 2, evds: 1, ahead: 2, size: mixed},
			{peers: 3, receives: 1, evds: 1, ahead: 1, size: mixed},
			{peers: 6, receives: 16, evds: 1, ahead: 4, size: small},
			{peers: 6, receives: 16, evds: 2, ahead: 4, size: mixed},
			{peers: 8, receives: 24, evds: 3, ahead: 4, size: mixed},
			{peers: 32, receives: 64, evds: 2, ahead: 2, size: mixed},
			{peers: 32, receives: 64, evds: 1, ahead: 2, size: mixed},
		} {
			l.messages, l.peers = *sharedMessages, fewerOnSIW(t, ia, l.peers, 8)
			if l.receives < 2*l.peers {
				l.messages /= 20 // most of the time goes by with messages that are refused for lack of a receive
			}
			name := fmt.Sprintf("%d peers, %d receives, %d EVDs", l.peers, l.receives, l.evds)
			t.Run(name, func(t *testing.T) { l.exchange(t, ia) })
		}
	})
}
