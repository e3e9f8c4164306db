package udat_test

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/goudat/goudat/cgo"
	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/device"
	"github.com/goudat/goudat/udat/udattest"
)

// arguments chooses the arguments of a call: most fit together, some do not.
func (s *sequence) arguments(c *surfaceCall, beside bool) []reflect.Value {
	args := make([]reflect.Value, c.f.Type().NumIn())
	for i := range args {
		p := parameter{sequence: s, call: c, index: i, before: args[:i], beside: beside}
		typ := c.f.Type().In(i)
		switch choose, known := choices[typ]; {
		case known:
			args[i] = choose.Call([]reflect.Value{reflect.ValueOf(p)})[0]
		case isObject(typ):
			args[i] = p.object(typ)
		default:
			panic(fmt.Sprintf("%s has a parameter of type %v, for which fuzz_arguments_test.go knows no values", c.name, typ))
		}
	}
	return args
}

// parameter is one for which a value is to be chosen.
type parameter struct {
	*sequence
	call   *surfaceCall
	index  int
	before []reflect.Value // the arguments before it
	beside bool
}

// choices are functions that choose a value, by its type.
var choices = byResult(
	parameter.anyObject, parameter.int, parameter.string, parameter.bytes, parameter.context, parameter.duration, parameter.address,
	parameter.agent, parameter.segment, parameter.segments, parameter.batch, parameter.remote, parameter.qualifier,
	parameter.epAttr, parameter.epMask, parameter.epParam, parameter.srqAttr,
	completionFlags,
	oneOf[any](nil, 1, "context"),
	oneOf(false, true),
	oneOf[uint32](0, 1, 7, math.MaxUint32),
	oneOf[uint64](0, 1, 7, 1<<32, math.MaxUint64),
	oneOf(io.Discard),
	oneOf(udat.CloseAbrupt, udat.CloseGraceful, udat.CloseGraceful, udat.CloseAbrupt, 2, math.MaxUint32),
	oneOf(udat.EventSoftware, udat.EventDTOCompletion, udat.EventConnectionRequest, udat.EventConnectionEstablished, 0),
	oneOf(udat.EVDDTO, udat.EVDDTO|udat.EVDCR, udat.EVDConnection, udat.EVDCR, udat.EVDSoftware, udat.EVDDTO|udat.EVDSoftware,
		udat.EVDCR|udat.EVDConnection|udat.EVDSoftware, udat.EVDDTO|udat.EVDConnection, udat.EVDAsync, udat.EVDRMRBind, 0, 1<<30),
	oneOf(udat.MemPrivAll, udat.MemPrivAll, udat.MemPrivAll|udat.MemPrivIBRemoteAtomic, udat.MemPrivLocalRead,
		udat.MemPrivLocalRead|udat.MemPrivLocalWrite, udat.MemPrivRemoteWrite, 0, 1<<20),
	oneOf[udat.Return](0, 0x80070068, 0x0007ffff, 0x80050011, math.MaxUint32),
	func(p parameter) []udat.Event {
		return choose(p.script, make([]udat.Event, 1), make([]udat.Event, 16), make([]udat.Event, 0), nil)
	},
	func(parameter) []device.Device { devices, _ := device.List(); return devices },
)

var completionFlags = oneOf(0, 0, 0, 0, udat.CompletionSuppress, udat.CompletionSuppress, udat.CompletionSolicitedWait, udat.CompletionUnsignalled,
	udat.CompletionBarrierFence, udat.CompletionSuppress|udat.CompletionBarrierFence, udat.CompletionEVDThreshold, 1<<20, math.MaxUint32)

func byResult(functions ...any) map[reflect.Type]reflect.Value {
	m := make(map[reflect.Type]reflect.Value)
	for _, f := range functions {
		m[reflect.TypeOf(f).Out(0)] = reflect.ValueOf(f)
	}
	return m
}

func oneOf[T any](values ...T) func(parameter) T {
	return func(p parameter) T { return choose(p.script, values...) }
}

