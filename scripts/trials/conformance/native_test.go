package conformance

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/goudat/goudat/cgo"
	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/device"
	"github.com/goudat/goudat/udat/udattest"
)

var publishedLibraries = flag.String("published", "", "the `folder` of the libraries of the published dapl; TestPublished renews what they do")

// publishedFile has what the published library does, by adapter and clause.
const publishedFile = "testdata/published.json"

func readPublished(t *testing.T) (seen map[string]map[string]string) {
	t.Helper()
	text, err := os.ReadFile(publishedFile)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &seen); err != nil {
		t.Fatalf("%s: %v", publishedFile, err)
	}
	return seen
}

// TestPublished runs the probes with the published library, if -published names one.
func TestPublished(t *testing.T) {
	if *publishedLibraries == "" {
		t.Log("not tried: -published names no libraries")
		return
	}
	library, err := os.ReadFile(filepath.Join(*publishedLibraries, "libdat2.so.2"))
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(library, []byte("dat_revision")) {
		t.Fatalf("%s has the patched library", *publishedLibraries)
	}
	seen := readPublished(t)
	for _, name := range udattest.Names(t) {
		seen[name] = make(map[string]string)
		for _, c := range Clauses {
			seen[name][c.ID] = observe(t, c.ID, name, "LD_LIBRARY_PATH="+*publishedLibraries)
		}
	}
	text, err := json.MarshalIndent(seen, "", "\t")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(publishedFile, append(text, '\n'), 0o644); err != nil {
		t.Fatal(err)
	}
}

// probeVariable makes this test program try what the native library does. It has the clause and the adapter.
const probeVariable = "UDAT_CONFORMANCE_PROBE"

// What a probe writes begins with one of these.
const (
	stepMark   = "step "   // what it does next
	resultMark = "result " // what it has seen
)

// hanging is how long a probe may take, with the start of the program.
var hanging = udattest.Patience

// observe returns what the library does for a clause, as seen by its probe in a process of its own: it may crash or hang.
func observe(t *testing.T, id, adapter string, environment ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), hanging)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0])
	cmd.Env = append(os.Environ(), probeVariable+"="+id+" "+adapter)
	cmd.Env = append(cmd.Env, environment...)
	cmd.WaitDelay = time.Second // a process that the probe has started may be left
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	var seen []string
	step := "it"
	for line := range strings.Lines(string(out)) {
		line = strings.TrimSuffix(line, "\n")
		if text, ok := strings.CutPrefix(line, stepMark); ok {
			step = text
		} else if text, ok := strings.CutPrefix(line, resultMark); ok {
			seen = append(seen, text)
		}
	}
	switch {
	case ctx.Err() != nil:
		seen = append(seen, step+" hangs")
	case err != nil:
		seen = append(seen, step+" ends the process")
		t.Logf("%s with %s: %v\n%s", id, adapter, err, stderr.Bytes())
	}
	return strings.Join(seen, "; ")
}

func init() {
	var id, adapter string
	if n, _ := fmt.Sscan(os.Getenv(probeVariable), &id, &adapter); n != 2 {
		return
	}
	runProbe(id, adapter)
}

// adapterOfProbe is the adapter's name.
func adapterOfProbe() string {
	_, name, _ := strings.Cut(os.Getenv(probeVariable), " ")
	return name
}

// probe is an adapter opened through the raw layer. The end of the process frees its objects.
type probe struct {
	ia       cgo.IAHandle
	address  *cgo.SockAddr
	iwarp    bool
	requests cgo.EVDHandle // of the last service point
	peer     *os.Process   // nil unless there is one
	doing    string        // the last step, "" for the whole
}

// runProbe is the process of a probe.
func runProbe(id, adapter string) {
	p := &probe{}
	p.open(adapter)
	p.exit(probes[id](p))
}

func (p *probe) open(adapter string) {
	const asyncQLen = 64
	var r cgo.Return
	p.ia, _, r = cgo.IAOpen(adapter, asyncQLen)
	if !r.OK() { // no entry in dat.conf: udat registers the adapter's provider under its name
		if _, err := udat.Open(adapter); err == nil {
			p.ia, _, r = cgo.IAOpen(adapter, asyncQLen)
		}
	}
	p.success(r)
	var attr cgo.IAAttr
	_, r = cgo.IAQuery(p.ia, cgo.IAFieldAll, &attr, cgo.ProviderFieldNone, nil)
	p.success(r)
	address := cgo.SockAddrAt(attr.IAAddressPtr)
	p.address = &address
	devices, _ := device.List()
	p.iwarp = slices.ContainsFunc(devices, func(d device.Device) bool {
		return d.Transport == device.TransportIWARP && d.Name == string(bytes.TrimRight(attr.AdapterName[:], "\x00"))
	})
}

