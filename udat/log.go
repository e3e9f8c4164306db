package udat

import (
	"log/slog"

	"github.com/goudat/goudat/udat/internal/logging"
)

// SetLogHandler sends records to handler, for example slog.Default().Handler(). Nil, the default,
// logs nothing. Records are of
//
//   - each refused call, with call, code and detail; some have a second one, of what udat found out
//   - each connection event and request that is taken, with event, adapter and object
//   - each choice of a provider by Open, with name, adapter and reason
//   - each adapter that the garbage collector finds dropped without Close, at slog.LevelError, with
//     adapter and objects, an []Origin of what is alive on it. While a goroutine waits on it, or it
//     has a CNO with an agent, it is not found.
//
// Other failures have slog.LevelWarn, all else slog.LevelInfo. Calls of udat itself, waits ended by
// their contexts, and empty or full queues have no record. The handler runs on a goroutine of its
// own and delays no call. It may call udat, but not SetLogHandler, which returns when the former
// handler has all its records. If it is 1024 records behind, further ones are omitted; the next has
// their number in the attribute omitted.
func SetLogHandler(handler slog.Handler) { logging.SetHandler(handler) }
