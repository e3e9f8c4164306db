package mpi

import (
	"reflect"
	"unsafe"
)

// Real is any kind of ordered number.
type Real interface {
	~int | ~int8 | ~int16 | ~int32 | ~int64 |
		~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~uintptr |
		~float32 | ~float64
}

// Number is any kind of number.
type Number interface {
	Real | ~complex64 | ~complex128
}

// elementKind is the kind of the numbers of a message.
type elementKind reflect.Kind

func (k elementKind) String() string { return reflect.Kind(k).String() }

// size returns the size of a number in bytes, 0 if the kind is no kind of number.
func (k elementKind) size() int {
	if int(k) < len(sizes) {
		return int(sizes[k])
	}
	return 0
}

// data is the memory of a slice of numbers.
type data struct {
	bytes []byte
	kind  elementKind
}

func dataOf[T Number](numbers []T) data {
	size := int(unsafe.Sizeof(*new(T)))
	first := (*byte)(unsafe.Pointer(unsafe.SliceData(numbers)))
	return data{bytes: unsafe.Slice(first, len(numbers)*size), kind: elementKind(reflect.TypeFor[T]().Kind())}
}

// count returns how many numbers there are.
func (d data) count() int { return len(d.bytes) / max(d.kind.size(), 1) }

// sizes has the size of each kind of number in bytes.
var sizes [reflect.UnsafePointer + 1]uint8 // by kind

func init() {
	for _, number := range []any{
		int(0), int8(0), int16(0), int32(0), int64(0),
		uint(0), uint8(0), uint16(0), uint32(0), uint64(0), uintptr(0),
		float32(0), float64(0), complex64(0), complex128(0),
	} {
		t := reflect.TypeOf(number)
		sizes[t.Kind()] = uint8(t.Size())
	}
}
