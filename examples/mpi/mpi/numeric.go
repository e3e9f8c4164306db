package mpi

import (
	"reflect"
	"unsafe"
)

// Real is any kind of number that has an order.
type Real interface {
	~int | ~int8 | ~int16 | ~int32 | ~int64 |
		~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~uintptr |
		~float32 | ~float64
}

// Number is any kind of number.
type Number interface {
	Real | ~complex64 | ~complex128
}

// data is the memory of a slice of numbers.
type data struct {
	bytes []byte
	kind  reflect.Kind
	size  int // bytes of a number
}

func dataOf[T Number](numbers []T) data {
	size := int(unsafe.Sizeof(*new(T)))
	first := (*byte)(unsafe.Pointer(unsafe.SliceData(numbers)))
	return data{bytes: unsafe.Slice(first, len(numbers)*size), kind: reflect.TypeFor[T]().Kind(), size: size}
}

// sizes has the bytes of each kind of number.
var sizes = map[reflect.Kind]int{}

func init() {
	for _, number := range []any{
		int(0), int8(0), int16(0), int32(0), int64(0),
		uint(0), uint8(0), uint16(0), uint32(0), uint64(0), uintptr(0),
		float32(0), float64(0), complex64(0), complex128(0),
	} {
		t := reflect.TypeOf(number)
		sizes[t.Kind()] = int(t.Size())
	}
}
