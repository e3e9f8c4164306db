package mpi

import (
	"errors"
	"reflect"
	"slices"
	"testing"

	"github.com/goudat/goudat/udat"
)

func TestHeader(t *testing.T) {
	memory := udat.RMRTriplet{VirtualAddress: 1 << 40, SegmentLength: 16, RMRContext: 99}
	for _, h := range []header{
		{kind: eagerMessage, element: reflect.Float64, credits: 3, context: 5, tag: MaxTag, length: 16},
		{kind: offerMessage, element: reflect.Int, context: 1<<32 - 1, offer: 8, length: 16, memory: memory},
		{kind: takenMessage, offer: 1 << 31},
		{kind: creditMessage, credits: 16},
	} {
		var payload []byte
		if h.kind == eagerMessage {
			payload = []byte("0123456789abcdef")
		}
		b := append(h.append(nil), payload...)
		got, gotPayload, err := parseMessage(b)
		if err != nil || got != h || !slices.Equal(gotPayload, payload) {
			t.Errorf("got %+v, %q, %v, want %+v", got, gotPayload, err, h)
		}
	}
}

func TestMalformed(t *testing.T) {
	numbers := header{kind: eagerMessage, element: reflect.Int32, length: 8}
	broken := header{kind: eagerMessage, element: reflect.Int32, length: 6}
	for name, b := range map[string][]byte{
		"nothing":             nil,
		"half a header":       numbers.append(nil)[:headerSize/2],
		"fewer bytes":         append(numbers.append(nil), 1, 2, 3),
		"one number and half": append(broken.append(nil), 1, 2, 3, 4, 5, 6),
		"another kind":        header{kind: 77}.append(nil),
		"no numbers":          header{kind: eagerMessage, element: reflect.String}.append(nil),
		"less memory":         header{kind: offerMessage, element: reflect.Int8, length: 3}.append(nil),
	} {
		if _, _, err := parseMessage(b); !errors.Is(err, errMalformed) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
