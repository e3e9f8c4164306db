//go:build linux

package shapes

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/goudat/goudat/udat"
)

// probeVariable has the name of the adapter that a child is to probe.
const probeVariable = "UDAT_SHAPES_PROBE"

// finding is what became of something that a program may ask of an adapter.
type finding struct {
	What    string
	Refused string // what the error says; empty if it was done
	Lacking bool   // it says that the device does not have this
	Faults  []string
}

const (
	probeOpen       = "open"
	probeEndpoint   = "endpoint"
	probeConnection = "connection"
	probeQueue      = "event dispatcher of a length"
	probeQueueMost  = "longest event dispatcher"
	probeQueueMore  = "longer one"
	probeResize     = "resize of an event dispatcher"
	probeMost       = "longest queues of an endpoint"
	probeMore       = "longer ones"
	probeSegments   = "too many segments"
	probeSRQ        = "shared receive queue"
	probeSRQResize  = "resize of a shared receive queue"
	probeRMR        = "memory window"
	probeWriteImmed = "write with immediate data"
	probeAtomics    = "atomic operations"
)

// probe asks for all that a program may, once.
type probe struct {
	ia       *udat.IA
	attr     udat.IAAttr
	pz       *udat.PZ
	memory   *udat.LMR
	findings []finding
}

// longest is how long a queue may be for which there is memory.
const longest = 8192

func runProbe(name string) error {
	p := &probe{}
	err := p.run(name)
	p.note(probeOpen, err, p.limits()...)
	return json.NewEncoder(os.Stdout).Encode(p.findings)
}

func (p *probe) run(name string) (err error) {
	if p.ia, err = udat.Open(name); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.close()) }()
	if p.attr, _, err = p.ia.Query(); err != nil {
		return err
	}
	if p.pz, err = udat.CreatePZ(p.ia); err != nil {
		return err
	}
	if p.memory, err = udat.AllocMemory(p.pz, 4096, udat.MemPrivAll|udat.MemPrivIBRemoteAtomic); err != nil {
		return err
	}
	p.queues()
	p.endpoints()
	p.sharedQueues()
	p.connection()
	return nil
}

// limits compares the limits with those of the shape.
func (p *probe) limits() (faults []string) {
	if p.pz == nil {
		return nil
	}
	s := readShape(os.Getenv(shapeVariable))
	for key, is := range map[string]int{
		"max_qp": p.attr.MaxEPs, "max_qp_wr": p.attr.MaxDTOPerEP, "max_sge": p.attr.MaxIOVSegmentsPerDTO, "max_cq": p.attr.MaxEVDs,
		"max_cqe": p.attr.MaxEVDQLen, "max_pd": p.attr.MaxPZs, "max_mr": p.attr.MaxLMRs, "max_msg_sz": int(p.attr.MaxMessageSize),
		"max_qp_rd_atom": p.attr.MaxRDMAReadPerEPIn, "max_qp_init_rd_atom": p.attr.MaxRDMAReadPerEPOut, "max_sge_rd": p.attr.MaxIOVSegmentsPerRead,
	} {
		want := s.number(key, is)
		if strings.HasSuffix(key, "_rd_atom") {
			want = min(want, 0xff) // queue pairs have 8 bits for it
		}
		if is != want {
			faults = append(faults, fmt.Sprintf("a limit is %d, and the device's %s is %d", is, key, want))
		}
	}
	return faults
}

// close closes the adapter. Nothing may be left but what it was opened with.
func (p *probe) close() error {
	return errors.Join(p.memory.Free(), p.pz.Free(), p.ia.Close(udat.CloseGraceful))
}

// note notes what became of something. A refusal must be an error that a program, and its user, can make something of.
func (p *probe) note(what string, err error, faults ...string) {
	f := finding{What: what, Faults: faults}
	var e *udat.Error
	switch {
	case err == nil:
	case !errors.As(err, &e):
		f.Refused = err.Error()
		f.Faults = append(f.Faults, "the error has no type")
	default:
		f.Refused, f.Lacking = e.Error(), errors.Is(err, errors.ErrUnsupported)
		if e.Return.Type() == udat.ErrInternalError {
			f.Faults = append(f.Faults, "the error says nothing")
		}
		if p.ia != nil && !strings.Contains(f.Refused, p.attr.AdapterName) {
			f.Faults = append(f.Faults, "the error does not name the device")
		}
	}
	p.findings = append(p.findings, f)
}

