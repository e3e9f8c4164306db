package udat_test

import (
	"expvar"
	"fmt"
	"log/slog"
	"os"

	"github.com/goudat/goudat/udat"
)

// The counters of an adapter for GET /debug/vars, which package expvar serves.
func ExampleIA_Stats() {
	ia := must(udat.Open(adapter))
	defer ia.Close(udat.CloseAbrupt)
	ia.EnableStats()
	expvar.Publish("udat."+ia.Name(), expvar.Func(func() any { return ia.Stats() }))

	_ = must(udat.CreatePZ(ia))
	fmt.Println(ia.Stats().Living["protection zone"], "protection zone")
	// Output: 1 protection zone
}

// Refused calls in the log of the program.
func ExampleSetLogHandler() {
	text := slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{ReplaceAttr: withoutTime})
	udat.SetLogHandler(text)
	_, _ = udat.CreatePZ(nil)
	udat.SetLogHandler(nil) // writes what is left
	// Output: level=WARN msg="udat: call refused" call=dat_pz_create code="DAT_INVALID_HANDLE DAT_INVALID_HANDLE_IA" detail="the object is nil: pass one that was made"
}

func withoutTime(_ []string, a slog.Attr) slog.Attr {
	if a.Key == slog.TimeKey {
		return slog.Attr{}
	}
	return a
}
