package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/goudat/goudat/udat"
)

// node is one side: an adapter, an endpoint on it, and memory for the messages.
type node struct {
	waiting int // messages that come before their receives
	who     string
	verbose bool
	ia      *udat.IA
	pz      *udat.PZ
	connect *udat.EVD
	request *udat.EVD
	recv    *udat.EVD
	ep      *udat.EP

	messages *udat.LMR // slots for receives, then one for sends
	exposed  *udat.LMR // memory that the peer may write and read
	slot     int       // bytes of a slot

	summary summary
}

const (
	// receives that each side keeps posted.
	receives = 8
	// events is the length of the queues for completions.
	events = 64
	// exposedSize is the number of bytes that are written and read by RDMA.
	exposedSize = 64 << 10
)

// newNode opens the adapter and makes everything up to an unconnected endpoint.
// The caller closes the node, also when newNode fails.
func newNode(who string, s settings) (*node, error) {
	n := &node{who: who, verbose: s.verbose, slot: max(s.largest(), 1)}
	var err error
	if n.ia, err = udat.Open(s.provider); err != nil {
		return n, err
	}
	attr, provider, err := n.ia.Query()
	if err != nil {
		return n, err
	}
	n.detail("opened %s: device %s at %v, private data up to %d bytes", n.ia.Name(), attr.AdapterName, attr.Address, provider.MaxPrivateDataSize)
	if n.waiting, err = waits(attr.AdapterName); err != nil {
		return n, err
	}
	if n.pz, err = udat.CreatePZ(n.ia); err != nil {
		return n, err
	}
	for _, e := range []struct {
		evd   **udat.EVD
		flags udat.EVDFlags
	}{{&n.connect, udat.EVDConnection}, {&n.request, udat.EVDDTO}, {&n.recv, udat.EVDDTO}} {
		if *e.evd, err = udat.CreateEVD(n.ia, events, nil, e.flags); err != nil {
			return n, err
		}
	}
	if n.ep, err = udat.CreateEP(n.ia, n.pz, n.recv, n.request, n.connect, nil); err != nil {
		return n, err
	}
	n.status("created")
	if err := n.configure(); err != nil {
		return n, err
	}
	if n.messages, err = udat.AllocMemory(n.pz, (receives+1)*n.slot, udat.MemPrivLocalRead|udat.MemPrivLocalWrite); err != nil {
		return n, err
	}
	// Memory of the Go heap works, too; it is pinned while it is registered.
	n.exposed, err = udat.RegisterMemory(n.pz, make([]byte, exposedSize), udat.MemPrivAll)
	return n, err
}

// configure changes the endpoint, which was made with the provider's defaults.
func (n *node) configure() error {
	before, err := n.ep.Query()
	if err != nil {
		return err
	}
	wanted := udat.EPParam{Attr: udat.EPAttr{MaxRecvDTOs: 3 * receives, MaxRequestDTOs: events / 2}}
	if err := n.ep.Modify(udat.EPFieldMaxRecvDTOs|udat.EPFieldMaxRequestDTOs, &wanted); err != nil {
		return err
	}
	after, err := n.ep.Query()
	if err != nil {
		return err
	}
	n.detail("modified: receives %d -> %d, requests %d -> %d", before.Attr.MaxRecvDTOs, after.Attr.MaxRecvDTOs,
		before.Attr.MaxRequestDTOs, after.Attr.MaxRequestDTOs)
	n.status("modified")
	return nil
}

// close frees everything, users first. It continues after errors.
func (n *node) close() error {
	if n.ia == nil {
		return nil
	}
	var errs []error
	free := func(made bool, free func() error) {
		if made {
			errs = append(errs, free())
		}
	}
	free(n.ep != nil, n.ep.Free)
	free(n.messages != nil, n.messages.Free)
	free(n.exposed != nil, n.exposed.Free)
	free(n.pz != nil, n.pz.Free)
	for _, evd := range []*udat.EVD{n.connect, n.request, n.recv} {
		free(evd != nil, evd.Free)
	}
	errs = append(errs, n.ia.Close(udat.CloseGraceful))
	if err := errors.Join(errs...); err != nil {
		return err
	}
	n.detail("freed everything")
	return nil
}

func (n *node) say(format string, args ...any) {
	fmt.Printf("%s: %s\n", n.who, fmt.Sprintf(format, args...))
}

// detail is say for steps that only -verbose shows.
func (n *node) detail(format string, args ...any) {
	if n.verbose {
		n.say(format, args...)
	}
}

// status shows the endpoint's state, as a detail.
func (n *node) status(step string) {
	if !n.verbose {
		return
	}
	status, err := n.ep.GetStatus()
	if err != nil {
		n.say("%-22s %v", step, err)
		return
	}
	state := strings.TrimPrefix(status.State.String(), "DAT_EP_STATE_")
	n.say("%-22s %-26s recv idle %-5t request idle %t", step, state, status.RecvIdle, status.RequestIdle)
}

// completion waits for an operation to complete with success.
func (n *node) completion(ctx context.Context, evd *udat.EVD) (udat.Event, error) {
	event, err := evd.Wait(ctx)
	if err != nil {
		return event, err
	}
	if err := event.Err(); err != nil {
		return event, fmt.Errorf("%v: %w%s", event.Operation, err, n.reason(ctx))
	}
	return event, nil
}

// reason says how the connection ended, since the failed operation does not.
func (n *node) reason(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	event, err := n.connect.Wait(ctx)
	if err != nil {
		return ""
	}
	return fmt.Sprintf(", the connection ended with %v", event.Number)
}

// postReceive posts a receive into slot i. The slot's number is the cookie.
func (n *node) postReceive(i int) error {
	segment, err := n.messages.Segment(i*n.slot, n.slot)
	if err != nil {
		return err
	}
	return n.ep.PostRecv([]udat.Segment{segment}, uint64(i), 0)
}

func (n *node) postReceives() error {
	for i := range receives {
		if err := n.postReceive(i); err != nil {
			return err
		}
	}
	n.status("receives posted")
	return nil
}

// send writes message m into the send slot and posts it the given number of times. The slot is free again when the
// sends have completed.
func (n *node) send(m message, times int) error {
	segment, err := n.messages.Segment(receives*n.slot, m.size)
	if err != nil {
		return err
	}
	m.write(n.messages.Bytes()[receives*n.slot:][:m.size])
	for range times {
		if err := n.ep.PostSend([]udat.Segment{segment}, m.number, 0); err != nil {
			return err
		}
	}
	return nil
}

// receive waits for message m, checks it, and posts its receive again.
func (n *node) receive(ctx context.Context, m message) error {
	slot, err := n.take(ctx, m)
	if err != nil {
		return err
	}
	return n.postReceive(slot)
}

// take waits for message m, checks it, and returns its slot, which is now free.
func (n *node) take(ctx context.Context, m message) (slot int, err error) {
	event, err := n.completion(ctx, n.recv)
	if err != nil {
		return 0, fmt.Errorf("message %d: %w", m.number, err)
	}
	slot = int(event.Cookie)
	if err := m.check(n.messages.Bytes()[slot*n.slot:][:event.Length]); err != nil {
		return slot, err
	}
	n.summary.count(m.size)
	return slot, nil
}
