package udattest

import (
	"errors"
	"os"
	"sync/atomic"
	"testing"

	"github.com/goudat/goudat/udat"
)

// Endpoint is an endpoint with event dispatchers and memory of its own.
type Endpoint struct {
	*udat.EP
	IA      *udat.IA
	PZ      *udat.PZ
	Recv    *udat.EVD
	Request *udat.EVD
	Connect *udat.EVD
	// Memory is registered with all privileges.
	Memory *udat.LMR
}

const (
	queueLength = 256
	memorySize  = 64 << 10
)

// NewEndpoint makes an unconnected endpoint. attr may be nil for the provider's
// defaults. All is freed when the test ends.
func NewEndpoint(t testing.TB, ia *udat.IA, attr *udat.EPAttr) *Endpoint {
	t.Helper()
	e := &Endpoint{IA: ia}
	e.PZ = made(t, func() (*udat.PZ, error) { return udat.CreatePZ(ia) })
	e.Recv = newEVD(t, ia, udat.EVDDTO)
	e.Request = newEVD(t, ia, udat.EVDDTO)
	e.Connect = newEVD(t, ia, udat.EVDConnection)
	e.Memory = made(t, func() (*udat.LMR, error) { return udat.AllocMemory(e.PZ, memorySize, udat.MemPrivAll) })
	e.EP = made(t, func() (*udat.EP, error) {
		return udat.CreateEP(ia, e.PZ, e.Recv, e.Request, e.Connect, attr)
	})
	return e
}

func newEVD(t testing.TB, ia *udat.IA, flags udat.EVDFlags) *udat.EVD {
	t.Helper()
	return made(t, func() (*udat.EVD, error) { return udat.CreateEVD(ia, queueLength, flags) })
}

type object interface{ Free() error }

// made makes an object and frees it when the test ends, unless the test has.
func made[T object](t testing.TB, make func() (T, error)) T {
	t.Helper()
	o, err := make()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { free(t, o) })
	return o
}

func free(t testing.TB, o object) {
	t.Helper()
	if err := o.Free(); err != nil && !errors.Is(err, udat.ErrClosed) {
		t.Error(err)
	}
}

// Segment gives a piece of the endpoint's memory.
func (e *Endpoint) Segment(t testing.TB, offset, length int) udat.Segment {
	t.Helper()
	s, err := e.Memory.Segment(offset, length)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

var qualifiers atomic.Uint64

// ConnQual gives a connection qualifier that no other test of the process uses,
// and hardly one of another process.
func ConnQual() udat.ConnQual {
	const first, span = 20000, 20000
	return udat.ConnQual(first + (uint64(os.Getpid())*64+qualifiers.Add(1))%span)
}

// Listener is a service point with an event dispatcher of its own.
type Listener struct {
	*udat.PSP
	Requests *udat.EVD
	ConnQual udat.ConnQual
}

// Listen makes a service point, which is freed when the test ends.
func Listen(t testing.TB, ia *udat.IA) *Listener {
	t.Helper()
	l := &Listener{Requests: newEVD(t, ia, udat.EVDCR), ConnQual: ConnQual()}
	l.PSP = made(t, func() (*udat.PSP, error) { return udat.CreatePSP(ia, l.ConnQual, l.Requests) })
	return l
}

// Pair makes two endpoints on an adapter that are connected with each other.
func Pair(t testing.TB, ia *udat.IA, attr *udat.EPAttr) (active, passive *Endpoint) {
	t.Helper()
	listener := Listen(t, ia)
	active, passive = NewEndpoint(t, ia, attr), NewEndpoint(t, ia, attr)
	ConnectPair(t, listener, active, passive)
	return active, passive
}

// ConnectPair connects two unconnected endpoints through a listener.
func ConnectPair(t testing.TB, listener *Listener, active, passive *Endpoint) {
	t.Helper()
	if err := active.EP.Connect(Address(t, active.IA), listener.ConnQual, Patience, nil); err != nil {
		t.Fatal(err)
	}
	request := Expect(t, listener.Requests, udat.EventConnectionRequest)
	if err := request.CR().Accept(passive.EP, nil); err != nil {
		t.Fatal(err)
	}
	Expect(t, active.Connect, udat.EventConnectionEstablished)
	Expect(t, passive.Connect, udat.EventConnectionEstablished)
}
