package main

import (
	"fmt"
	"slices"
	"strings"
)

// operation is a kind of data transfer.
type operation int

const (
	opSend operation = iota
	opWrite
	opRead
	opFetchAdd
	opCmpSwap
)

var operationNames = []string{"send", "write", "read", "fetch-add", "compare-swap"}

// String returns the name that the flag -op takes.
func (o operation) String() string { return nameOf(operationNames, int(o), "operation") }

// MarshalText returns the name, for JSON and CSV.
func (o operation) MarshalText() ([]byte, error) { return []byte(o.String()), nil }

// UnmarshalText parses a name that String returns.
func (o *operation) UnmarshalText(text []byte) error {
	i, err := indexOf(operationNames, string(text))
	*o = operation(i)
	return err
}

// atomic reports whether the operation always has 8 bytes.
func (o operation) atomic() bool { return o == opFetchAdd || o == opCmpSwap }

// atomicSize is the number of bytes of an atomic operation.
const atomicSize = 8

// measure is a kind of measurement.
type measure int

const (
	measureLatency measure = iota
	measureBandwidth
)

var measureNames = []string{"latency", "bandwidth"}

// String returns the name that the flag -measure takes.
func (m measure) String() string { return nameOf(measureNames, int(m), "measure") }

// MarshalText returns the name, for JSON and CSV.
func (m measure) MarshalText() ([]byte, error) { return []byte(m.String()), nil }

// UnmarshalText parses a name that String returns.
func (m *measure) UnmarshalText(text []byte) error {
	i, err := indexOf(measureNames, string(text))
	*m = measure(i)
	return err
}

func nameOf(names []string, i int, kind string) string {
	if i < 0 || i >= len(names) {
		return fmt.Sprintf("%s(%d)", kind, i)
	}
	return names[i]
}

func indexOf(names []string, name string) (int, error) {
	i := slices.Index(names, name)
	if i < 0 {
		return 0, fmt.Errorf("%q is not one of %s", name, strings.Join(names, ", "))
	}
	return i, nil
}

// step is one measurement: one operation with one size.
type step struct {
	Operation operation
	Measure   measure
	Size      int // bytes of a message
	Warmup    int // operations before the measured ones
	Count     int // measured operations
}

func (s step) String() string {
	return fmt.Sprintf("%v %v of %d bytes", s.Operation, s.Measure, s.Size)
}

// total returns the number of operations that the peer sees.
func (s step) total() int { return s.Warmup + s.Count }

const (
	maxSize   = 16 << 20 // bytes
	maxSizes  = 64
	maxCount  = 10_000_000 // one sample for each
	maxWindow = 1024
)

// check refuses invalid steps from a client.
func (s step) check(largest int) error {
	switch {
	case s.Operation < opSend || s.Operation > opCmpSwap,
		s.Measure < measureLatency || s.Measure > measureBandwidth,
		s.Size < 1 || s.Size > largest,
		s.Operation.atomic() && s.Size != atomicSize,
		s.Count < 1 || s.Count > maxCount,
		s.Warmup < 0 || s.Warmup > maxCount:
		return fmt.Errorf("no such measurement: %+v", s)
	}
	return nil
}

// steps lists the measurements, in order. Atomic operations have one size.
func (s settings) steps() []step {
	var steps []step
	for _, o := range s.operations {
		sizes := s.sizes
		if o.atomic() {
			sizes = []int{atomicSize}
		}
		for _, m := range s.measures {
			for _, size := range sizes {
				steps = append(steps, step{o, m, size, s.warmup, s.count})
			}
		}
	}
	return steps
}
