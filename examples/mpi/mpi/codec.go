package mpi

import (
	"encoding/binary"
	"errors"
	"fmt"
	"reflect"
)

// ErrCodec says that values could not be encoded or decoded.
var ErrCodec = errors.New("mpi: the codec failed")

// Codec encodes values other than numbers as bytes for messages, and decodes them.
type Codec[V any] interface {
	// Append appends the encoding of a value to b.
	Append(b []byte, v V) ([]byte, error)
	// Parse decodes the value at the beginning of b, and returns it and the rest of b.
	Parse(b []byte) (v V, rest []byte, err error)
}

// Fixed returns a codec for structs and arrays of numbers and bools, which may be nested. It panics for other types.
// Fields are encoded one after another, in the little-endian order of package encoding/binary.
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
		return v, nil, fmt.Errorf("%d bytes are left, but a value has %d", len(b), int(f))
	}
	_, err = binary.Decode(b, binary.LittleEndian, &v)
	return v, b[f:], err
}

// Encode returns values as bytes, which any operation can send.
func Encode[V any](codec Codec[V], values ...V) (b []byte, err error) {
	for _, v := range values {
		if b, err = codec.Append(b, v); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrCodec, err)
		}
	}
	return b, nil
}

// Decode returns the values that Encode has made bytes of.
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

// SendValues is Send for values.
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

// RecvValues is Recv for values. It receives any number of them. It fails with ErrType for a message of numbers.
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

// receiveAll receives the bytes of a message of values, however long it is.
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

// encoded returns the data of encoded values.
func encoded(b []byte) data { return data{bytes: b, kind: valueKind} }