// step says what the probe does next, in case the library ends the process or hangs.
func (p *probe) step(doing string) {
	p.doing = doing
	fmt.Println(stepMark + doing)
}

// note says what the probe has seen.
func (p *probe) note(seen string) {
	if seen != "" {
		fmt.Println(resultMark + seen)
	}
}

// fail ends a probe that cannot continue.
func (p *probe) fail(text string) {
	if p.doing != "" {
		text = p.doing + " fails: " + text
	}
	p.exit(text)
}

// exit ends the process.
func (p *probe) exit(seen string) {
	p.note(seen)
	if p.peer != nil {
		_ = p.peer.Kill() // it is stopped
	}
	os.Exit(0)
}

func (p *probe) success(r cgo.Return) {
	if !r.OK() {
		p.fail(name(r))
	}
}

func (p *probe) zone() cgo.PZHandle {
	pz, r := cgo.PZCreate(p.ia)
	p.success(r)
	return pz
}

func (p *probe) queue(length int32, flags cgo.EVDFlags) cgo.EVDHandle {
	evd, r := cgo.EVDCreate(p.ia, length, 0, flags)
	p.success(r)
	return evd
}

// next waits for the next event of an EVD.
func (p *probe) next(evd cgo.EVDHandle) (event cgo.Event) {
	for deadline := time.Now().Add(hanging / 3); time.Now().Before(deadline); {
		const slice = uint32(100 * time.Millisecond / time.Microsecond)
		_, r := cgo.EVDWait(evd, slice, 1, &event)
		switch r.Type() {
		case cgo.Success:
			return event
		case cgo.TimeoutExpired, cgo.InterruptedCall, cgo.QueueEmpty:
		default:
			p.fail(name(r))
		}
	}
	p.fail("no event comes")
	return event
}

// glance waits a moment for an event.
func (p *probe) glance(evd cgo.EVDHandle) (event cgo.Event, ok bool) {
	const moment = uint32(200 * time.Millisecond / time.Microsecond)
	_, r := cgo.EVDWait(evd, moment, 1, &event)
	return event, r.OK()
}

func (p *probe) expect(evd cgo.EVDHandle, want cgo.EventNumber) cgo.Event {
	event := p.next(evd)
	if event.Number != want {
		p.fail(fmt.Sprintf("the event is %v, not %v", event.Number, want))
	}
	return event
}

// statuses takes the completions of n operations, whose cookies must be 0, 1 and so on.
func (p *probe) statuses(evd cgo.EVDHandle, n uint64) (list []cgo.DTOStatus) {
	for cookie := range n {
		event := p.expect(evd, cgo.EventDTOCompletion)
		if got := event.DTO().UserCookie; got != cookie {
			p.fail(fmt.Sprintf("completion %d is that of operation %d", cookie, got))
		}
		list = append(list, event.DTO().Status)
	}
	return list
}

func allFailed(list []cgo.DTOStatus) bool { return !slices.Contains(list, cgo.DTOSuccess) }

// region is registered memory outside the Go heap.
type region struct {
	lmr                    cgo.LMRHandle
	page                   []byte
	address                uintptr
	lmrContext, rmrContext uint32
}

const regionSize = 4096

func (p *probe) memory(pz cgo.PZHandle) region {
	page, err := syscall.Mmap(-1, 0, regionSize, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE|syscall.MAP_ANONYMOUS)
	if err != nil {
		p.fail(err.Error())
	}
	address := uintptr(unsafe.Pointer(&page[0]))
	lmr, local, remote, _, r := cgo.LMRCreateVirtual(p.ia, address, regionSize, pz, cgo.MemPrivAll, cgo.VATypeVA)
	p.success(r)
	return region{lmr, page, address, local, remote}
}

func (m region) local(length uint32) []cgo.LMRTriplet {
	return []cgo.LMRTriplet{{VirtualAddress: uint64(m.address), SegmentLength: length, LMRContext: m.lmrContext}}
}

