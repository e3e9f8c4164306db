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

// size returns the size of a number in bytes, 0 if the kind is no kind of number. Words have 64 bits.
func (k elementKind) size() int {
	switch reflect.Kind(k) {
	case reflect.Int8, reflect.Uint8:
		return 1
	case reflect.Int16, reflect.Uint16:
		return 2
	case reflect.Int32, reflect.Uint32, reflect.Float32:
		return 4
	case reflect.Int, reflect.Uint, reflect.Int64, reflect.Uint64, reflect.Uintptr, reflect.Float64, reflect.Complex64:
		return 8
	case reflect.Complex128:
		return 16
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
