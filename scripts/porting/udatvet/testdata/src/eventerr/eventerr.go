package eventerr

import (
	"context"

	"github.com/goudat/goudat/udat"
)

func bad(ctx context.Context, evd *udat.EVD, done map[uint64]bool) error {
	event, err := evd.Wait(ctx)
	if err != nil {
		return err
	}
	done[event.Cookie] = true // want `the Cookie of event is used, and nobody looks at event.Err\(\)`
	for event, err := range evd.Events(ctx) {
		if err == nil {
			println(event.Length) // want `the Length of event is used`
		}
	}
	events := make([]udat.Event, 8)
	n, err := evd.Poll(events)
	for _, e := range events[:n] {
		println(e.EP()) // want `the EP of e is used`
	}
	var declared, failed = evd.Wait(ctx)
	println(declared.Cookie, failed) // want `the Cookie of declared is used`
	passed := must(evd.Wait(ctx))
	println(passed.Cookie) // want `the Cookie of passed is used`
	indexed := make([]udat.Event, 8)
	n, err = evd.Poll(indexed)
	for i := range n {
		println(indexed[i].Cookie, len(indexed)) // want `the Cookie of indexed\[i\] is used`
	}
	return err
}

func must[T any](value T, err error) T { return value }

func slices(ctx context.Context, ia *udat.IA, evd *udat.EVD) error {
	twice := make([]udat.Event, 8)
	n, err := evd.Poll(twice)
	for _, e := range twice[:n] {
		if err := e.Err(); err != nil {
			return err
		}
	}
	for _, e := range twice[:n] {
		println(e.Cookie, twice[0].Cookie)
	}
	indexed := make([]udat.Event, 8)
	n, err = evd.Poll(indexed)
	for i := range n {
		if indexed[i].Err() == nil {
			println(indexed[i].Cookie)
		}
	}
	for _, e := range indexed[:n] {
		println(e.Cookie)
	}
	passed := make([]udat.Event, 8)
	n, err = evd.Poll(passed)
	println(count(passed[:n]))
	for _, e := range passed[:n] {
		println(e.Cookie, passed[0].Cookie)
	}
	one := make([]udat.Event, 1)
	_, err = evd.Poll(one)
	look(one[0])
	println(one[0].Cookie)
	kept := make([]udat.Event, 1)
	_, err = evd.Poll(kept)
	all := make([]udat.Event, 1)
	all[0] = kept[0]
	println(kept[0].Cookie)
	copied := make([]udat.Event, 8)
	n, err = evd.Poll(copied)
	done := copied[:n]
	for _, e := range done {
		println(e.Err())
	}
	for _, e := range copied[:n] {
		println(e.Cookie)
	}

	software, err := udat.CreateEVD(ia, 8, nil, udat.EVDSoftware)
	posted, err := software.Wait(ctx)
	println(posted.Cookie)
	return err
}

func good(ctx context.Context, evd *udat.EVD, done map[uint64]bool) error {
	event, err := evd.Wait(ctx)
	if err != nil {
		return err
	}
	if err := event.Err(); err != nil {
		return err
	}
	done[event.Cookie] = true

	event, err = evd.Dequeue()
	done[event.Cookie] = err == nil && event.Status == 0

	passed, _ := evd.Wait(ctx)
	println(passed.Length)
	look(passed)

	number, _ := evd.Wait(ctx)
	if number.Number == 3 {
		println(number.EP())
	}
	request, _ := evd.Wait(ctx)
	println(request.CR(), request.EP())

	expected, err := evd.Expect(ctx, 7) // has the error of another event
	println(expected.Length)
	helped, err := help(ctx, evd)
	println(helped.Length)
	_, err = evd.Wait(ctx) // dropped on purpose
	return err
}

// The events were looked at by whoever took them.
func count(events []udat.Event) (sum uint32) {
	for _, event := range events {
		sum += event.Length
	}
	return sum
}

func help(ctx context.Context, evd *udat.EVD) (udat.Event, error) {
	event, err := evd.Wait(ctx)
	if err == nil {
		err = event.Err()
	}
	return event, err
}

func look(event udat.Event) { println(event.Err()) }