func attributes() *cgo.EPAttr {
	return &cgo.EPAttr{
		ServiceType:    cgo.ServiceTypeRC,
		MaxMessageSize: regionSize,
		MaxRDMASize:    regionSize,
		MaxRecvDTOs:    8,
		MaxRequestDTOs: 8,
		MaxRecvIOV:     2,
		MaxRequestIOV:  2,
		MaxRDMAReadIn:  2,
		MaxRDMAReadOut: 2,
	}
}

// queues are the objects that an endpoint uses.
type queues struct {
	pz                     cgo.PZHandle
	recv, request, connect cgo.EVDHandle
}

func (p *probe) queues(length int32) queues {
	return queues{p.zone(), p.queue(length, cgo.EVDDTO), p.queue(length, cgo.EVDDTO), p.queue(16, cgo.EVDConnection)}
}

// node is an endpoint with the objects that it uses.
type node struct {
	queues
	region
	ep cgo.EPHandle
}

func (e *node) local() []cgo.LMRTriplet { return e.region.local(message) }

func (p *probe) create(q queues, attr *cgo.EPAttr) (cgo.EPHandle, cgo.Return) {
	return cgo.EPCreate(p.ia, q.pz, q.recv, q.request, q.connect, attr)
}

func (p *probe) endpoint() *node {
	e := &node{queues: p.queues(64)}
	e.region = p.memory(e.pz)
	var r cgo.Return
	e.ep, r = p.create(e.queues, attributes())
	p.success(r)
	return e
}

func (p *probe) state(e *node) cgo.EPState {
	state, _, _, r := cgo.EPGetStatus(e.ep)
	p.success(r)
	return state
}

func (p *probe) query(e *node) (param cgo.EPParam) {
	p.success(cgo.EPQuery(e.ep, cgo.EPFieldAll, &param))
	return param
}

// reserved makes an endpoint with a reserved service point.
func (p *probe) reserved() (e *node, rsp cgo.RSPHandle, qual uint64) {
	p.requests = p.queue(16, cgo.EVDCR)
	e, qual = p.endpoint(), uint64(udattest.ConnQual())
	rsp, r := cgo.RSPCreate(p.ia, qual, e.ep, p.requests)
	p.success(r)
	return e, rsp, qual
}

// listen makes a service point.
func (p *probe) listen() (qual uint64) {
	p.requests, qual = p.queue(16, cgo.EVDCR), uint64(udattest.ConnQual())
	_, r := cgo.PSPCreate(p.ia, qual, p.requests, cgo.PSPConsumer)
	p.success(r)
	return qual
}

// dial lets an endpoint ask for a connection, and returns the request.
func (p *probe) dial(e *node, qual uint64) cgo.CRHandle {
	p.success(cgo.EPConnect(e.ep, p.address, qual, cgo.TimeoutInfinite, nil, cgo.QOSBestEffort, cgo.ConnectDefault))
	event := p.expect(p.requests, cgo.EventConnectionRequest)
	return event.CRArrival().CRHandle
}

// connect connects two endpoints.
func (p *probe) connect(active, passive *node) {
	p.accept(p.dial(active, p.listen()), active, passive)
}

func (p *probe) accept(request cgo.CRHandle, active, passive *node) {
	p.success(cgo.CRAccept(request, passive.ep, nil))
	p.expect(active.connect, cgo.EventConnectionEstablished)
	p.expect(passive.connect, cgo.EventConnectionEstablished)
}

// pair makes two connected endpoints.
func (p *probe) pair() (active, passive *node) {
	active, passive = p.endpoint(), p.endpoint()
	p.connect(active, passive)
	return active, passive
}

// exchange sends a message.
func (p *probe) exchange(from, to *node) {
	p.success(cgo.EPPostRecv(to.ep, to.local(), 0, 0))
	p.success(cgo.EPPostSend(from.ep, from.local(), 0, 0))
	for _, evd := range []cgo.EVDHandle{from.request, to.recv} {
		if status := p.statuses(evd, 1)[0]; status != cgo.DTOSuccess {
			p.fail(status.String())
		}
	}
}

func (p *probe) posts(e *node, n uint64, post func(cgo.EPHandle, []cgo.LMRTriplet, uint64, cgo.CompletionFlags) cgo.Return) {
	for cookie := range n {
		p.success(post(e.ep, e.local(), cookie, 0))
	}
}

// ended expects the end of a connection.
func (p *probe) ended(nodes ...*node) {
	for _, e := range nodes {
		p.expect(e.connect, cgo.EventConnectionDisconnected)
	}
}
