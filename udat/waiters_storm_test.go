package udat_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/udattest"
)

// disturb makes one call on the EVD that others wait on, and returns how many events it has taken.
func disturb(t *testing.T, evd *udat.EVD, cno *udat.CNO) int {
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(rand.IntN(300))*time.Microsecond)
	defer cancel()
	var events [4]udat.Event
	var n int
	var err error
	switch rand.IntN(9) {
	case 0, 1:
		n, err = evd.WaitBatch(ctx, events[:1], 1)
	case 2, 3:
		n, err = evd.WaitBatch(ctx, events[:], 2+rand.IntN(3))
	case 4:
		n, err = evd.Poll(events[:1])
	case 5:
		err = evd.Resize(32 + rand.IntN(32))
	case 6:
		err = second(evd.Query())
	case 7:
		if err = evd.Disable(); err == nil {
			err = evd.Enable()
		}
	case 8:
		err = evd.ModifyCNO(cno)
	}
	if !errors.Is(err, context.DeadlineExceeded) {
		want(t, err)
	}
	return n
}

// storm posts events while as many calls are made beside, all at random moments, and then as many
// as the latter have taken.
func storm(t *testing.T, evd *udat.EVD, cno *udat.CNO, posts int) {
	var taken atomic.Int64
	var calls sync.WaitGroup
	for range 8 {
		spawn(&calls, func() {
			time.Sleep(time.Duration(rand.IntN(200)) * time.Microsecond)
			taken.Add(int64(disturb(t, evd, cno)))
		})
	}
	for i := range posts {
		if rand.IntN(2) == 0 {
			time.Sleep(time.Duration(rand.IntN(200)) * time.Microsecond)
		}
		post(t, evd, uint64(i))
	}
	calls.Wait()
	for range taken.Load() {
		post(t, evd, 100)
	}
}

// takeAll takes n events by way of a CNO.
func takeAll(ctx context.Context, cno *udat.CNO, n int) error {
	var events [8]udat.Event
	for n > 0 {
		given, err := cno.Wait(ctx)
		if err != nil {
			return err
		}
		for got := -1; got != 0; n -= max(got, 0) {
			if got, err = given.Poll(events[:]); err != nil {
				return err
			}
		}
	}
	return nil
}

// Whatever others do on the event dispatcher, at whatever moment they leave: those who stay get
// their events, and one who waits for its CNO learns of all that others leave.
func TestWaitersInStorm(t *testing.T) {
	forEachIABothWays(t, func(t *testing.T, ia *udat.IA) {
		for _, c := range []struct {
			flags udat.EVDFlags
			byCNO bool
		}{{udat.EVDSoftware, false}, {udat.EVDSoftware | udat.EVDConnection, false}, {udat.EVDSoftware, true}} {
			evd := createEVD(t, ia, 64, c.flags)
			cno := createCNO(t, ia, nil)
			t.Cleanup(func() { want(t, evd.ModifyCNO(nil)) })
			want(t, evd.SetWaitSpin(0))
			if c.byCNO {
				want(t, evd.ModifyCNO(cno))
			}
			for range 150 {
				const n = 3
				ctx, ended := udattest.Context(t), make(chan error, n)
				waits := waitsFor(ctx, evd, n)
				if c.byCNO {
					waits = []func() error{func() error { return takeAll(ctx, cno, n) }}
				}
				for _, wait := range waits {
					go func() { ended <- wait() }()
				}
				storm(t, evd, cno, n)
				for range waits {
					want(t, receive(t, ended))
				}
				udattest.NoEvent(t, evd)
			}
		}
	})
}

// Thousands of waits are cancelled at the moment when events come, on one event dispatcher and on
// many. They hold few threads, and lose no event.
func TestThousandsOfWaiters(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
		const n = waitersAtOnce
		for _, dispatchers := range []int{1, 200} { // of which up to 8 have a goroutine in the library
			const posts = 1000
			evds := make([]*udat.EVD, dispatchers)
			for i := range evds {
				evds[i] = createEVD(t, ia, posts, udat.EVDSoftware)
			}
			before, limit := udat.Sleeps(ia), threads()+20
			ctx, cancel := context.WithCancel(udattest.Context(t))
			var got atomic.Int64
			var waits sync.WaitGroup
			for i := range n {
				evd := evds[i%dispatchers]
				spawn(&waits, func() {
					if _, err := evd.Wait(ctx); err != nil {
						want(t, err, context.Canceled)
					} else {
						got.Add(1)
					}
				})
			}
			await(t, "the waits", func() bool { return udat.Sleeps(ia) == before+n })
			if now := threads(); now > limit {
				t.Errorf("%d waits on %d event dispatchers take %d threads more", n, dispatchers, now-limit+20)
			}
			for i := range posts {
				if i == posts/2 {
					go cancel()
				}
				post(t, evds[i%dispatchers], 1)
				if i < posts/2 && i%100 == 0 {
					await(t, "events to be taken", func() bool { return int(got.Load()) > i })
				}
			}
			cancel()
			waits.Wait()
			left := 0
			for _, evd := range evds {
				for _, err := evd.Dequeue(); err == nil; _, err = evd.Dequeue() {
					left++
				}
			}
			if int(got.Load())+left != posts {
				t.Errorf("of %d events %d reach a waiter and %d are left", posts, got.Load(), left)
			}
		}
	})
}

func threads() int { return len(must(os.ReadDir("/proc/self/task"))) }
