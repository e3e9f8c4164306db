package main

import "testing"

func TestContents(t *testing.T) {
	c := contents{step: step{Operation: opWrite, Size: 600}}
	b := make([]byte, 600)
	if c.check(b, -1) == nil {
		t.Error("cleared memory passes")
	}
	c.write(b)
	if err := c.check(b, -1); err != nil {
		t.Error(err)
	}
	for i, v := range b {
		if v == 0 {
			t.Fatalf("byte %d is 0", i)
		}
	}
	for _, i := range []int{0, 300, 599} {
		b[i] ^= 1
		if c.check(b, -1) == nil {
			t.Errorf("a change of byte %d goes unnoticed", i)
		}
		b[i] ^= 1
	}
	b[599] = 42
	if err := c.check(b, 42); err != nil {
		t.Errorf("with a count at the end: %v", err)
	}
	if c.check(b, 43) == nil {
		t.Error("another count passes")
	}
	c.write(b)
	for _, other := range []contents{
		{c.step, true}, {step{Operation: opRead, Size: 600}, false},
		{step{Operation: opWrite, Measure: measureBandwidth, Size: 600}, false}, {step{Operation: opWrite, Size: 601}, false},
	} {
		if other.check(b, -1) == nil {
			t.Errorf("%+v passes for %+v", c, other)
		}
	}
}