// object chooses an object of a kind: one of the focus, of any cluster, one that
// is nil or not made by the package.
func (p parameter) object(typ reflect.Type) reflect.Value {
	kind := p.below(100)
	switch {
	case kind < 2:
		return reflect.Zero(typ)
	case kind < 4:
		return reflect.New(typ.Elem())
	}
	from := p.focus
	if kind >= 85 {
		from = choose(p.script, p.clusters...)
	}
	candidates := p.objects(from, typ)
	for i := 0; len(candidates) == 0 && i < len(p.clusters); i++ {
		candidates = p.objects(p.clusters[i], typ)
	}
	if len(candidates) == 0 {
		return reflect.Zero(typ)
	}
	if stream := p.call.stream(p.index); stream != 0 && kind < 90 {
		for _, o := range slices.Backward(candidates) {
			if param, _ := o.(*udat.EVD).Query(); param.Flags&stream != 0 {
				return reflect.ValueOf(o)
			}
		}
	}
	// Those that were made last have most life before them.
	return reflect.ValueOf(candidates[len(candidates)-1-min(p.below(len(candidates)), p.below(len(candidates)))])
}

func objectOf[T udat.Object](p parameter) T { return p.object(reflect.TypeFor[T]()).Interface().(T) }

func (p parameter) anyObject() udat.Object {
	if p.percent(3) {
		return nil
	}
	return p.object(choose(p.script, objectTypes...)).Interface().(udat.Object)
}

func (p parameter) int() int {
	switch p.call.name {
	case "AllocMemory":
		// Numbers between may take all memory of the machine.
		return choose(p.script, 1, 8, 4096, 4097, 64<<10, 1<<20, 0, -1, math.MinInt, 1<<62)
	case "AllocHugeMemory":
		return choose(p.script, 1, 1<<21, 4096, 0, -1, math.MaxInt)
	}
	switch kind := p.below(100); {
	case kind < 40:
		return p.below(32)
	case kind < 60:
		return 8 * p.below(64)
	case kind < 85:
		return choose(p.script, 100, 256, 300, 1000, 4096)
	}
	return choose(p.script, -1, 0, 32767, 32768, 64<<10, 64<<10+1, 1<<31-1, 1<<31, 1<<32, -1<<31, math.MaxInt, math.MinInt)
}

// registeredName is one that RegisterProvider may register.
const registeredName = "fuzz"

func (p parameter) string() string {
	switch {
	case p.call.name == "RegisterProvider" && p.index == 1:
		return choose(p.script, "libdaploscm.so.2", "libdaplofa.so.2", "libc.so.6", "no-such-library")
	case p.call.name == "RegisterProvider" && p.index == 2:
		return choose(p.script, "rxe0 1", "dummy0 0", "", "no-such-device 7")
	case p.call.name == "RegisterProvider" || p.call.name == "UnregisterProvider":
		return choose(p.script, registeredName, registeredName, p.names[0], "")
	case p.percent(70):
		return choose(p.script, append([]string{registeredName, "rxe0"}, p.names...)...)
	}
	return choose(p.script, "", "no-such-adapter", "nul\x00", strings.Repeat("long", 100))
}

func (p parameter) bytes() []byte {
	if p.call.name == "RegisterMemory" {
		return make([]byte, choose(p.script, 64, 4096, 5000, 64<<10, 1, 0))
	}
	return make([]byte, choose(p.script, 0, 0, 0, 4, 56, 57, 68, 69, 256, 5000))
}

// context returns contexts that end soon, beside the sequence also one that never ends.
func (p parameter) context() context.Context {
	if p.beside && p.percent(60) {
		return context.Background()
	}
	kind := p.below(4)
	if kind == 0 {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		return ctx
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(kind*kind)*2*time.Millisecond)
	context.AfterFunc(ctx, cancel)
	return ctx
}

// longTimeouts are those of attempts that may be answered. With the stock
// library they must not end before the sequence: with the socket CM provider, an
// answer that comes while the endpoint of an attempt that has timed out is
// replaced can hang it.
var longTimeouts = []time.Duration{10 * time.Second, time.Minute, udat.TimeoutInfinite}

func (p parameter) duration() time.Duration {
	switch {
	case p.call.name == "EVD.SpinPoll":
		return choose(p.script, 0, time.Microsecond, time.Millisecond, 3*time.Millisecond, -1, time.Second+1)
	case p.percent(70):
		return choose(p.script, longTimeouts...)
	}
	return choose(p.script, 100*time.Millisecond, time.Millisecond, 1, 0, -1)
}

