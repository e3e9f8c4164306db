package udattest

import (
	"cmp"
	"errors"
	"os"
	"sync/atomic"
	"testing"

	"github.com/goudat/goudat/udat"
)

// Endpoint is an endpoint with its own event dispatchers and memory.
type Endpoint struct {
	*udat.EP
	IA      *udat.IA
	PZ      *udat.PZ
	Recv    *udat.EVD
	Request *udat.EVD
	Connect *udat.EVD
	Memory  *udat.LMR
}

// Options say how an endpoint is made.
type Options struct {
	Attr        *udat.EPAttr // the provider's defaults if nil
	QueueLength int          // of each event dispatcher, 256 if 0
	MemorySize  int          // in bytes, 64 KiB if 0
	Privileges  udat.MemPriv // of the memory, all if 0
}

const (
	queueLength = 256
	memorySize  = 64 << 10
)

// NewEndpoint makes an unconnected endpoint. attr may be nil for the provider's defaults. All
// objects are freed when the test ends.
func NewEndpoint(t testing.TB, ia *udat.IA, attr *udat.EPAttr) *Endpoint {
	t.Helper()
	return Options{Attr: attr}.NewEndpoint(t, ia)
}

// NewEndpoint makes an unconnected endpoint. All objects are freed when the test ends.
func (o Options) NewEndpoint(t testing.TB, ia *udat.IA) *Endpoint {
	t.Helper()
	o.QueueLength = cmp.Or(o.QueueLength, queueLength)
	o.MemorySize = cmp.Or(o.MemorySize, memorySize)
	o.Privileges = cmp.Or(o.Privileges, udat.MemPrivAll)
	e := &Endpoint{IA: ia}
	e.PZ = made(t, func() (*udat.PZ, error) { return udat.CreatePZ(ia) })
	e.Recv = newEVD(t, ia, o.QueueLength, udat.EVDDTO)
	e.Request = newEVD(t, ia, o.QueueLength, udat.EVDDTO)
	e.Connect = newEVD(t, ia, o.QueueLength, udat.EVDConnection)
	e.Memory = made(t, func() (*udat.LMR, error) { return udat.AllocMemory(e.PZ, o.MemorySize, o.Privileges) })
	e.EP = made(t, func() (*udat.EP, error) {
		return udat.CreateEP(ia, e.PZ, e.Recv, e.Request, e.Connect, o.Attr)
	})
	return e
}

// DefaultAttr returns the attributes that endpoints of the adapter have by
// default: see udat.IA.DefaultEPAttr.
func DefaultAttr(t testing.TB, ia *udat.IA) udat.EPAttr {
	t.Helper()
	return ia.DefaultEPAttr()
}

// Attr returns the attributes of the endpoint.
func (e *Endpoint) Attr(t testing.TB) udat.EPAttr {
	t.Helper()
	param, err := e.Query()
	if err != nil {
		t.Fatal(err)
	}
	return param.Attr
}

func newEVD(t testing.TB, ia *udat.IA, length int, flags udat.EVDFlags) *udat.EVD {
	t.Helper()
	return made(t, func() (*udat.EVD, error) { return udat.CreateEVD(ia, length, nil, flags) })
}

type object interface{ Free() error }

// made makes an object and frees it when the test ends, unless the test has freed it.
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

// Segment returns a piece of the endpoint's memory.
func (e *Endpoint) Segment(t testing.TB, offset, length int) udat.Segment {
	t.Helper()
	s, err := e.Memory.Segment(offset, length)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

var qualifiers atomic.Uint64

// ConnQual returns a connection qualifier that no other test of the process uses, and most likely
// no other process.
func ConnQual() udat.ConnQual {
	// Below the system's ports for outgoing connections, which start at 32768. The socket CM
	// provider adds 1000.
	const first, span = 10000, 21000
	return udat.ConnQual(first + (uint64(os.Getpid())*64+qualifiers.Add(1))%span)
}

// Listener is a service point with its own event dispatcher.
type Listener struct {
	*udat.PSP
	Requests *udat.EVD
	ConnQual udat.ConnQual
}

// Listen makes a service point, which is freed when the test ends.
func Listen(t testing.TB, ia *udat.IA) *Listener {
	t.Helper()
	l := &Listener{Requests: newEVD(t, ia, queueLength, udat.EVDCR), ConnQual: ConnQual()}
	l.PSP = made(t, func() (*udat.PSP, error) { return udat.CreatePSP(ia, l.ConnQual, l.Requests) })
	return l
}

// Pair makes two endpoints on an adapter that are connected with each other.
func Pair(t testing.TB, ia *udat.IA, attr *udat.EPAttr) (active, passive *Endpoint) {
	t.Helper()
	return PairAcross(t, ia, ia, attr)
}

// PairAcross makes two connected endpoints, each on an adapter of its own. Both
// adapters must be of the same provider.
func PairAcross(t testing.TB, activeIA, passiveIA *udat.IA, attr *udat.EPAttr) (active, passive *Endpoint) {
	t.Helper()
	listener := Listen(t, passiveIA)
	active, passive = NewEndpoint(t, activeIA, attr), NewEndpoint(t, passiveIA, attr)
	ConnectPair(t, listener, active, passive)
	return active, passive
}

// ConnectPair connects two unconnected endpoints through a listener, which must
// be on the adapter of the passive one.
func ConnectPair(t testing.TB, listener *Listener, active, passive *Endpoint) {
	t.Helper()
	if err := active.EP.Connect(Address(t, passive.IA), listener.ConnQual, Patience, nil); err != nil {
		t.Fatal(err)
	}
	request := Expect(t, listener.Requests, udat.EventConnectionRequest)
	if err := request.CR().AcceptAndWait(Context(t), passive.EP, nil); err != nil {
		t.Fatal(err)
	}
	Expect(t, active.Connect, udat.EventConnectionEstablished)
}
