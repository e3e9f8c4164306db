package udat_test

import (
	"bytes"
	"fmt"
	"net/netip"
	"testing"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/udattest"
)

var loopback = netip.MustParseAddr("127.0.0.1")

func fill(b []byte, seed byte) {
	for i := range b {
		b[i] = byte(i)*7 + seed
	}
}

func TestSendReceive(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		active, passive := udattest.Pair(t, ia, nil)
		for i, size := range []int{0, 1, 64, 65, 4096, 4097, 32 << 10} {
			cookie := uint64(i) | 0xabcdef<<32
			fill(active.Memory.Bytes()[:size], byte(i))
			want(t, passive.PostRecv(one(passive.Segment(t, 0, size)), cookie, 0))
			want(t, active.PostSend(one(active.Segment(t, 0, size)), cookie+1, 0))
			sent := udattest.Expect(t, active.Request, udat.EventDTOCompletion)
			got := udattest.Expect(t, passive.Recv, udat.EventDTOCompletion)
			expected := fmt.Sprint(udat.DTOSend, cookie+1, udat.DTOSuccess, size)
			if s := fmt.Sprint(sent.Operation, sent.Cookie, sent.Status, sent.Length); s != expected || sent.EP() != active.EP {
				t.Errorf("send of %d bytes completed as %s, want %s", size, s, expected)
			}
			expected = fmt.Sprint(udat.DTOReceive, cookie, udat.DTOSuccess, size)
			if s := fmt.Sprint(got.Operation, got.Cookie, got.Status, got.Length); s != expected || got.EP() != passive.EP {
				t.Errorf("receive of %d bytes completed as %s, want %s", size, s, expected)
			}
			if !bytes.Equal(active.Memory.Bytes()[:size], passive.Memory.Bytes()[:size]) {
				t.Errorf("message of %d bytes arrived changed", size)
			}
		}
	})
}
