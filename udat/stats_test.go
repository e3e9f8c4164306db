package udat_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"runtime/trace"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/udattest"
)

func TestStats(t *testing.T) {
	for _, ia := range []*udat.IA{nil, {}} {
		if s := ia.Stats(); s.Posts != 0 || len(s.Living) != 0 {
			t.Errorf("no adapter has the counters %+v", s)
		}
	}
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		if s := ia.Stats(); s.Posts != 0 || s.Living["interface adapter"] != 1 {
			t.Errorf("a new adapter has the counters %+v", s)
		}
		ia.EnableStats()
		client, server := udattest.Pair(t, ia, nil)
		segment := []udat.Segment{client.Segment(t, 0, 8)}
		check(server.PostRecv([]udat.Segment{server.Segment(t, 0, 8)}, 1, 0))
		must(client.PostBatch([]udat.Post{{Operation: udat.DTOSend, Segments: segment, Cookie: 2}}))
		udattest.Completion(t, server.Recv, 1)
		udattest.Completion(t, client.Request, 2)
		want(t, client.PostSend(segment, 3, udat.CompletionUnsignalled|1<<30), udat.ErrInvalidParameter)
		check(client.PostRecv(segment, 4, 0))
		check(client.Disconnect(udat.CloseAbrupt)) // flushes the receive
		udattest.Expect(t, client.Connect, udat.EventConnectionDisconnected)
		udattest.Expect(t, server.Connect, udat.EventConnectionDisconnected)
		wantCompletion(t, client.Recv, 4, udat.DTOErrFlushed)
		ctx, cancel := context.WithTimeout(udattest.Context(t), time.Millisecond)
		defer cancel()
		want(t, second(client.Recv.Wait(ctx)), context.DeadlineExceeded)

		s := ia.Stats()
		if s.SleepingWaits == 0 || s.ConnectTime <= 0 || s.ConnectTime > udattest.Patience {
			t.Errorf("%d waits slept, connecting took %v", s.SleepingWaits, s.ConnectTime)
		}
		s.SleepingWaits, s.ConnectTime = 0, 0
		expected := udat.Stats{
			Living:       map[string]int{},
			Posts:        3,
			RefusedPosts: 1,
			Completions:  map[udat.DTOStatus]uint64{udat.DTOSuccess: 2, udat.DTOErrFlushed: 1},
			ConnectionEvents: map[udat.EventNumber]uint64{
				udat.EventConnectionRequest: 1, udat.EventConnectionEstablished: 2, udat.EventConnectionDisconnected: 2,
			},
			Connects: 1,
			Outcomes: 1,
		}
		for _, o := range udat.Living() {
			if o.Adapter == ia.Name() {
				expected.Living[o.Kind]++
			}
		}
		if diff := cmp.Diff(expected, s); diff != "" {
			t.Error(diff)
		}
		if text, err := json.Marshal(s); err != nil || !strings.Contains(string(text), `"DAT_DTO_SUCCESS":2`) || !strings.Contains(string(text), `"DAT_CONNECTION_REQUEST_EVENT":1`) {
			t.Errorf("as JSON the counters are %s, %v", text, err)
		}
	})
}

func metrics(w io.Writer, s udat.Stats) {
	fmt.Fprintf(w, "udat_posts_refused_total %d\n", s.RefusedPosts)
	for status, n := range s.Completions {
		fmt.Fprintf(w, "udat_completions_total{status=%q} %d\n", status, n)
	}
	for event, n := range s.ConnectionEvents {
		fmt.Fprintf(w, "udat_connection_events_total{event=%q} %d\n", event, n)
	}
	for kind, n := range s.Living {
		fmt.Fprintf(w, "udat_living{kind=%q} %d\n", kind, n)
	}
}

// What docs/native.md writes for Prometheus has each counter by its C name.
func TestMetrics(t *testing.T) {
	var text strings.Builder
	metrics(&text, udat.Stats{
		RefusedPosts:     1,
		Completions:      map[udat.DTOStatus]uint64{udat.DTOErrFlushed: 2},
		ConnectionEvents: map[udat.EventNumber]uint64{udat.EventConnectionBroken: 3},
		Living:           map[string]int{"endpoint": 4},
	})
	const expected = `udat_posts_refused_total 1
udat_completions_total{status="DAT_DTO_ERR_FLUSHED"} 2
udat_connection_events_total{event="DAT_CONNECTION_EVENT_BROKEN"} 3
udat_living{kind="endpoint"} 4
`
	if text.String() != expected {
		t.Errorf("Prometheus reads\n%s", text.String())
	}
}

