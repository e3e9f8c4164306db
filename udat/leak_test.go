//go:build linux

package udat_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/udattest"
)

// leakVariable names the adapter that this test program is to drop, since it
// cannot get rid of it again.
const leakVariable = "UDAT_TEST_LEAK"

func init() {
	if name := os.Getenv(leakVariable); name != "" {
		leak(name)
		os.Exit(0)
	}
}

// An adapter that the program drops is reported, with all that is on it. Memory
// that is registered lives on, out of the program's reach but not of the peer's.
func TestLeakReport(t *testing.T) {
	for _, name := range udattest.Names(t) {
		t.Run(name, func(t *testing.T) {
			cmd := exec.CommandContext(udattest.Context(t), os.Args[0])
			cmd.Env = append(os.Environ(), leakVariable+"="+name, "UDAT_LEAKS=print", "GODEBUG=", "LSAN_OPTIONS=detect_leaks=0")
			var stdout, stderr bytes.Buffer
			cmd.Stdout, cmd.Stderr = &stdout, &stderr
			if err := cmd.Run(); err != nil {
				t.Fatalf("%v: %s%s", err, &stdout, &stderr)
			}
			stack, err := udat.NativeLibrary()
			want(t, err)
			lines, found := strings.CutPrefix(stderr.String(), "udat: the program has dropped an adapter without closing it (libdat2 ")
			if of, list, ok := strings.Cut(lines, "), and with it:"); !found || !ok || !strings.Contains(of, stack.Path) {
				t.Errorf("the report does not name the libraries: %s", stderr.String())
			} else {
				lines = list
			}
			lines = regexp.MustCompile(`:\d+\)`).ReplaceAllString(lines, ")")
			report := `
	interface adapter (made at leak_test.go)
	protection zone (made at leak_test.go)
	event dispatcher (made at leak_test.go)
	event dispatcher (made at leak_test.go)
	endpoint (made at leak_test.go)
	event dispatcher (made at leak_test.go)
	public service point (made at leak_test.go)
	memory region (made at leak_test.go)
`
			if diff := cmp.Diff(report, lines); diff != "" {
				t.Errorf("the report (-) is printed as (+): %s", diff)
			}
			if stdout.String() != "intact\n" {
				t.Errorf("the child says %q", &stdout)
			}
		})
	}
}

// A dropHandler gets what was alive on adapters that were dropped.
type dropHandler chan []udat.Origin

func (dropHandler) Enabled(context.Context, slog.Level) bool { return true }
func (h dropHandler) WithAttrs([]slog.Attr) slog.Handler     { return h }
func (h dropHandler) WithGroup(string) slog.Handler          { return h }

func (h dropHandler) Handle(_ context.Context, r slog.Record) error {
	r.Attrs(func(a slog.Attr) bool {
		if leaked, ok := a.Value.Any().([]udat.Origin); ok && r.Level == slog.LevelError {
			h <- leaked
		}
		return true
	})
	return nil
}

const leakedText = "memory that the adapter reaches"

// leak drops an adapter, and has its peer read what was registered on it when it was reported.
func leak(name string) {
	ctx, cancel := context.WithTimeout(context.Background(), udattest.Patience)
	defer cancel()
	reported := make(dropHandler, 1)
	udat.SetLogHandler(reported)
	keeper := newParty(name)
	remote := dropParty(ctx, name, keeper)
	for done := false; !done; {
		runtime.GC()
		select {
		case leaked := <-reported:
			for _, o := range leaked {
				if o.Adapter != name || !strings.HasSuffix(o.Function, "Party") || o.Line == 0 || !slices.Contains(udat.Living(), o) {
					panic(fmt.Sprintf("an object is reported as %+v", o))
				}
			}
			done = true
		case <-ctx.Done():
			panic(ctx.Err())
		case <-time.After(10 * time.Millisecond): // cleanups run some time after the collection
		}
	}
	for range 1000 {
		_ = []byte(strings.Repeat("x", len(leakedText)))
	}
	runtime.GC()
	local := must(keeper.memory.Segment(0, len(leakedText)))
	must(0, keeper.ep.PostRDMARead([]udat.Segment{local}, 1, remote, 0))
	must(keeper.dto.Expect(ctx, udat.EventDTOCompletion))
	if got := string(keeper.memory.Bytes()); got != leakedText {
		panic("the peer read " + got)
	}
	fmt.Println("intact")
}

// party is an adapter with an endpoint that no test cleans up.
type party struct {
	ia           *udat.IA
	dto, connect *udat.EVD
	ep           *udat.EP
	memory       *udat.LMR
}

func newParty(name string) *party {
	p := &party{ia: must(udat.Open(name))}
	pz := must(udat.CreatePZ(p.ia))
	p.dto = must(udat.CreateEVD(p.ia, 64, nil, udat.EVDDTO))
	p.connect = must(udat.CreateEVD(p.ia, 64, nil, udat.EVDConnection))
	p.ep = must(udat.CreateEP(p.ia, pz, p.dto, p.dto, p.connect, nil))
	requests := must(udat.CreateEVD(p.ia, 4, nil, udat.EVDCR))
	must(udat.CreatePSPAny(p.ia, requests))
	p.memory = must(udat.RegisterMemory(pz, []byte(leakedText), udat.MemPrivAll))
	return p
}

// dropParty connects a second party with the first and forgets it.
//
//go:noinline
func dropParty(ctx context.Context, name string, keeper *party) udat.RMRTriplet {
	p := newParty(name)
	requests, qual := must(udat.CreateEVD(keeper.ia, 8, nil, udat.EVDCR)), udattest.ConnQual()
	must(udat.CreatePSP(keeper.ia, qual, requests))
	attr, _, err := keeper.ia.Query()
	check(err)
	check(p.ep.Connect(attr.Address, qual, udattest.Patience, nil))
	check(must(requests.Wait(ctx)).CR().Accept(keeper.ep, nil))
	must(p.connect.Expect(ctx, udat.EventConnectionEstablished))
	must(keeper.connect.Expect(ctx, udat.EventConnectionEstablished))
	return must(p.memory.RMRTriplet(0, len(leakedText)))
}

// Living lists what was made, in order, until it is freed.
func TestLiving(t *testing.T) {
	before := udat.Living()
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		e := udattest.NewEndpoint(t, ia, nil)
		l := udattest.Listen(t, ia)
		request(t, e, l)
		var kinds []string
		for _, o := range udat.Living()[len(before):] {
			kinds = append(kinds, o.Kind)
			if o.Adapter != ia.Name() || o.File == "" || o.Line == 0 {
				t.Errorf("an object is listed as %+v", o)
			}
		}
		const evd = "event dispatcher"
		all := []string{"interface adapter", "protection zone", evd, evd, evd, "memory region", "endpoint", evd, "public service point", "connection request"}
		if diff := cmp.Diff(all, kinds); diff != "" {
			t.Errorf("made (-) and listed (+): %s", diff)
		}
		want(t, e.EP.Free())
		want(t, l.PSP.Free())
		want(t, ia.Close(udat.CloseAbrupt))
		if diff := cmp.Diff(before, udat.Living()); diff != "" {
			t.Errorf("alive before (-) and after (+): %s", diff)
		}
	})
}
