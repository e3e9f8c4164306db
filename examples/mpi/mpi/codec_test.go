package mpi

import (
	"errors"
	"fmt"
	"slices"
	"testing"
)

// particle is a typical struct of a program.
type particle struct {
	Place  [3]float64
	Number int32
	Alive  bool
}

// Codecs send any number of structs.
func TestValues(t *testing.T) { runRanks(t, 2, "values") }

func init() { tasks["values"] = valuesTask }

func valuesTask(w *World) error {
	codec := Fixed[particle]()
	peer := 1 - w.Rank()
	particles := func(n int) (all []particle) {
		for i := range n {
			all = append(all, particle{[3]float64{float64(i), -1, 0.5}, int32(i), i%2 == 0})
		}
		return all
	}
	for _, n := range []int{0, 1, 1000} {
		sent := make(chan error, 1)
		go func() { sent <- SendValues(w.Comm, codec, particles(n), peer, n) }()
		got, status, err := RecvValues(w.Comm, codec, AnySource, n)
		if err != nil || status != (Status{peer, n, n}) || !slices.Equal(got, particles(n)) {
			return fmt.Errorf("%d values: got %d, %+v, %w", n, len(got), status, err)
		}
		if err := <-sent; err != nil {
			return err
		}
	}
	if err := SendValues(w.Comm, codec, particles(1), peer, 1); err != nil {
		return err
	}
	if _, err := Recv(w.Comm, make([]uint8, 100), peer, 1); !errors.Is(err, ErrType) {
		return fmt.Errorf("values were received as numbers: %v", err)
	}
	if err := Send(w.Comm, []uint8{1, 2, 3}, peer, 1); err != nil {
		return err
	}
	if _, _, err := RecvValues(w.Comm, codec, peer, 1); !errors.Is(err, ErrType) {
		return fmt.Errorf("numbers were received as values: %v", err)
	}
	return nil
}

func TestCodec(t *testing.T) {
	codec := Fixed[particle]()
	want := []particle{{Number: 1}, {Alive: true, Place: [3]float64{1, 2, 3}}}
	b, err := Encode(codec, want...)
	if err != nil || len(b) != 2*29 {
		t.Fatalf("%d bytes, %v", len(b), err)
	}
	if got, err := Decode(codec, b); err != nil || !slices.Equal(got, want) {
		t.Errorf("got %v, %v", got, err)
	}
	if _, err := Decode(codec, b[:len(b)-1]); !errors.Is(err, ErrCodec) {
		t.Errorf("too few bytes: %v", err)
	}
	defer func() {
		if recover() == nil {
			t.Error("a codec for a type without a fixed size")
		}
	}()
	Fixed[struct{ Text string }]()
}
