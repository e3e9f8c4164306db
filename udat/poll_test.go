package udat_test

import (
	"testing"
	"time"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/udattest"
)

// wantEvents demands n events with cookies from first on.
func wantEvents(t *testing.T, events []udat.Event, n int, first uint64) {
	t.Helper()
	if len(events) != n {
		t.Fatalf("got %d events, want %d", len(events), n)
	}
	for i := range events {
		if events[i].Cookie != first+uint64(i) {
			t.Errorf("got the cookie %d, want %d", events[i].Cookie, first+uint64(i))
		}
	}
}

func TestPoll(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		for name, take := range map[string]func(*udat.EVD, []udat.Event) (int, error){
			"Poll":                 (*udat.EVD).Poll,
			"SpinPoll":             func(evd *udat.EVD, events []udat.Event) (int, error) { return evd.SpinPoll(events, 0) },
			"SpinPoll for a while": func(evd *udat.EVD, events []udat.Event) (int, error) { return evd.SpinPoll(events, 5*time.Millisecond) },
		} {
			t.Run(name, func(t *testing.T) {
				evd := createEVD(t, ia, 100, udat.EVDSoftware)
				events := make([]udat.Event, 40)
				poll := func(most, n int, first uint64) {
					t.Helper()
					got, err := take(evd, events[:most])
					want(t, err)
					wantEvents(t, events[:got], n, first)
				}
				poll(40, 0, 0)
				for i := range uint64(100) {
					post(t, evd, i)
				}
				poll(1, 1, 0)
				poll(40, 40, 1)
				awaitQueued(t, evd, 1)
				wantCookies(t, evd, 41)
				post(t, evd, 100)
				poll(20, 20, 42)
				poll(40, 39, 62)
				poll(40, 0, 0)
				for _, none := range [][]udat.Event{nil, {}} {
					want(t, second(take(evd, none)), udat.ErrInvalidParameter)
				}
				for _, budget := range []time.Duration{-1, time.Second + 1} {
					want(t, second(evd.SpinPoll(events, budget)), udat.ErrInvalidParameter)
				}
			})
		}
	})
}

// Spinning lasts as long as it should, finds what comes meanwhile, and keeps
// nobody from the EVD for the whole time.
func TestSpinPoll(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		active, passive := udattest.Pair(t, ia, nil)
		var events [4]udat.Event
		const budget = 30 * time.Millisecond
		begin := time.Now()
		n, err := passive.Recv.SpinPoll(events[:], budget)
		want(t, err)
		if spent := time.Since(begin); n != 0 || spent < budget || spent > udattest.Patience {
			t.Errorf("spinning for %v took %v and gave %d events", budget, spent, n)
		}

		want(t, passive.PostRecv(one(passive.Segment(t, 0, 8)), 7, 0))
		sent := make(chan error)
		go func() { sent <- active.PostSend(one(active.Segment(t, 0, 8)), 8, 0) }()
		for n = 0; n == 0 && time.Since(begin) < udattest.Patience; {
			n, err = passive.Recv.SpinPoll(events[:], time.Second)
			want(t, err)
		}
		want(t, <-sent)
		if n != 1 || events[0].Cookie != 7 || events[0].Err() != nil {
			t.Errorf("got %d events, %+v", n, events[0])
		}
		want(t, udattest.Wait(t, active.Request).Err())

		// The EVD is freed while it spins, which is not kept from it for the whole time.
		for range 4 {
			evd := createEVD(t, ia, 8, udat.EVDSoftware)
			found, done := make(chan int, 1), make(chan error, 1)
			go func() {
				var events [4]udat.Event
				n, err := evd.SpinPoll(events[:], time.Second)
				found <- n
				for err == nil {
					_, err = evd.SpinPoll(events[:], time.Second)
				}
				done <- err
			}()
			post(t, evd, 1)
			if n := receive(t, found); n != 1 {
				t.Errorf("got %d events", n)
			}
			begin := time.Now()
			want(t, evd.Free())
			spent := time.Since(begin)
			want(t, receive(t, done), udat.ErrClosed)
			if spent < time.Second/2 {
				return
			}
		}
		t.Error("Free waits for the spinning to end")
	})
}
