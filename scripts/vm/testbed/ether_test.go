package main

import (
	"bytes"
	"io"
	"net"
	"testing"
	"time"
)

// plug returns a machine's end of the wire, for a test.
func plug(t *testing.T, e *ether, rank int) net.Conn {
	t.Helper()
	end, err := e.plug(rank)
	check(t, err)
	conn, err := net.FileConn(end)
	check(t, err)
	end.Close()
	t.Cleanup(func() { conn.Close() })
	return conn
}

func ethernet(to, from byte, content string) []byte {
	frame := append([]byte{2, 0, 10, 77, 0, to, 2, 0, 10, 77, 0, from, 8, 0}, content...)
	if to == everybody {
		copy(frame, "\xff\xff\xff\xff\xff\xff")
	}
	return frame
}

const everybody = 0xff

func TestEther(t *testing.T) {
	e := newEther(3)
	var plugs []net.Conn
	for rank := range 3 {
		plugs = append(plugs, plug(t, e, rank))
	}
	send := func(from int, frame []byte) {
		t.Helper()
		if _, err := plugs[from].Write(frame); err != nil {
			t.Fatal(err)
		}
	}
	receives := func(at int, want []byte) {
		t.Helper()
		plugs[at].SetReadDeadline(time.Now().Add(time.Minute))
		got := make([]byte, len(want))
		if _, err := io.ReadFull(plugs[at], got); err != nil || !bytes.Equal(got, want) {
			t.Fatalf("machine %d gets %q, %v, want %q", at, got, err, want)
		}
	}
	// A machine receives frames in order: this one shows that nothing came before it.
	send(0, ethernet(everybody, 1, "hello"))
	receives(1, ethernet(everybody, 1, "hello"))
	receives(2, ethernet(everybody, 1, "hello"))
	send(1, ethernet(1, 2, "only for the first"))
	receives(0, ethernet(1, 2, "only for the first"))
	send(0, ethernet(2, 1, "only for the second"))
	receives(1, ethernet(2, 1, "only for the second"))

	e.setCut(1, true)
	send(0, ethernet(everybody, 1, "not for the second"))
	receives(2, ethernet(everybody, 1, "not for the second"))
	e.forward(1, ethernet(everybody, 2, "lost")) // the next frames show that it did not arrive
	e.setCut(1, false)
	send(1, ethernet(everybody, 2, "back"))
	receives(2, ethernet(everybody, 2, "back"))
	receives(0, ethernet(everybody, 2, "back"))

	// A machine that is booted again has a new cable, without frames from before.
	plug(t, e, 1)
	send(0, ethernet(everybody, 1, "for the first boot"))
	receives(2, ethernet(everybody, 1, "for the first boot"))
	plugs[1] = plug(t, e, 1)
	send(0, ethernet(everybody, 1, "for the second boot"))
	receives(1, ethernet(everybody, 1, "for the second boot"))
	send(1, ethernet(1, 2, "up"))
	receives(0, ethernet(1, 2, "up"))

	// A machine that takes nothing, or is gone, holds up nobody.
	plugs[1].Close()
	for range queueLength + 1000 {
		send(0, ethernet(everybody, 1, "more"))
	}
	send(2, ethernet(1, 3, "still here"))
	receives(0, ethernet(1, 3, "still here"))
}
