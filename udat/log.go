package udat

import (
	"log/slog"

	"github.com/goudat/goudat/udat/internal/logging"
)

// SetLogHandler has handler get a record of each call that is refused, with the
// attributes call, code and detail, and of each connection event and connection
// request that is taken, with event, adapter and object. Where Open was given the name
// of a device, a record has name, the adapter that it chose, and the reason. An adapter
// that the garbage collector finds dropped, and not closed, has a record at
// slog.LevelError, with adapter and objects, an []Origin of what is alive on it; it is
// not found while a goroutine waits on it, and while it has a CNO with an agent.
// What has failed is a slog.LevelWarn, all else a slog.LevelInfo. Calls that udat makes
// itself, as IA.Close does to free what is on the adapter, have no record. Nil, the default, logs nothing. For the
// log of the program: SetLogHandler(slog.Default().Handler()).
//
// The handler runs on a goroutine of its own, and may call udat, but not SetLogHandler,
// which returns when the handler before has got all its records. It delays no call: while
// it is 1024 records behind, further ones are left out, and the next one has their number
// in the attribute omitted. Some calls have two records, the library's code and what udat
// found out. Waits that end by their contexts, and queues that are empty or full, have none.
func SetLogHandler(handler slog.Handler) { logging.SetHandler(handler) }