func (p *probe) evd(length int, flags udat.EVDFlags) (*udat.EVD, error) {
	return udat.CreateEVD(p.ia, length, nil, flags)
}

func (p *probe) queues() {
	evd, err := p.evd(5, udat.EVDDTO)
	var faults []string
	if err == nil {
		var param udat.EVDParam
		param, err = evd.Query()
		faults = append(faults, p.capacity(5, param.QLen)...)
		resized := evd.Resize(6)
		if resized == nil {
			if param, resized = evd.Query(); param.QLen < 6 {
				faults = append(faults, fmt.Sprintf("a queue for 6 has room for %d", param.QLen))
			}
		}
		p.note(probeResize, resized)
		err = errors.Join(err, evd.Free())
	}
	p.note(probeQueue, err, faults...)
	p.note(probeQueueMost, p.tryQueue(min(p.attr.MaxEVDQLen, longest)))
	p.note(probeQueueMore, p.tryQueue(p.attr.MaxEVDQLen+1))
}

func (p *probe) tryQueue(length int) error {
	evd, err := p.evd(length, udat.EVDDTO)
	if err == nil {
		err = evd.Free()
	}
	return err
}

// capacity compares the length of a queue with that which the device makes of what was asked for.
func (p *probe) capacity(asked, has int) (faults []string) {
	if expected := expectedLength(os.Getenv(shapeVariable), asked); has != expected {
		faults = append(faults, fmt.Sprintf("a queue for %d has room for %d, and the device's for %d", asked, has, expected))
	}
	return faults
}

// endpoint is one end of a connection to itself.
type endpoint struct {
	*udat.EP
	recv, request, connect *udat.EVD
}

func (p *probe) endpoint(attr *udat.EPAttr, srq *udat.SRQ) (e endpoint, err error) {
	const length = 4
	if e.recv, err = p.evd(length, udat.EVDDTO); err == nil {
		if e.request, err = p.evd(length, udat.EVDDTO|udat.EVDRMRBind); err == nil {
			e.connect, err = p.evd(length, udat.EVDConnection)
		}
	}
	switch {
	case err != nil:
	case srq != nil:
		e.EP, err = udat.CreateEPWithSRQ(p.ia, p.pz, e.recv, e.request, e.connect, srq, attr)
	default:
		e.EP, err = udat.CreateEP(p.ia, p.pz, e.recv, e.request, e.connect, attr)
	}
	return e, err
}

func (e endpoint) free() (err error) {
	if e.EP != nil {
		err = e.EP.Free()
	}
	for _, evd := range []*udat.EVD{e.recv, e.request, e.connect} {
		if evd != nil {
			err = errors.Join(err, evd.Free())
		}
	}
	return err
}

func (p *probe) tryEndpoint(attr *udat.EPAttr, srq *udat.SRQ) error {
	e, err := p.endpoint(attr, srq)
	if freed := e.free(); err == nil {
		err = freed
	}
	return err
}

func (p *probe) endpoints() {
	p.note(probeEndpoint, p.tryEndpoint(nil, nil))
	most := min(p.attr.MaxDTOPerEP, longest)
	p.note(probeMost, p.tryEndpoint(&udat.EPAttr{MaxRecvDTOs: most, MaxRequestDTOs: most}, nil))
	p.note(probeMore, p.tryEndpoint(&udat.EPAttr{MaxRecvDTOs: p.attr.MaxDTOPerEP + 1}, nil))
	p.note(probeSegments, p.tryEndpoint(&udat.EPAttr{MaxRecvIOV: p.attr.MaxIOVSegmentsPerDTO + 1}, nil))
}

func (p *probe) sharedQueues() {
	srq, err := udat.CreateSRQ(p.ia, p.pz, udat.SRQAttr{MaxRecvDTOs: 2, MaxRecvIOV: 1})
	if err == nil {
		p.note(probeSRQResize, srq.Resize(3))
		err = errors.Join(p.tryEndpoint(nil, srq), srq.PostRecv(p.piece(0), 1), srq.Free())
	}
	p.note(probeSRQ, err)
}

func (p *probe) piece(n int) []udat.Segment { return []udat.Segment{p.segment(n, 64)} }