func (p parameter) address() netip.Addr {
	if p.percent(80) {
		return p.focus.address()
	}
	return choose(p.script, loopback, netip.Addr{}, netip.IPv4Unspecified(), netip.IPv6Loopback(),
		netip.MustParseAddr("224.0.0.1"), netip.MustParseAddr("255.255.255.255"), netip.MustParseAddr("10.77.0.99"), netip.MustParseAddr("192.0.2.1"))
}

// address is that of the adapter, as long as it is open.
func (c *cluster) address() netip.Addr {
	if attr, _, err := c.ia.Query(); err == nil {
		return attr.Address
	}
	return loopback
}

// agent returns an agent that takes an event, and may want to be called again.
func (p parameter) agent() func(*udat.EVD) {
	var cno *udat.CNO
	if p.call.name == "CNO.ModifyAgent" {
		cno = p.before[0].Interface().(*udat.CNO)
	}
	left := choose(p.script, -1, 0, 10)
	if left < 0 {
		return nil
	}
	var agent func(evd *udat.EVD)
	agent = func(evd *udat.EVD) {
		_, _ = evd.Dequeue()
		if left--; left > 0 {
			_ = cno.ModifyAgent(agent)
		}
	}
	return agent
}

func (p parameter) segment() udat.Segment {
	length := choose(p.script, 8, 64, 65, 0, 4096)
	if strings.HasSuffix(p.call.name, "Add") || strings.HasSuffix(p.call.name, "Swap") {
		length = choose(p.script, 8, 8, 8, 4)
	}
	segment, _ := objectOf[*udat.LMR](p).Segment(8*p.below(32), length)
	return segment
}

func (p parameter) segments() []udat.Segment {
	segments := make([]udat.Segment, choose(p.script, 1, 1, 1, 2, 4, 0, 5, 33))
	for i := range min(len(segments), 3) {
		segments[i] = p.segment()
	}
	return segments
}

func (p parameter) batch() []udat.Post {
	batch := make([]udat.Post, choose(p.script, 1, 2, 3, 8, 0, 70))
	for i := range batch {
		batch[i] = udat.Post{
			Operation: choose(p.script, udat.DTOSend, udat.DTOSend, udat.DTOReceive, udat.DTOReceive, udat.DTORDMARead, udat.DTORDMAWrite, udat.DTOBindMW, 0),
			Segments:  p.segments(),
			Cookie:    uint64(i),
			Remote:    p.remote(),
			Flags:     completionFlags(p),
		}
	}
	return batch
}

func (p parameter) remote() udat.RMRTriplet {
	remote, _ := objectOf[*udat.LMR](p).RMRTriplet(8*p.below(32), choose(p.script, 8, 64, 4096, 4096, 16<<10))
	switch p.below(10) {
	case 0:
		remote.VirtualAddress += 1 << 20
	case 1:
		remote.RMRContext ^= 0xff
	case 2:
		remote.VirtualAddress++
	case 3:
		remote.SegmentLength = math.MaxUint32
	}
	return remote
}

func (p parameter) qualifier() udat.ConnQual {
	if p.percent(80) {
		p.focus.qual = cmp.Or(p.focus.qual, udattest.ConnQual())
		return p.focus.qual
	}
	return choose[udat.ConnQual](p.script, 0, 1, 64535, 64536, 1<<32+5000, math.MaxUint64)
}

// defaultEPAttr is usable on all adapters.
var defaultEPAttr = udat.EPAttr{
	MaxMessageSize: 1 << 30, MaxRDMASize: 1 << 30,
	RecvCompletionFlags: udat.CompletionEVDThreshold, RequestCompletionFlags: udat.CompletionEVDThreshold,
	MaxRecvDTOs: 16, MaxRequestDTOs: 16, MaxRecvIOV: 4, MaxRequestIOV: 4, MaxRDMAReadIn: 4, MaxRDMAReadOut: 4,
}

func (p parameter) epAttr() *udat.EPAttr {
	switch kind := p.below(100); {
	case kind < 50:
		return nil
	case kind < 55:
		return &udat.EPAttr{}
	}
	return p.changed(defaultEPAttr)
}

