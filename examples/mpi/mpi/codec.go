package mpi

import (
	"encoding/binary"
	"errors"
	"fmt"
	"reflect"
)

// ErrCodec says that values could not be made bytes, or bytes values.
var ErrCodec = errors.New("mpi: the codec failed")

// Codec makes values that are no numbers bytes, for messages, and bytes values.
type Codec[V any] interface {
	// Append adds a value to b.
	Append(b []byte, v V) ([]byte, error)
	// Parse returns the value that b begins with, and what is behind it.
	Parse(b []byte) (v V, rest []byte, err error)
}

// Fixed returns a codec for structs, and arrays, of numbers and bools, nested at
// will. It panics if V is anything else. Fields travel one behind the other, in
// the order of their bytes that package encoding/binary calls little endian.
func Fixed[V any]() Codec[V] {
	size := binary.Size(*new(V))
	if size < 0 || reflect.TypeFor[V]().Kind() == reflect.Slice {
		panic(fmt.Sprintf("mpi: %v has no fixed size", reflect.TypeFor[V]()))
	}
	return fixed[V](size)
}

type fixed[V any] int

func (f fixed[V]) Append(b []byte, v V) ([]byte, error) {
	return binary.Append(b, binary.LittleEndian, &v)
}

func (f fixed[V]) Parse(b []byte) (v V, rest []byte, err error) {
	if len(b) < int(f) {
		return v, nil, fmt.Errorf("%d bytes are left, and a value has %d", len(b), int(f))
	}
	_, err = binary.Decode(b, binary.LittleEndian, &v)
	return v, b[f:], err
}

// Encode makes values bytes, which any operation takes.
func Encode[V any](codec Codec[V], values ...V) (b []byte, err error) {
	for _, v := range values {
		if b, err = codec.Append(b, v); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrCodec, err)
		}
	}
	return b, nil
}

// Decode makes bytes values.
func Decode[V any](codec Codec[V], b []byte) (values []V, err error) {
	for len(b) > 0 {
		v, rest, err := codec.Parse(b)
		if err == nil && len(rest) >= len(b) {
			err = errors.New("a value took no bytes")
		}
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrCodec, err)
		}
		values, b = append(values, v), rest
	}
	return values, nil
}

// SendValues is a Send of values.
func SendValues[V any](c *Comm, codec Codec[V], values []V, dest, tag int) error {
	if err := c.checkSend(dest, tag); err != nil {
		return err
	}
	b, err := Encode(codec, values...)
	if err != nil {
		return err
	}
	_, err = c.isend(c.userContext(), encoded(b), dest, tag).Wait()
	return err
}

// RecvValues is a Recv of values, however many there are. It fails with ErrType
// for a message of numbers.
func RecvValues[V any](c *Comm, codec Codec[V], source, tag int) ([]V, Status, error) {
	if err := c.checkReceive(source, tag); err != nil {
		return nil, Status{}, err
	}
	b, status, err := c.receiveAll(source, tag)
	if err != nil {
		return nil, status, err
	}
	values, err := Decode(codec, b)
	status.Count = len(values)
	return values, status, err
}

// receiveAll receives the bytes of a message of values.
func (c *Comm) receiveAll(source, tag int) ([]byte, Status, error) {
	w := c.world
	w.mu.Lock()
	defer w.mu.Unlock()
	var status Status
	if err := w.await(func() (there bool) {
		status, there = c.probe(source, tag)
		return there
	}); err != nil {
		return nil, Status{}, err
	}
	r := w.receive()
	defer w.reuse(r)
	b := make([]byte, status.Count)
	c.post(r, c.userContext(), encoded(b), status.Source, status.Tag)
	status, err := r.request.wait()
	return b, status, err
}

// encoded is the data of values.
func encoded(b []byte) data { return data{bytes: b, kind: valueKind} }
