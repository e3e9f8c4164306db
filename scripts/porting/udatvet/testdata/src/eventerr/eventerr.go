package eventerr

import (
	"context"

	"github.com/goudat/goudat/udat"
)

func bad(ctx context.Context, evd *udat.EVD, done map[uint64]bool) error {
	event, err := evd.Wait(ctx) // want `the Cookie of event is used, and nobody looks at event.Err\(\)`
	if err != nil {
		return err
	}
	done[event.Cookie] = true
	for event, err := range evd.Events(ctx) { // want `the Length of event is used`
		if err == nil {
			println(event.Length)
		}
	}
	events := make([]udat.Event, 8)
	n, err := evd.Poll(events)
	for _, e := range events[:n] { // want `the EP of e is used`
		println(e.EP())
	}
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
