//go:build linux

package udat_test

import (
	"bytes"
	"context"
	"fmt"
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
	name := os.Getenv(leakVariable)
	if name == "" {
		return
	}
	if err := leak(name); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	os.Exit(0)
}

// An adapter that the program drops is reported, with all that is on it. Memory
// that is registered lives on, out of the program's reach but not of the peer's.
func TestLeakReport(t *testing.T) {
	for _, name := range udattest.Names(t) {
		t.Run(name, func(t *testing.T) {
			cmd := exec.CommandContext(udattest.Context(t), os.Args[0])
			cmd.Env = append(os.Environ(), leakVariable+"="+name, "LSAN_OPTIONS=detect_leaks=0")
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

const leakedText = "memory that the adapter reaches"

func leak(name string) error {
	ctx, cancel := context.WithTimeout(context.Background(), udattest.Patience)
	defer cancel()
	reported := make(chan []udat.Origin, 1)
	udat.OnLeak(func(leaked []udat.Origin) {
		udat.PrintLeak(leaked)
		reported <- leaked
	})
	keeper, err := newParty(name)
	if err != nil {
		return err
	}
	remote, err := dropParty(ctx, name, keeper)
	if err != nil {
		return err
	}
	for done := false; !done; {
		runtime.GC()
		select {
		case leaked := <-reported:
			for _, o := range leaked {
				if o.Adapter != name || !strings.HasSuffix(o.Function, "Party") || o.Line == 0 || !slices.Contains(udat.Living(), o) {
					return fmt.Errorf("an object is reported as %+v", o)
				}
			}
			done = true
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(10 * time.Millisecond): // cleanups run some time after the collection
		}
	}
	for range 1000 {
		b := make([]byte, len(leakedText))
		copy(b, strings.Repeat("x", len(b)))
	}
	runtime.GC()
	local, err := keeper.memory.Segment(0, len(leakedText))
	if err != nil {
		return err
	}
	if err := keeper.ep.PostRDMARead([]udat.Segment{local}, 1, remote, 0); err != nil {
		return err
	}
	event, err := keeper.dto.Wait(ctx)
	if err != nil || event.Err() != nil {
		return fmt.Errorf("%v, %v", err, event.Err())
	}
	if got := string(keeper.memory.Bytes()); got != leakedText {
		return fmt.Errorf("the peer read %q", got)
	}
	fmt.Println("intact")
	return nil
}

// party is an adapter with an endpoint that no test cleans up.
type party struct {
	ia           *udat.IA
	dto, connect *udat.EVD
	ep           *udat.EP
	memory       *udat.LMR
}

func newParty(name string) (*party, error) {
	p := &party{}
	var err error
	if p.ia, err = udat.Open(name); err != nil {
		return nil, err
	}
	pz, err := udat.CreatePZ(p.ia)
	if err != nil {
		return nil, err
	}
	if p.dto, err = udat.CreateEVD(p.ia, 64, udat.EVDDTO); err != nil {
		return nil, err
	}
	if p.connect, err = udat.CreateEVD(p.ia, 64, udat.EVDConnection); err != nil {
		return nil, err
	}
	if p.ep, err = udat.CreateEP(p.ia, pz, p.dto, p.dto, p.connect, nil); err != nil {
		return nil, err
	}
	p.memory, err = udat.RegisterMemory(pz, []byte(leakedText), udat.MemPrivAll)
	return p, err
}

// dropParty connects a second party with the first and forgets it.
//
//go:noinline
func dropParty(ctx context.Context, name string, keeper *party) (udat.RMRTriplet, error) {
	p, err := newParty(name)
	if err != nil {
		return udat.RMRTriplet{}, err
	}
	requests, err := udat.CreateEVD(keeper.ia, 8, udat.EVDCR)
	if err != nil {
		return udat.RMRTriplet{}, err
	}
	qual := udattest.ConnQual()
	if _, err := udat.CreatePSP(keeper.ia, qual, requests, udat.PSPConsumer); err != nil {
		return udat.RMRTriplet{}, err
	}
	attr, _, err := keeper.ia.Query()
	if err != nil {
		return udat.RMRTriplet{}, err
	}
	if err := p.ep.Connect(attr.Address, qual, udattest.Patience, nil); err != nil {
		return udat.RMRTriplet{}, err
	}
	request, err := requests.Wait(ctx)
	if err != nil {
		return udat.RMRTriplet{}, err
	}
	if err := request.CR().Accept(keeper.ep, nil); err != nil {
		return udat.RMRTriplet{}, err
	}
	for _, evd := range []*udat.EVD{p.connect, keeper.connect} {
		if event, err := evd.Wait(ctx); err != nil || event.Number != udat.EventConnectionEstablished {
			return udat.RMRTriplet{}, fmt.Errorf("%v, %v", event.Number, err)
		}
	}
	return p.memory.RMRTriplet(0, len(leakedText))
}

// Living lists what was made, until it is freed.
func TestLiving(t *testing.T) {
	before := udat.Living()
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		adapter := udat.Living()[len(before):]
		e := udattest.NewEndpoint(t, ia, nil)
		l := udattest.Listen(t, ia)
		made := udat.Living()[len(before)+len(adapter):]
		var kinds []string
		for i, o := range made {
			kinds = append(kinds, o.Kind)
			if o.Adapter != ia.Name() || !strings.HasSuffix(o.File, "/leak_test.go") || o.Line == 0 {
				t.Errorf("an object is listed as %+v", o)
			}
			if i > 0 && made[i-1].Serial >= o.Serial {
				t.Errorf("%v is listed before %v", made[i-1], o)
			}
		}
		const evd = "event dispatcher"
		all := []string{"protection zone", evd, evd, evd, "memory region", "endpoint", evd, "public service point"}
		if diff := cmp.Diff(all, kinds); diff != "" {
			t.Errorf("made (-) and listed (+): %s", diff)
		}
		want(t, e.EP.Connect(udattest.Address(t, ia), l.ConnQual, udattest.Patience, nil))
		udattest.Expect(t, l.Requests, udat.EventConnectionRequest)
		request := udat.Living()[len(before)+len(adapter)+len(made):]
		if len(request) != 1 || !strings.HasPrefix(request[0].String(), "connection request (made at leak_test.go:") || request[0].Adapter != ia.Name() {
			t.Errorf("a connection request is listed as %+v", request)
		}
		want(t, e.EP.Free())
		want(t, l.PSP.Free())
		want(t, ia.Close(udat.CloseAbrupt))
		if diff := cmp.Diff(before, udat.Living()); diff != "" {
			t.Errorf("alive before (-) and after (+): %s", diff)
		}
	})
}
