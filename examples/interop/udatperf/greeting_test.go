package main

import (
	"bytes"
	"testing"
)

func TestGreeting(t *testing.T) {
	for _, want := range []greeting{
		{session: 1<<63 + 5, data: true, shape: shape{largest: maxSize, window: maxWindow}},
		{session: 7, shape: shape{largest: atomicSize, window: 1, wait: true}},
	} {
		got, err := parseGreeting(append(want.bytes(), make([]byte, 20)...)) // padded, as by a provider
		if err != nil || got != want {
			t.Errorf("%+v arrives as %+v: %v", want, got, err)
		}
		if n := len(want.bytes()); n != greetingSize {
			t.Errorf("a greeting has %d bytes, not %d", n, greetingSize)
		}
	}
	good := greeting{shape: shape{largest: 64, window: 4}}.bytes()
	for n := range good {
		if _, err := parseGreeting(good[:n]); err != errGreeting {
			t.Errorf("a greeting of %d bytes: %v", n, err)
		}
	}
	for _, bad := range []shape{{atomicSize - 1, 1, false}, {maxSize + 1, 1, false}, {64, 0, false}, {64, maxWindow + 1, false}} {
		if _, err := parseGreeting(greeting{shape: bad}.bytes()); err != errGreeting {
			t.Errorf("a greeting with %+v: %v", bad, err)
		}
	}
	other := bytes.Clone(good)
	other[0]++
	if _, err := parseGreeting(other); err != errGreeting {
		t.Errorf("a greeting of somebody else: %v", err)
	}
}
