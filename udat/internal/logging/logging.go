// Package logging hands records to the program's slog.Handler, without the locks of their makers.
package logging

import (
	"context"
	"log/slog"
	"reflect"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/goudat/goudat/cgo"
)

// logger hands records to a handler, on a goroutine of its own.
type logger struct {
	records       chan slog.Record
	omitted       atomic.Int64
	stop, stopped chan struct{}
}

// mostBehind is how many records a handler may be behind.
const mostBehind = 1024

var current atomic.Pointer[logger] // nil if nobody wants records

// SetHandler sends records to handler; nil stops them. The former handler has all its records then.
func SetHandler(handler slog.Handler) {
	var now *logger
	if handler != nil {
		now = &logger{records: make(chan slog.Record, mostBehind), stop: make(chan struct{}), stopped: make(chan struct{})}
		go now.run(handler)
	}
	if before := current.Swap(now); before != nil {
		close(before.stop)
		<-before.stopped
	}
}

func (l *logger) run(handler slog.Handler) {
	defer close(l.stopped)
	for {
		select {
		case r := <-l.records:
			l.handle(handler, r)
		case <-l.stop:
			for len(l.records) > 0 {
				l.handle(handler, <-l.records)
			}
			return
		}
	}
}

func (l *logger) handle(handler slog.Handler, r slog.Record) {
	ctx := context.Background()
	if !handler.Enabled(ctx, r.Level) {
		return
	}
	if n := l.omitted.Swap(0); n > 0 {
		r.AddAttrs(slog.Int64("omitted", n))
	}
	_ = handler.Handle(ctx, r) // there is nobody to tell
}

func (l *logger) add(level slog.Level, message string, attrs ...slog.Attr) {
	if l == nil {
		return
	}
	r := slog.NewRecord(time.Now(), level, message, 0)
	r.AddAttrs(attrs...)
	select {
	case l.records <- r:
	default:
		l.omitted.Add(1)
	}
}

// Quiet runs f, whose calls are not the program's: none that fails is logged.
func Quiet(f func()) { f() }

var quietName = runtime.FuncForPC(reflect.ValueOf(Quiet).Pointer()).Name()

// quiet reports whether Quiet is among the callers.
func quiet() bool {
	const depth = 32 // from Quiet to what fails
	var counters [depth]uintptr
	frames := runtime.CallersFrames(counters[:runtime.Callers(2, counters[:])])
	for {
		frame, more := frames.Next()
		if frame.Function == quietName {
			return true
		}
		if !more {
			return false
		}
	}
}

// Refused logs a call that has failed.
func Refused(call string, code cgo.Return, detail string) {
	if l := current.Load(); l != nil && !quiet() {
		l.add(slog.LevelWarn, "udat: call refused", slog.String("call", call), slog.String("code", code.String()), slog.String("detail", detail))
	}
}

// Chosen logs what the name of a device means.
func Chosen(name, adapter, reason string) {
	current.Load().add(slog.LevelInfo, "udat: provider chosen", slog.String("name", name), slog.String("adapter", adapter), slog.String("reason", reason))
}

// Connection logs a connection event of an endpoint, or a request to a service point.
func Connection(event cgo.EventNumber, adapter string, object slog.LogValuer) {
	level := slog.LevelWarn
	switch event {
	case cgo.EventConnectionRequest, cgo.EventConnectionEstablished, cgo.EventConnectionDisconnected:
		level = slog.LevelInfo
	}
	current.Load().add(level, "udat: connection event", slog.String("event", event.String()), slog.String("adapter", adapter), slog.Any("object", object))
}

// Dropped logs that the program has dropped an adapter without closing it.
func Dropped(adapter string, objects any) {
	current.Load().add(slog.LevelError, "udat: adapter dropped", slog.String("adapter", adapter), slog.Any("objects", objects))
}