// changed returns attributes of which some are changed.
func (s *script) changed(a udat.EPAttr) *udat.EPAttr {
	const unsignalled, solicited, suppress = udat.CompletionUnsignalled, udat.CompletionSolicitedWait, udat.CompletionSuppress
	for range s.below(3) {
		choose(s,
			func() { a.MaxRecvDTOs = choose(s, 1, 8, 32, 0, -1, 100, math.MaxInt) },
			func() { a.MaxRequestDTOs = choose(s, 1, 2, 8, 32, 0, -1, 1<<12) },
			func() { a.MaxRecvIOV = choose(s, 1, 8, 32, 0, 33) },
			func() { a.MaxRequestIOV = choose(s, 1, 8, 32, 0, 33) },
			func() { a.MaxRDMAReadIn, a.NoRDMAReadIn = choose(s, 0, 1, 128, 129, -1), s.percent(10) },
			func() { a.MaxRDMAReadOut, a.NoRDMAReadOut = choose(s, 0, 1, 128, 129, -1), s.percent(10) },
			func() { a.MaxMessageSize = choose[uint32](s, 1, 64, 4096, 0, math.MaxUint32) },
			func() { a.MaxRDMASize = choose[uint32](s, 1, 64, 4096, 0, math.MaxUint32) },
			func() { a.RecvCompletionFlags = choose(s, 0, unsignalled, solicited, suppress, 1<<20) },
			func() { a.RequestCompletionFlags = choose(s, 0, unsignalled, solicited, suppress, 1<<20) },
			func() { a.MaxRDMAReadIOV = choose(s, 0, 1, 4, 9999) },
		)()
	}
	return &a
}

func (p parameter) epMask() udat.EPParamMask {
	mask := choose(p.script, udat.EPFieldMaxRecvDTOs, udat.EPFieldMaxRequestDTOs, udat.EPFieldMaxMessageSize, udat.EPFieldRequestEVD,
		udat.EPFieldPZ, udat.EPFieldConnectEVD, udat.EPFieldRecvEVD, udat.EPFieldMaxRequestIOV, udat.EPFieldRecvCompletionFlags,
		udat.EPFieldMaxRDMAReadOut, udat.EPParamMask(cgo.EPFieldEPState), udat.EPParamMask(cgo.EPFieldSRQHandle), udat.EPParamMask(cgo.EPFieldAll), 1<<40, 0)
	if p.percent(50) {
		mask |= 1 << p.below(32)
	}
	return mask
}

func (p parameter) epParam() *udat.EPParam {
	if p.percent(3) {
		return nil
	}
	param, err := p.before[0].Interface().(*udat.EP).Query()
	if err != nil {
		param.Attr = defaultEPAttr
	}
	param.Attr = *p.changed(param.Attr)
	if p.percent(50) {
		param.PZ = objectOf[*udat.PZ](p)
		param.RecvEVD, param.RequestEVD, param.ConnectEVD = objectOf[*udat.EVD](p), objectOf[*udat.EVD](p), objectOf[*udat.EVD](p)
	}
	return &param
}

func (p parameter) srqAttr() udat.SRQAttr {
	return udat.SRQAttr{
		MaxRecvDTOs:  choose(p.script, 4, 8, 16, 1, 0, -1, 1<<30),
		MaxRecvIOV:   choose(p.script, 1, 4, 4, 32, 0, 33),
		LowWatermark: choose(p.script, 0, 0, 0, 0, 0, 1, -1),
	}
}

// describe writes a call down.
func (s *sequence) describe(c *surfaceCall, args []reflect.Value) string {
	words := make([]string, len(args))
	for i, a := range args {
		words[i] = s.word(a.Interface())
	}
	return c.name + "(" + strings.Join(words, ", ") + ")"
}

func (s *sequence) word(v any) string {
	switch v := v.(type) {
	case udat.Object:
		s.mu.Lock()
		defer s.mu.Unlock()
		if name := s.known[v]; name != "" {
			return name
		}
		return "nil or zero"
	case []byte:
		return fmt.Sprintf("%d bytes", len(v))
	case []udat.Event:
		return fmt.Sprintf("%d events", len(v))
	case *udat.EPParam:
		if v != nil {
			return fmt.Sprintf("%s %s %s %s %+v", s.word(v.PZ), s.word(v.RecvEVD), s.word(v.RequestEVD), s.word(v.ConnectEVD), v.Attr)
		}
	}
	return fmt.Sprintf("%.100s", fmt.Sprintf("%+v", v))
}
