package logging

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/goudat/goudat/cgo"
)

// handler is a function that gets the records from a level on.
type handler struct {
	slog.Handler
	least  slog.Level
	handle func(slog.Record)
}

func (h handler) Enabled(_ context.Context, level slog.Level) bool { return level >= h.least }

func (h handler) Handle(_ context.Context, r slog.Record) error {
	h.handle(r)
	return nil
}

// attribute returns a record's attribute, nil if it has none.
func attribute(r slog.Record, key string) (value any) {
	r.Attrs(func(a slog.Attr) bool {
		if a.Key == key {
			value = a.Value.Any()
		}
		return value == nil
	})
	return value
}

func refused(n int) { Refused(fmt.Sprint(n), 0, "") }

// A handler gets its records in order, and SetHandler waits for the last of them, also where
// another handler comes.
func TestSetHandlerWaits(t *testing.T) {
	const n = 100
	for _, next := range []slog.Handler{nil, handler{handle: func(slog.Record) {}}} {
		replaced := make(chan struct{})
		var calls, expected []any
		SetHandler(handler{handle: func(r slog.Record) {
			<-replaced
			calls = append(calls, attribute(r, "call"))
		}})
		before := current.Load()
		for i := range n {
			refused(i)
			expected = append(expected, fmt.Sprint(i))
		}
		go func() {
			for current.Load() == before {
				runtime.Gosched()
			}
			refused(n) // is not for this handler
			close(replaced)
		}()
		SetHandler(next)
		if !slices.Equal(calls, expected) {
			t.Errorf("the handler gets the calls %v", calls)
		}
		SetHandler(nil)
	}
}

// A handler that is too slow delays nobody, and learns with the next record how many it has missed.
func TestOmitted(t *testing.T) {
	const missed = 2000
	began, goOn := make(chan struct{}), make(chan struct{})
	var omitted []any
	SetHandler(handler{handle: func(r slog.Record) {
		if len(omitted) == 0 {
			refused(0) // it may make records itself
			close(began)
			<-goOn
		}
		omitted = append(omitted, attribute(r, "omitted"))
	}})
	refused(0)
	select {
	case <-began:
	case <-time.After(10 * time.Second):
		t.Fatal("the handler gets no record")
	}
	for range mostBehind - 1 + missed {
		refused(0)
	}
	close(goOn)
	SetHandler(nil)
	if len(omitted) != 1+mostBehind || omitted[1] != int64(missed) || slices.ContainsFunc(omitted[2:], func(n any) bool { return n != nil }) {
		t.Errorf("of %d records so many were omitted: %v", len(omitted), omitted)
	}
}

// Failures are warnings, all else is not, and a handler gets only the levels that it wants.
func TestLevels(t *testing.T) {
	events := []cgo.EventNumber{
		cgo.EventConnectionRequest, cgo.EventConnectionEstablished, cgo.EventConnectionDisconnected, cgo.EventConnectionPeerRejected, cgo.EventConnectionBroken,
	}
	for least, expected := range map[slog.Level]string{
		slog.LevelInfo:  "[INFO INFO INFO WARN WARN WARN]",
		slog.LevelWarn:  "[WARN WARN WARN]",
		slog.LevelError: "[]",
	} {
		var levels []slog.Level
		SetHandler(handler{least: least, handle: func(r slog.Record) { levels = append(levels, r.Level) }})
		for _, event := range events {
			Connection(event, "eth0", nil)
		}
		refused(0)
		SetHandler(nil)
		if got := fmt.Sprint(levels); got != expected {
			t.Errorf("from %v on, the levels are %v, want %v", least, got, expected)
		}
	}
	refused(0) // nobody wants it
}
