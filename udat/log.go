package udat

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/goudat/goudat/udat/internal/life"
)

// SetLogHandler has handler get a record of each call that is refused, with the
// attributes call, code and detail, and of each connection event and connection
// request that is taken, with event, adapter and object. What has failed is a
// slog.LevelWarn, all else a slog.LevelInfo. Nil, the default, logs nothing. For the
// log of the program: SetLogHandler(slog.Default().Handler()).
//
// The handler runs on a goroutine of its own, and may call udat. It delays no call: while
// it is 1024 records behind, further ones are left out, and the next one has their number
// in the attribute omitted. SetLogHandler returns when the handler before has got all
// its records; a handler must not call it. Some calls have two records, the library's
// code and what udat found out about it. Waits that end by their contexts, and queues that
// are empty or full, have none.
func SetLogHandler(handler slog.Handler) {
	var now *logger
	if handler != nil {
		now = &logger{records: make(chan slog.Record, 1024), stop: make(chan struct{}), stopped: make(chan struct{})}
		go now.run(handler)
	}
	if before := logging.Swap(now); before != nil {
		close(before.stop)
		<-before.stopped
	}
}

// logging has what records go to, nil if nobody wants them.
var logging atomic.Pointer[logger]

// logger hands records to the program's handler, without the locks of those who make them.
type logger struct {
	records       chan slog.Record
	omitted       atomic.Int64
	stop, stopped chan struct{}
}

func (l *logger) run(handler slog.Handler) {
	defer close(l.stopped)
	for {
		select {
		case r := <-l.records:
			l.handle(handler, r)
			continue
		default:
		}
		select {
		case r := <-l.records:
			l.handle(handler, r)
		case <-l.stop:
			if len(l.records) == 0 {
				return
			}
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
	r := slog.NewRecord(time.Now(), level, message, 0)
	r.AddAttrs(attrs...)
	select {
	case l.records <- r:
	default:
		l.omitted.Add(1)
	}
}

// logged logs the error of a call, and returns it.
func logged(e *Error) error {
	if l := logging.Load(); l != nil {
		l.add(slog.LevelWarn, "udat: call refused", slog.String("call", e.Op), slog.String("code", e.Return.String()), slog.String("detail", e.Detail))
	}
	return e
}

// logConnection logs a connection event of an endpoint, or a request to a service point.
func logConnection(number EventNumber, adapter string, object life.Record) {
	l := logging.Load()
	if l == nil {
		return
	}
	level := slog.LevelInfo
	if ConnectionEvent(number).Failure() {
		level = slog.LevelWarn
	}
	l.add(level, "udat: connection event", slog.String("event", number.String()), slog.String("adapter", adapter), slog.Any("object", object))
}
