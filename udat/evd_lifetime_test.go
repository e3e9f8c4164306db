package udat_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/udattest"
)

// evdCalls are calls on an EVD and on a CNO that are the same whatever they are.
func evdCalls(ia *udat.IA, evd *udat.EVD, cno *udat.CNO) map[string]func() error {
	ctx := context.Background()
	events := make([]udat.Event, 1)
	return map[string]func() error{
		"EVD.PostSE":          func() error { return evd.PostSE(1) },
		"EVD.Poll":            func() error { return second(evd.Poll(events)) },
		"EVD.SpinPoll":        func() error { return second(evd.SpinPoll(events, time.Millisecond)) },
		"EVD.WaitBatch":       func() error { return second(evd.WaitBatch(ctx, events, 1)) },
		"EVD.Enable":          evd.Enable,
		"EVD.Disable":         evd.Disable,
		"EVD.SetUnwaitable":   evd.SetUnwaitable,
		"EVD.ClearUnwaitable": evd.ClearUnwaitable,
		"EVD.Resize":          func() error { return evd.Resize(9) },
		"EVD.ModifyCNO":       func() error { return evd.ModifyCNO(nil) },
		"EVD.ModifyCNO to it": func() error { return evd.ModifyCNO(cno) },
		"EVD.Events": func() (err error) {
			for _, err = range evd.Events(ctx) {
			}
			return err
		},
		"CreateCNO":       func() error { return second(udat.CreateCNO(ia, nil)) },
		"CNO.Free":        cno.Free,
		"CNO.Wait":        func() error { return second(cno.Wait(ctx)) },
		"CNO.Query":       func() error { return second(cno.Query()) },
		"CNO.ModifyAgent": func() error { return cno.ModifyAgent(func(*udat.EVD) {}) },
	}
}

func TestNilAndZeroEVDs(t *testing.T) {
	for name, calls := range map[string]map[string]func() error{
		"nil":  evdCalls(nil, nil, nil),
		"zero": evdCalls(&udat.IA{}, &udat.EVD{}, &udat.CNO{}),
	} {
		for call, f := range calls {
			t.Run(name+" "+call, func(t *testing.T) { want(t, f(), udat.ErrInvalidHandle) })
		}
	}
}

func TestUseOfFreedEVDs(t *testing.T) {
	for _, name := range udattest.Names(t) {
		t.Run(name, func(t *testing.T) {
			ia, err := udat.Open(name)
			if err != nil {
				t.Fatal(err)
			}
			evd, err := udat.CreateEVD(ia, 8, udat.EVDSoftware)
			want(t, err)
			cno, err := udat.CreateCNO(ia, nil)
			want(t, err)
			want(t, evd.ModifyCNO(cno))
			want(t, ia.Close(udat.CloseAbrupt))
			for name, call := range evdCalls(ia, evd, cno) {
				t.Run(name, func(t *testing.T) { want(t, call(), udat.ErrClosed, udat.ErrInvalidHandle) })
			}
		})
	}
}

// EVDs and CNOs are freed while all that can be done with them goes on.
func TestFreeEVDsConcurrently(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		for range 10 {
			evd, other := createEVD(t, ia, 8, udat.EVDSoftware), createEVD(t, ia, 8, udat.EVDDTO|udat.EVDSoftware)
			cno := createCNO(t, ia, nil, evd, other)
			ended := make(chan struct{})
			calls := 0
			for _, e := range []*udat.EVD{evd, other} {
				for name, call := range evdCalls(ia, e, cno) {
					if name == "CNO.Free" || name == "CreateCNO" {
						continue
					}
					calls++
					go func() {
						for !errors.Is(call(), udat.ErrClosed) {
						}
						ended <- struct{}{}
					}()
				}
			}
			for _, e := range []*udat.EVD{evd, other} {
				want(t, e.Free())
			}
			want(t, cno.Free())
			for range calls {
				receive(t, ended)
			}
		}
	})
}
