package main

import "fmt"

// contents is the content of one side's memory for a step. No byte is 0, so that every byte differs from cleared
// memory.
type contents struct {
	step       step
	fromServer bool
}

func (c contents) byteAt(i int) byte {
	x := uint(i)*7 + uint(i>>8)*3 + uint(c.step.Size)*5 + uint(c.step.Operation)*29 + uint(c.step.Measure)*53
	if c.fromServer {
		x += 101
	}
	return byte(x%255) + 1
}

func (c contents) write(b []byte) {
	for i := range b {
		b[i] = c.byteAt(i)
	}
}

// check compares memory with the contents. If last is not negative, the last byte must be last: it counts messages.
func (c contents) check(b []byte, last int) error {
	for i := range b {
		want := c.byteAt(i)
		if last >= 0 && i == len(b)-1 {
			want = byte(last)
		}
		if b[i] != want {
			return fmt.Errorf("%v: byte %d is 0x%02x, expected 0x%02x", c.step, i, b[i], want)
		}
	}
	return nil
}
