// Package udat stands in for the real one in the tests of udatvet: the same names, which do nothing.
package udat

import (
	"context"
	"iter"
)

type (
	IA              struct{}
	CNO             struct{}
	PZ              struct{}
	EP              struct{}
	EVD             struct{}
	CR              struct{}
	LMR             struct{}
	Segment         struct{}
	MemPriv         uint32
	CloseFlags      uint32
	CompletionFlags uint32
	EventNumber     uint32
	DTOStatus       uint32
	EVDFlags        uint32
)

const EVDSoftware EVDFlags = 1

type Event struct {
	Number EventNumber
	Status DTOStatus
	Length uint32
	Cookie uint64
}

type Post struct {
	Segments []Segment
	Cookie   uint64
}

func (e Event) Err() error { return nil }
func (e Event) EP() *EP    { return nil }
func (e Event) CR() *CR    { return nil }

func Open(name string) (*IA, error)                                          { return nil, nil }
func CreateEVD(ia *IA, minQLen int, cno *CNO, flags EVDFlags) (*EVD, error)  { return nil, nil }
func CreatePZ(ia *IA) (*PZ, error)                                           { return nil, nil }
func RegisterMemory(pz *PZ, memory []byte, privileges MemPriv) (*LMR, error) { return nil, nil }
func AllocMemory(pz *PZ, size int, privileges MemPriv) (*LMR, error)         { return nil, nil }

func (*IA) Close(flags CloseFlags) error { return nil }
func (*IA) Name() string                 { return "" }
func (*PZ) Free() error                  { return nil }
func (*PZ) Query() error                 { return nil }

func (*LMR) Free() error                                 { return nil }
func (*LMR) Bytes() []byte                               { return nil }
func (*LMR) Segment(offset, length int) (Segment, error) { return Segment{}, nil }

func (*EP) Free() error                                                        { return nil }
func (*EP) PostSend(iov []Segment, cookie uint64, flags CompletionFlags) error { return nil }
func (*EP) PostBatch(batch []Post) (accepted int, err error)                   { return 0, nil }

func (*EP) Reset() error                                       { return nil }
func (*EP) Disconnect(flags CloseFlags) error                  { return nil }
func (*EP) ConnectAndWait(ctx context.Context) ([]byte, error) { return nil, nil }

func (*CR) Accept(ep *EP, data []byte) error { return nil }

func (*EVD) Free() error                                                               { return nil }
func (*EVD) Dequeue() (Event, error)                                                   { return Event{}, nil }
func (*EVD) Poll(events []Event) (int, error)                                          { return 0, nil }
func (*EVD) Wait(ctx context.Context) (Event, error)                                   { return Event{}, nil }
func (*EVD) WaitBatch(ctx context.Context, events []Event, threshold int) (int, error) { return 0, nil }
func (*EVD) Expect(ctx context.Context, number EventNumber) (Event, error)             { return Event{}, nil }
func (*EVD) Events(ctx context.Context) iter.Seq2[Event, error]                        { return nil }