// Waits that find nothing are regions of their goroutine in the trace.
func TestWaitsAreRegions(t *testing.T) {
	var buffer bytes.Buffer
	check(trace.Start(&buffer))
	defer trace.Stop()
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		ctx, cancel := context.WithTimeout(udattest.Context(t), time.Millisecond)
		defer cancel()
		_, _ = ia.AsyncEVD().Wait(ctx)
		_, _ = createCNO(t, ia, nil).Wait(ctx)
	})
	trace.Stop()
	for _, region := range []string{"dat_evd_wait", "dat_cno_wait"} {
		if !bytes.Contains(buffer.Bytes(), []byte(region)) {
			t.Errorf("the trace has no region %s", region)
		}
	}
}

func TestSetLogHandler(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		var log bytes.Buffer
		udat.SetLogHandler(slog.NewTextHandler(&log, nil))
		defer udat.SetLogHandler(nil)
		client, _ := udattest.Pair(t, ia, nil)
		_ = client.Reset()
		udat.SetLogHandler(nil)
		_ = client.Modify(0, nil) // not logged any more
		for _, want := range []string{
			`level=INFO msg="udat: connection event" event=DAT_CONNECTION_REQUEST_EVENT adapter=` + ia.Name() + ` object="public service point (made at `,
			`event=DAT_CONNECTION_EVENT_ESTABLISHED adapter=` + ia.Name() + ` object="endpoint (made at stats_test.go:`,
			`level=WARN msg="udat: call refused" call=dat_ep_reset code="DAT_INVALID_STATE`,
		} {
			if !strings.Contains(log.String(), want) {
				t.Errorf("the log lacks %q:\n%s", want, log.String())
			}
		}
		if strings.Contains(log.String(), "dat_ep_modify") {
			t.Errorf("a call is logged without a handler:\n%s", log.String())
		}
	})
}

// Each refused call is logged, and once, also if its object is freed.
func TestRefusalsAreLoggedOnce(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		evd := createEVD(t, ia, 1, udat.EVDSoftware)
		some := make([]udat.Event, 2)
		calls := []struct {
			name string
			call func() error
		}{
			{"a wait for more events than the queue holds", func() error {
				_, err := evd.WaitBatch(t.Context(), make([]udat.Event, 1<<12), 1<<12)
				return err
			}},
			{"a wait on an unwaitable EVD", func() error {
				want(t, evd.SetUnwaitable())
				_, err := evd.Wait(t.Context())
				return err
			}},
			{"SpinPoll of a freed EVD with a wrong time", func() error {
				want(t, evd.Free())
				_, err := evd.SpinPoll(some, -1)
				return err
			}},
			{"PostBatch of no operation", func() error {
				ep := udattest.NewEndpoint(t, ia, nil).EP
				want(t, ep.Free())
				_, err := ep.PostBatch([]udat.Post{{Operation: udat.DTOBindMW}})
				return err
			}},
		}
		for _, c := range calls {
			var log bytes.Buffer
			udat.SetLogHandler(slog.NewTextHandler(&log, nil))
			err := c.call()
			udat.SetLogHandler(nil)
			if n := strings.Count(log.String(), "call refused"); err == nil || n != 1 {
				t.Errorf("%s is %v and logged %d times:\n%s", c.name, err, n, log.String())
			}
		}
	})
}

// What an abrupt close, or the end of a service, calls itself is not logged as refused to the
// program.
func TestOwnCallsAreNotLogged(t *testing.T) {
	for _, name := range udattest.Names(t) {
		var log bytes.Buffer
		ia := must(udat.Open(name))
		listener := udattest.Listen(t, ia)
		waiting := udattest.NewEndpoint(t, ia, nil)
		cr := request(t, waiting, listener)
		udattest.Pair(t, ia, nil)
		udat.SetLogHandler(slog.NewTextHandler(&log, nil))
		want(t, cr.Reject(nil))
		want(t, cr.Reject(nil), udat.ErrClosed)
		want(t, ia.Close(udat.CloseAbrupt))
		udat.SetLogHandler(nil)
		if n := strings.Count(log.String(), "call refused"); n != 1 { // the second Reject of the program
			t.Errorf("%s: %d calls are logged:\n%s", name, n, log.String())
		}
	}
}
