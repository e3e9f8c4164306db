package mpi

import (
	"errors"
	"reflect"
	"slices"
	"testing"

	"github.com/goudat/goudat/udat"
)

func TestHeader(t *testing.T) {
	for _, want := range []header{
		{kind: dataMessage, element: elementKind(reflect.Float64), payload: 16, flow: flow{3, 1<<32 - 1}, context: 5, tag: MaxTag, length: 16, number: 1 << 31, source: 77},
		{kind: offerMessage, element: elementKind(reflect.Int), payload: offerSize, context: 1<<32 - 1, length: 1 << 31},
		{kind: takenMessage, payload: takenSize},
		{kind: skipMessage},
	} {
		b := make([]byte, ringSpace(int(want.payload)))
		want.put(b)
		for i := range int(want.payload) {
			b[headerSize+i] = byte(i)
		}
		var got header
		payload, err := parseMessage(b, &got)
		if err != nil || got != want || !slices.Equal(payload, b[headerSize:][:want.payload]) {
			t.Errorf("got %+v, %q, %v, want %+v", got, payload, err, want)
		}
	}
}

func TestOffer(t *testing.T) {
	memory := udat.RMRTriplet{VirtualAddress: 1 << 40, SegmentLength: 16, RMRContext: 99}
	var b [offerSize]byte
	putOffer(b[:], 1<<31+1, memory)
	if number, got, err := parseOffer(b[:]); err != nil || number != 1<<31+1 || got != memory {
		t.Errorf("got %d, %+v, %v", number, got, err)
	}
}

func TestMalformed(t *testing.T) {
	text := func(h header, behind int) []byte {
		b := make([]byte, headerSize+behind)
		h.put(b)
		return b
	}
	int32Kind := elementKind(reflect.Int32)
	for name, b := range map[string][]byte{
		"nothing":             nil,
		"half a header":       make([]byte, headerSize/2),
		"fewer bytes":         text(header{kind: dataMessage, element: int32Kind, length: 8, payload: 8}, 7),
		"another length":      text(header{kind: dataMessage, element: int32Kind, length: 8, payload: 4}, 8),
		"one number and half": text(header{kind: dataMessage, element: int32Kind, length: 6, payload: 6}, 8),
		"another kind":        text(header{kind: 77}, 0),
		"no kind":             text(header{}, 0),
		"no numbers":          text(header{kind: dataMessage, element: elementKind(reflect.String), length: 8, payload: 8}, 8),
		"an unknown element":  text(header{kind: dataMessage, element: 255, length: 8, payload: 8}, 8),
		"half an offer":       text(header{kind: offerMessage, element: int32Kind, length: 8, payload: offerSize - 1}, offerSize),
		"nothing taken":       text(header{kind: takenMessage}, 4),
	} {
		if _, err := parseMessage(b, new(header)); !errors.Is(err, errMalformed) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
