package udat_test

import (
	"context"
	"fmt"
	"io"
	"math"
	"net/netip"
	"reflect"
	"strings"
	"time"

	"github.com/goudat/goudat/cgo"
	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/device"
)

// arguments chooses the arguments of a call: most fit together, some do not.
func (s *sequence) arguments(c *surfaceCall, beside bool) []reflect.Value {
	t := c.f.Type()
	args := make([]reflect.Value, t.NumIn())
	for i := range args {
		p := parameter{s: s, call: c, index: i, before: args[:i], beside: beside}
		typ := t.In(i)
		switch make := makers[typ]; {
		case make != nil:
			args[i] = reflect.ValueOf(make(p))
			if !args[i].IsValid() {
				args[i] = reflect.Zero(typ)
			}
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
	s      *sequence
	call   *surfaceCall
	index  int
	before []reflect.Value // the arguments before it
	beside bool
}

// makers choose values, by type.
var makers = map[reflect.Type]func(p parameter) any{
	reflect.TypeFor[udat.Object]():     func(p parameter) any { return p.anyObject() },
	reflect.TypeFor[any]():             func(p parameter) any { return choose[any](&p.s.script, nil, 1, "context") },
	reflect.TypeFor[bool]():            func(p parameter) any { return p.s.percent(50) },
	reflect.TypeFor[int]():             func(p parameter) any { return p.int() },
	reflect.TypeFor[uint32]():          func(p parameter) any { return choose[uint32](&p.s.script, 0, 1, 7, math.MaxUint32) },
	reflect.TypeFor[uint64]():          func(p parameter) any { return choose[uint64](&p.s.script, 0, 1, 7, 1<<32, math.MaxUint64) },
	reflect.TypeFor[string]():          func(p parameter) any { return p.string() },
	reflect.TypeFor[io.Writer]():       func(p parameter) any { return io.Discard },
	reflect.TypeFor[[]device.Device](): func(p parameter) any { devices, _ := device.List(); return devices },
	reflect.TypeFor[[]byte]():          func(p parameter) any { return p.bytes() },
	reflect.TypeFor[context.Context](): func(p parameter) any { return p.context() },
	reflect.TypeFor[time.Duration]():   func(p parameter) any { return p.duration() },
	reflect.TypeFor[netip.Addr]():      func(p parameter) any { return p.address() },
	reflect.TypeFor[func(*udat.EVD)](): func(p parameter) any { cno, _ := p.before[0].Interface().(*udat.CNO); return p.s.agent(cno) },
	reflect.TypeFor[[]udat.Event](): func(p parameter) any {
		return choose(&p.s.script, make([]udat.Event, 1), make([]udat.Event, 16), make([]udat.Event, 0), nil)
	},
	reflect.TypeFor[udat.Segment]():    func(p parameter) any { return p.segment() },
	reflect.TypeFor[[]udat.Segment]():  func(p parameter) any { return p.segments() },
	reflect.TypeFor[[]udat.Post]():     func(p parameter) any { return p.batch() },
	reflect.TypeFor[udat.RMRTriplet](): func(p parameter) any { return p.remote() },
	reflect.TypeFor[udat.ConnQual]():   func(p parameter) any { return p.qualifier() },
	reflect.TypeFor[udat.CloseFlags](): func(p parameter) any {
		return choose(&p.s.script, udat.CloseAbrupt, udat.CloseGraceful, udat.CloseGraceful, udat.CloseAbrupt, 2, math.MaxUint32)
	},
	reflect.TypeFor[udat.CompletionFlags](): func(p parameter) any { return p.completionFlags() },
	reflect.TypeFor[udat.EventNumber](): func(p parameter) any {
		return choose(&p.s.script, udat.EventSoftware, udat.EventDTOCompletion, udat.EventConnectionRequest, udat.EventConnectionEstablished, 0)
	},
	reflect.TypeFor[udat.EVDFlags](): func(p parameter) any { return p.evdFlags() },
	reflect.TypeFor[udat.PSPFlags](): func(p parameter) any {
		return choose(&p.s.script, udat.PSPConsumer, udat.PSPConsumer, udat.PSPProvider, 0, 7)
	},
	reflect.TypeFor[udat.MemPriv](): func(p parameter) any { return p.privileges() },
	reflect.TypeFor[udat.Return](): func(p parameter) any {
		return choose[udat.Return](&p.s.script, 0, 0x80070068, 0x0007ffff, 0x80050011, math.MaxUint32)
	},
	reflect.TypeFor[*udat.EPAttr]():     func(p parameter) any { return p.epAttr() },
	reflect.TypeFor[udat.EPParamMask](): func(p parameter) any { return p.epMask() },
	reflect.TypeFor[*udat.EPParam]():    func(p parameter) any { return p.epParam() },
	reflect.TypeFor[udat.SRQAttr]():     func(p parameter) any { return p.srqAttr() },
}

// object chooses an object of a kind: one of the focus, of any cluster, one that
// is nil or not made by the package.
func (p parameter) object(typ reflect.Type) reflect.Value {
	s := p.s
	kind := s.below(100)
	switch {
	case kind < 2:
		return reflect.Zero(typ)
	case kind < 4:
		return reflect.New(typ.Elem())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	candidates := s.focus.objects[typ]
	if kind >= 85 {
		candidates = choose(&s.script, s.clusters...).objects[typ]
	}
	for i := 0; len(candidates) == 0 && i < len(s.clusters); i++ {
		candidates = s.clusters[i].objects[typ]
	}
	if wanted := p.call.stream(p.index); wanted != 0 && kind < 90 {
		for i := len(candidates) - 1; i >= 0; i-- {
			if s.flags[candidates[i].(*udat.EVD)]&wanted != 0 {
				return reflect.ValueOf(candidates[i])
			}
		}
	}
	if len(candidates) == 0 {
		return reflect.Zero(typ)
	}
	// Those that were made last have most life before them.
	return reflect.ValueOf(candidates[len(candidates)-1-min(s.below(len(candidates)), s.below(len(candidates)))])
}

func (p parameter) anyObject() any {
	if p.s.percent(3) {
		return nil
	}
	return p.object(choose(&p.s.script, objectTypes...)).Interface()
}

func (p parameter) int() int {
	switch p.call.name {
	case "AllocMemory":
		// Numbers between may take all memory of the machine.
		return choose(&p.s.script, 1, 8, 4096, 4097, 64<<10, 1<<20, 0, -1, math.MinInt, 1<<62)
	case "AllocHugeMemory":
		return choose(&p.s.script, 1, 1<<21, 4096, 0, -1, math.MaxInt)
	}
	switch kind := p.s.below(100); {
	case kind < 40:
		return p.s.below(32)
	case kind < 60:
		return 8 * p.s.below(64)
	case kind < 85:
		return choose(&p.s.script, 100, 256, 300, 1000, 4096)
	}
	return choose(&p.s.script, -1, 0, 32767, 32768, 64<<10, 64<<10+1, 1<<31-1, 1<<31, 1<<32, -1<<31, math.MaxInt, math.MinInt)
}

// registeredName is one that RegisterProvider may register.
const registeredName = "fuzz"

func (p parameter) string() string {
	switch p.call.name {
	case "UnregisterProvider":
		return choose(&p.s.script, registeredName, registeredName, p.s.names[0], "")
	case "RegisterProvider":
		return p.registration()
	}
	if p.s.percent(70) {
		return choose(&p.s.script, append([]string{registeredName, "rxe0"}, p.s.names...)...)
	}
	return choose(&p.s.script, "", "no-such-adapter", "nul\x00", strings.Repeat("long", 100))
}

func (p parameter) registration() string {
	switch p.index {
	case 0:
		return choose(&p.s.script, registeredName, registeredName, p.s.names[0], "")
	case 1:
		return choose(&p.s.script, "libdaploscm.so.2", "libdaplofa.so.2", "libc.so.6", "no-such-library")
	}
	return choose(&p.s.script, "rxe0 1", "dummy0 0", "", "no-such-device 7")
}

func (p parameter) bytes() []byte {
	if p.call.name == "RegisterMemory" {
		return make([]byte, choose(&p.s.script, 64, 4096, 5000, 64<<10, 1, 0))
	}
	return make([]byte, choose(&p.s.script, 0, 0, 0, 4, 56, 57, 68, 69, 256, 5000))
}

// context returns contexts that end soon, beside the sequence also one that never ends.
func (p parameter) context() context.Context {
	if p.beside && p.s.percent(60) {
		return context.Background()
	}
	kind := p.s.below(4)
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
	if p.call.name == "EVD.SpinPoll" {
		return choose(&p.s.script, 0, time.Microsecond, time.Millisecond, 3*time.Millisecond, -1, udat.MaxSpin+1)
	}
	if p.s.percent(70) {
		return choose(&p.s.script, longTimeouts...)
	}
	return choose(&p.s.script, 100*time.Millisecond, time.Millisecond, 1, 0, -1)
}

func (p parameter) address() netip.Addr {
	if p.s.percent(80) {
		return p.s.address(p.s.focus)
	}
	return choose(&p.s.script, loopback, netip.Addr{}, netip.IPv4Unspecified(), netip.IPv6Loopback(),
		netip.MustParseAddr("224.0.0.1"), netip.MustParseAddr("255.255.255.255"), netip.MustParseAddr("10.77.0.99"), netip.MustParseAddr("192.0.2.1"))
}

// address is that of a cluster's adapter.
func (s *sequence) address(c *cluster) netip.Addr {
	attr, _, err := c.ia.Query()
	if err != nil {
		return loopback
	}
	return attr.Address
}

// agent returns an agent that takes an event and wants to be called again.
func (s *sequence) agent(cno *udat.CNO) func(*udat.EVD) {
	switch s.below(3) {
	case 0:
		return nil
	case 1:
		return func(evd *udat.EVD) { _, _ = evd.Dequeue() }
	}
	var again func(evd *udat.EVD)
	left := 10
	again = func(evd *udat.EVD) {
		_, _ = evd.Dequeue()
		if left--; left > 0 && cno != nil {
			_ = cno.ModifyAgent(again)
		}
	}
	return again
}

// region chooses a memory region.
func (p parameter) region() *udat.LMR {
	return p.object(reflect.TypeFor[*udat.LMR]()).Interface().(*udat.LMR)
}

func (p parameter) segment() udat.Segment {
	length := choose(&p.s.script, 8, 64, 65, 0, 4096)
	if strings.HasSuffix(p.call.name, "Add") || strings.HasSuffix(p.call.name, "Swap") {
		length = choose(&p.s.script, 8, 8, 8, 4)
	}
	segment, _ := p.region().Segment(8*p.s.below(32), length)
	return segment
}

func (p parameter) segments() []udat.Segment {
	n := choose(&p.s.script, 1, 1, 1, 2, 4, 0, 5, 33)
	segments := make([]udat.Segment, n)
	for i := range min(n, 3) {
		segments[i] = p.segment()
	}
	return segments
}

func (p parameter) batch() []udat.Post {
	batch := make([]udat.Post, choose(&p.s.script, 1, 2, 3, 8, 0, 70))
	for i := range batch {
		batch[i] = udat.Post{
			Operation: choose(&p.s.script, udat.DTOSend, udat.DTOSend, udat.DTOReceive, udat.DTOReceive, udat.DTORDMARead, udat.DTORDMAWrite, udat.DTOBindMW, 0),
			Segments:  p.segments(),
			Cookie:    uint64(i),
			Remote:    p.remote(),
			Flags:     p.completionFlags(),
		}
	}
	return batch
}

func (p parameter) remote() udat.RMRTriplet {
	remote, _ := p.region().RMRTriplet(8*p.s.below(32), choose(&p.s.script, 8, 64, 4096, 4096, 16<<10))
	switch p.s.below(10) {
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
	if p.s.percent(80) {
		if p.s.focus.qual == 0 {
			p.s.focus.qual = fuzzQualifier()
		}
		return p.s.focus.qual
	}
	return choose[udat.ConnQual](&p.s.script, 0, 1, 64535, 64536, 1<<32+5000, math.MaxUint64)
}

func (p parameter) completionFlags() udat.CompletionFlags {
	return choose(&p.s.script, 0, 0, 0, 0, udat.CompletionSuppress, udat.CompletionSuppress, udat.CompletionSolicitedWait, udat.CompletionUnsignalled,
		udat.CompletionBarrierFence, udat.CompletionSuppress|udat.CompletionBarrierFence, udat.CompletionEVDThreshold, 1<<20, math.MaxUint32)
}

func (p parameter) evdFlags() udat.EVDFlags {
	return choose(&p.s.script, udat.EVDDTO, udat.EVDDTO|udat.EVDCR, udat.EVDConnection, udat.EVDCR, udat.EVDSoftware, udat.EVDDTO|udat.EVDSoftware,
		udat.EVDCR|udat.EVDConnection|udat.EVDSoftware, udat.EVDDTO|udat.EVDConnection, udat.EVDAsync, udat.EVDRMRBind, 0, 1<<30)
}

func (p parameter) privileges() udat.MemPriv {
	return choose(&p.s.script, udat.MemPrivAll, udat.MemPrivAll, udat.MemPrivAll|udat.MemPrivIBRemoteAtomic, udat.MemPrivLocalRead,
		udat.MemPrivLocalRead|udat.MemPrivLocalWrite, udat.MemPrivRemoteWrite, 0, 1<<20)
}

// defaultEPAttr is usable on all adapters.
var defaultEPAttr = udat.EPAttr{
	MaxMessageSize: 1 << 30, MaxRDMASize: 1 << 30,
	RecvCompletionFlags: udat.CompletionEVDThreshold, RequestCompletionFlags: udat.CompletionEVDThreshold,
	MaxRecvDTOs: 16, MaxRequestDTOs: 16, MaxRecvIOV: 4, MaxRequestIOV: 4, MaxRDMAReadIn: 4, MaxRDMAReadOut: 4,
}

func (p parameter) epAttr() *udat.EPAttr {
	switch kind := p.s.below(100); {
	case kind < 50:
		return nil
	case kind < 55:
		return &udat.EPAttr{}
	}
	attr := defaultEPAttr
	p.changeAttr(&attr)
	return &attr
}

func (p parameter) changeAttr(a *udat.EPAttr) {
	s := &p.s.script
	for range s.below(3) {
		switch s.below(13) {
		case 0:
			a.MaxRecvDTOs = choose(s, 1, 8, 32, 0, -1, 100, math.MaxInt)
		case 1:
			a.MaxRequestDTOs = choose(s, 1, 2, 8, 32, 0, -1, 1<<12)
		case 2:
			a.MaxRecvIOV = choose(s, 1, 8, 32, 0, 33)
		case 3:
			a.MaxRequestIOV = choose(s, 1, 8, 32, 0, 33)
		case 4:
			a.MaxRDMAReadIn, a.NoRDMAReadIn = choose(s, 0, 1, 128, 129, -1), s.percent(10)
		case 5:
			a.MaxRDMAReadOut, a.NoRDMAReadOut = choose(s, 0, 1, 128, 129, -1), s.percent(10)
		case 6:
			a.MaxMessageSize = choose[uint32](s, 1, 64, 4096, 0, math.MaxUint32)
		case 7:
			a.MaxRDMASize = choose[uint32](s, 1, 64, 4096, 0, math.MaxUint32)
		case 8:
			a.RecvCompletionFlags = choose(s, 0, udat.CompletionUnsignalled, udat.CompletionSolicitedWait, udat.CompletionSuppress, 1<<20)
		case 9:
			a.RequestCompletionFlags = choose(s, 0, udat.CompletionUnsignalled, udat.CompletionSolicitedWait, udat.CompletionSuppress, 1<<20)
		case 10:
			a.ServiceType = choose(s, udat.ServiceTypeRC, 7)
		case 11:
			a.QOS = choose(s, udat.QOSBestEffort, 8)
		case 12:
			a.MaxRDMAReadIOV = choose(s, 0, 1, 4, 9999)
		}
	}
}

func (p parameter) epMask() udat.EPParamMask {
	s := &p.s.script
	mask := choose(s, udat.EPFieldMaxRecvDTOs, udat.EPFieldMaxRequestDTOs, udat.EPFieldMaxMessageSize, udat.EPFieldRequestEVDHandle,
		udat.EPFieldPZHandle, udat.EPFieldConnectEVDHandle, udat.EPFieldRecvEVDHandle, udat.EPFieldMaxRequestIOV, udat.EPFieldRecvCompletionFlags,
		udat.EPFieldMaxRDMAReadOut, udat.EPParamMask(cgo.EPFieldEPState), udat.EPParamMask(cgo.EPFieldSRQHandle), udat.EPParamMask(cgo.EPFieldAll), 1<<40, 0)
	if s.percent(50) {
		mask |= 1 << s.below(32)
	}
	return mask
}

func (p parameter) epParam() *udat.EPParam {
	if p.s.percent(3) {
		return nil
	}
	param := &udat.EPParam{Attr: defaultEPAttr}
	if ep, _ := p.before[0].Interface().(*udat.EP); ep != nil {
		if now, err := ep.Query(); err == nil {
			*param = now
		}
	}
	p.changeAttr(&param.Attr)
	if p.s.percent(50) {
		param.PZ = p.object(reflect.TypeFor[*udat.PZ]()).Interface().(*udat.PZ)
		for _, evd := range []**udat.EVD{&param.RecvEVD, &param.RequestEVD, &param.ConnectEVD} {
			*evd = p.object(reflect.TypeFor[*udat.EVD]()).Interface().(*udat.EVD)
		}
	}
	return param
}

func (p parameter) srqAttr() udat.SRQAttr {
	s := &p.s.script
	return udat.SRQAttr{
		MaxRecvDTOs:  choose(s, 4, 8, 16, 1, 0, -1, 1<<30),
		MaxRecvIOV:   choose(s, 1, 4, 4, 32, 0, 33),
		LowWatermark: choose(s, 0, 0, 0, 0, 0, 1, -1),
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