// segment returns the first bytes of a piece.
func (p *probe) segment(n, length int) udat.Segment {
	segment, err := p.memory.Segment(n*64, length)
	if err != nil {
		panic(err)
	}
	return segment
}

// connection connects two endpoints, and tries operations of all kinds.
func (p *probe) connection() {
	client, err := p.endpoint(nil, nil)
	server, serverErr := p.endpoint(nil, nil)
	requests, requestsErr := p.evd(2, udat.EVDCR)
	if err = errors.Join(err, serverErr, requestsErr); err == nil {
		err = p.connect(client, server, requests)
		if err == nil {
			err = p.transfer(client, server)
		}
		if err == nil {
			p.operations(client, server)
		}
	}
	freed := errors.Join(client.free(), server.free())
	if requests != nil {
		freed = errors.Join(freed, requests.Free())
	}
	var e *udat.Error
	if errors.As(err, &e) { // joined errors have the words of all
		err = e
	}
	if err == nil {
		err = freed
	}
	p.note(probeConnection, err)
}

const patience = 10 * time.Second

func (p *probe) connect(client, server endpoint, requests *udat.EVD) error {
	psp, err := udat.CreatePSPAny(p.ia, requests)
	if err != nil {
		return err
	}
	defer psp.Free()
	ctx, stop := context.WithTimeout(context.Background(), patience)
	defer stop()
	listening, err := psp.Query()
	if err != nil {
		return err
	}
	if err := client.Connect(p.attr.Address, listening.ConnQual, patience, nil); err != nil {
		return err
	}
	request, err := requests.Expect(ctx, udat.EventConnectionRequest)
	if err != nil {
		return err
	}
	if err := request.CR().Accept(server.EP, nil); err != nil {
		return err
	}
	_, err = client.connect.Expect(ctx, udat.EventConnectionEstablished)
	_, err2 := server.connect.Expect(ctx, udat.EventConnectionEstablished)
	return errors.Join(err, err2)
}

// completed waits for the successful end of an operation that was posted with an error or without.
func completed(evd *udat.EVD, number udat.EventNumber, err error) error {
	if err != nil {
		return err
	}
	ctx, stop := context.WithTimeout(context.Background(), patience)
	defer stop()
	_, err = evd.Expect(ctx, number)
	return err
}

// transfer sends a message, writes and reads.
func (p *probe) transfer(client, server endpoint) error {
	const message, received, written, read = 0, 1, 2, 3
	content := p.memory.Bytes()
	copy(content[:64], "a message of so many bytes, which is written and read back, too.")
	remote, err := p.memory.RMRTriplet(written*64, 64)
	if err != nil {
		return err
	}
	if err := server.PostRecv(p.piece(received), 1, 0); err != nil {
		return err
	}
	for _, post := range []func() error{
		func() error { return client.PostSend(p.piece(message), 2, 0) },
		func() error { return client.PostRDMAWrite(p.piece(message), 3, remote, 0) },
		func() error { return client.PostRDMARead(p.piece(read), 4, remote, 0) },
	} {
		if err := completed(client.request, udat.EventDTOCompletion, post()); err != nil {
			return err
		}
	}
	if err := completed(server.recv, udat.EventDTOCompletion, nil); err != nil {
		return err
	}
	for _, n := range []int{received, written, read} {
		if !bytes.Equal(content[n*64:][:64], content[:64]) {
			return fmt.Errorf("piece %d is not the message", n)
		}
	}
	return nil
}

// operations tries those that not every device has.
func (p *probe) operations(client, server endpoint) {
	window, err := udat.CreateRMR(p.pz)
	if err == nil {
		_, err = window.Bind(p.piece(4)[0], udat.MemPrivRemoteRead, client.EP, 1, 0)
		err = errors.Join(completed(client.request, udat.EventRMRBindCompletion, err), window.Free())
	}
	p.note(probeRMR, err)
	remote, err := p.memory.RMRTriplet(5*64, 8)
	p.note(probeAtomics, errors.Join(err, completed(client.request, udat.EventDTOCompletion, client.PostFetchAndAdd(1, p.segment(6, 8), 1, remote, 0))))
	err = server.PostRecv(p.piece(7), 1, 0)
	p.note(probeWriteImmed, errors.Join(err, completed(client.request, udat.EventDTOCompletion, client.PostRDMAWriteImmed([]udat.Segment{p.segment(6, 8)}, 2, remote, 9, 0))))
}
