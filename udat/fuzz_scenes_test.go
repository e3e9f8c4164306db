package udat_test

import (
	"context"
	"reflect"
	"slices"
	"time"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/udattest"
)

// A scene is several calls that lead to something which single ones rarely
// reach. Each ends early when a call fails.
type scene struct {
	name string
	play func(s *sequence)
}

// scenes are in here as often as they are to be played.
var scenes = slices.Concat(
	[]scene{
		{"endpoint", func(s *sequence) { s.playEndpoint() }},
		{"duplicate", (*sequence).playDuplicate},
		{"modify", (*sequence).playModify},
		{"flood", (*sequence).playFlood},
		{"shared receive queue", (*sequence).playSRQ},
		{"reserved service point", (*sequence).playRSP},
		{"notification", (*sequence).playNotification},
		{"poll", (*sequence).playPoll},
		{"free", (*sequence).playFree},
	},
	slices.Repeat([]scene{{"disconnect", (*sequence).playDisconnect}, {"serve", (*sequence).playServe}, {"storm", (*sequence).playStorm}}, 2),
	slices.Repeat([]scene{{"pair", func(s *sequence) { s.playPair() }}, {"traffic", (*sequence).playTraffic}}, 3),
)

// noCNO is no notification object, for CreateEVD.
var noCNO *udat.CNO

// sceneEnds ends a scene, some of whose calls cannot be made.
type sceneEnds struct{}

func (sc scene) run(s *sequence) {
	defer func() {
		if r := recover(); r != nil && r != (sceneEnds{}) {
			panic(r)
		}
	}()
	sc.play(s)
}

// need ends the scene unless ok.
func need(ok bool) {
	if !ok {
		panic(sceneEnds{})
	}
}

// need is do for a call without which the scene ends.
func (s *sequence) need(name string, args ...any) []reflect.Value {
	results, err := s.do(name, args...)
	need(err == nil)
	return results
}

// made is need for a call with one result.
func made[T any](s *sequence, name string, args ...any) T {
	return s.need(name, args...)[0].Interface().(T)
}

// playEndpoint makes an endpoint with all that it needs, in a cluster of its own.
func (s *sequence) playEndpoint() *cluster {
	ia := s.focus.ia
	if len(s.clusters) < maxClusters {
		s.newCluster(ia)
	}
	c := s.focus
	length := choose(s.script, 64, 256, 32)
	c.pz = made[*udat.PZ](s, "CreatePZ", ia)
	c.recv = made[*udat.EVD](s, "CreateEVD", ia, length, noCNO, udat.EVDDTO)
	c.request = c.recv
	if s.percent(70) {
		c.request = made[*udat.EVD](s, "CreateEVD", ia, length, noCNO, udat.EVDDTO|choose(s.script, 0, udat.EVDSoftware))
	}
	c.connect = made[*udat.EVD](s, "CreateEVD", ia, length, noCNO, udat.EVDConnection)
	c.memory = made[*udat.LMR](s, "AllocMemory", c.pz, 16<<10, udat.MemPrivAll|udat.MemPrivIBRemoteAtomic)
	var attr any
	if s.percent(30) {
		attr = s.changed(defaultEPAttr)
	}
	c.ep = made[*udat.EP](s, "CreateEP", ia, c.pz, c.recv, c.request, c.connect, attr)
	return c
}

// isIn reports whether the cluster has an endpoint in the state.
func (c *cluster) isIn(state udat.EPState) bool {
	status, err := c.ep.GetStatus()
	return err == nil && status.State == state
}

// unconnected returns a cluster whose endpoint can connect, on the focus' adapter.
func (s *sequence) unconnected(other *cluster) *cluster {
	ia := s.focus.ia
	for _, c := range s.clusters {
		if c != other && c.ia == ia && c.isIn(udat.EPStateUnconnected) {
			return c
		}
	}
	return s.playEndpoint()
}

// listen makes a service point in the cluster, unless it has one.
func (s *sequence) listen(c *cluster) {
	if _, err := c.psp.Query(); err == nil {
		return
	}
	c.requests = made[*udat.EVD](s, "CreateEVD", c.ia, choose(s.script, 4, 16, 64), noCNO, udat.EVDCR)
	if s.percent(20) {
		c.psp = made[*udat.PSP](s, "CreatePSPAny", c.ia, c.requests)
		param, _ := c.psp.Query()
		c.qual = param.ConnQual
		return
	}
	c.qual = udattest.ConnQual()
	c.psp = made[*udat.PSP](s, "CreatePSP", c.ia, c.qual, c.requests)
}

// next waits for the next event, which may never come.
func (s *sequence) next(evd *udat.EVD) (event udat.Event, came bool) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	results, err := s.do("EVD.Wait", evd, ctx)
	if err != nil {
		return event, false
	}
	return results[0].Interface().(udat.Event), true
}

// nextRequest waits for a request, without which the scene ends.
func (s *sequence) nextRequest(evd *udat.EVD) *udat.CR {
	event, came := s.next(evd)
	need(came && event.CR() != nil)
	return event.CR()
}

// playPair connects two endpoints, of the same adapter or of another one of the
// same provider.
func (s *sequence) playPair() (active, passive *cluster) {
	passive = s.unconnected(nil)
	s.listen(passive)
	if s.percent(20) {
		s.focus = choose(s.script, s.clusters...)
		if s.focus.ia.Name() != passive.ia.Name() {
			s.focus = passive
		}
	}
	active = s.unconnected(passive)
	timeout := choose(s.script, longTimeouts...)
	if s.percent(10) {
		timeout = time.Duration(1+s.below(60)) * time.Millisecond
	}
	s.need("EP.Connect", active.ep, passive.address(), passive.qual, timeout, make([]byte, s.below(56)))
	s.need("CR.Accept", s.nextRequest(passive.requests), passive.ep, make([]byte, s.below(56)))
	need(!s.percent(10)) // to be found with the connection half made
	for _, c := range []*cluster{active, passive} {
		event, came := s.next(c.connect)
		need(came && event.Number == udat.EventConnectionEstablished)
	}
	active.peer, passive.peer = passive, active
	return active, passive
}

// connected returns an endpoint that is connected, and its peer.
func (s *sequence) connected() (c, peer *cluster) {
	for _, c := range append([]*cluster{s.focus}, s.clusters...) {
		if c.peer != nil && c.isIn(udat.EPStateConnected) {
			return c, c.peer
		}
	}
	return s.playPair()
}

// playTraffic posts operations of all kinds to a connected endpoint.
func (s *sequence) playTraffic() {
	c, peer := s.connected()
	posted := 0
	for range 1 + s.below(6) {
		local, _ := c.memory.Segment(8*s.below(64), choose(s.script, 8, 0, 64, 100, 4096))
		eight, _ := c.memory.Segment(8*s.below(64), 8)
		into, _ := peer.memory.Segment(8*s.below(64), choose(s.script, 4096, 4096, 4096, 8))
		remote, _ := peer.memory.RMRTriplet(8*s.below(64), 8192)
		flags := choose(s.script, 0, 0, 0, udat.CompletionSuppress, udat.CompletionSolicitedWait, udat.CompletionBarrierFence)
		cookie := uint64(s.below(256))
		kind := s.below(7)
		if kind <= 2 && s.percent(90) {
			if _, err := s.do("EP.PostRecv", peer.ep, one(into), cookie, nil); err != nil {
				return
			}
		}
		post := [][]any{
			{"EP.PostSend", c.ep, []udat.Segment{local, eight}, cookie, flags},
			{"EP.PostSend", c.ep, []udat.Segment{local, eight}, cookie, flags},
			{"EP.PostRDMAWriteImmed", c.ep, one(local), cookie, remote, uint32(7), flags},
			{"EP.PostRDMAWrite", c.ep, one(local), cookie, remote, flags},
			{"EP.PostRDMARead", c.ep, one(local), cookie, remote, flags},
			{"EP.PostFetchAndAdd", c.ep, uint64(1), eight, cookie, remote, flags},
			{"EP.PostCmpAndSwap", c.ep, uint64(0), uint64(1), eight, cookie, remote, flags},
		}[kind]
		if _, err := s.do(post[0].(string), post[1:]...); err != nil {
			break
		}
		posted++
	}
	if posted > 0 && s.percent(60) {
		if _, ok := s.next(c.request); ok {
			s.do("EVD.Poll", c.request, make([]udat.Event, 16))
		}
		s.do("EVD.Poll", peer.recv, make([]udat.Event, 16))
	}
}

// playDisconnect ends a connection, on one side or on both, and makes what it
// ends with ready for another.
func (s *sequence) playDisconnect() {
	c, peer := s.connected()
	s.do("EP.Disconnect", c.ep, choose(s.script, udat.CloseAbrupt, udat.CloseGraceful))
	if s.percent(30) {
		s.do("EP.Disconnect", peer.ep, choose(s.script, udat.CloseAbrupt, udat.CloseGraceful))
	}
	if s.percent(70) {
		s.next(c.connect)
		s.next(peer.connect)
	}
	if s.percent(70) {
		s.do("EP.Reset", c.ep)
		s.do("EP.Reset", peer.ep)
	}
}

// playDuplicate connects one more endpoint to the service of another.
func (s *sequence) playDuplicate() {
	c, peer := s.connected()
	if peer.psp == nil {
		c, peer = peer, c
	}
	need(peer.psp != nil)
	s.focus = c
	active, passive := s.unconnected(c), s.unconnected(peer)
	s.need("EP.DupConnect", active.ep, c.ep, 10*time.Second, nil)
	if event, ok := s.next(peer.requests); ok && passive != active {
		s.do("CR.Accept", event.CR(), passive.ep, nil)
		s.next(active.connect)
	}
}

// playModify changes parameters of an endpoint that receives are posted to.
func (s *sequence) playModify() {
	c := s.unconnected(nil)
	into, _ := c.memory.Segment(0, 64)
	for range s.below(3) {
		s.do("EP.PostRecv", c.ep, one(into), uint64(1), nil)
	}
	param := made[udat.EPParam](s, "EP.Query", c.ep)
	param.Attr = *s.changed(param.Attr)
	mask := choose(s.script, udat.EPFieldMaxRecvDTOs|udat.EPFieldMaxRequestDTOs, udat.EPFieldMaxMessageSize|udat.EPFieldMaxRDMASize,
		udat.EPFieldMaxRecvIOV|udat.EPFieldMaxRequestIOV, udat.EPFieldMaxRDMAReadIn|udat.EPFieldMaxRDMAReadOut, udat.EPFieldPZ|udat.EPFieldRecvEVD)
	s.do("EP.Modify", c.ep, mask, &param)
}

// playFlood sends a listener more requests than it answers.
func (s *sequence) playFlood() {
	server := s.unconnected(nil)
	s.listen(server)
	for range 2 + s.below(6) {
		ep := made[*udat.EP](s, "CreateEP", server.ia, server.pz, server.recv, server.request, server.connect, &udat.EPAttr{
			MaxMessageSize: 4096, MaxRDMASize: 4096, MaxRecvDTOs: 1, MaxRequestDTOs: 1, MaxRecvIOV: 1, MaxRequestIOV: 1,
		})
		s.do("EP.Connect", ep, server.address(), server.qual, 10*time.Second, nil)
	}
	if s.percent(50) {
		s.serve(server)
	}
}

func (s *sequence) playServe() {
	for _, c := range s.clusters {
		if c.requests != nil {
			s.serve(c)
		}
	}
}

// serve answers what has come to a listener, in one way or the other.
func (s *sequence) serve(c *cluster) {
	for range 4 {
		event := made[udat.Event](s, "EVD.Dequeue", c.requests)
		switch s.below(4) {
		case 0:
			s.do("CR.Reject", event.CR(), make([]byte, s.below(56)))
		case 1, 2:
			s.focus = c
			s.do("CR.Accept", event.CR(), s.unconnected(nil).ep, nil)
		}
	}
}

// playSRQ connects an endpoint with a shared receive queue and sends to it.
func (s *sequence) playSRQ() {
	c := s.playEndpoint()
	srq := made[*udat.SRQ](s, "CreateSRQ", c.ia, c.pz, udat.SRQAttr{MaxRecvDTOs: 4, MaxRecvIOV: 2})
	c.ep = made[*udat.EP](s, "CreateEPWithSRQ", c.ia, c.pz, c.recv, c.request, c.connect, srq, nil)
	segment, _ := c.memory.Segment(0, 64)
	for range s.below(6) {
		s.do("SRQ.PostRecv", srq, one(segment), uint64(s.below(8)))
	}
	if s.percent(60) {
		s.playPair()
		s.playTraffic()
	}
}

// playRSP connects to an endpoint that is reserved.
func (s *sequence) playRSP() {
	passive := s.unconnected(nil)
	requests := made[*udat.EVD](s, "CreateEVD", passive.ia, 8, noCNO, udat.EVDCR)
	qual := udattest.ConnQual()
	s.need("CreateRSP", passive.ia, qual, passive.ep, requests)
	active := s.unconnected(passive)
	need(!s.percent(20))
	s.need("EP.Connect", active.ep, passive.address(), qual, 10*time.Second, nil)
	cr := s.nextRequest(requests)
	switch s.below(4) {
	case 0:
		s.do("CR.Reject", cr, nil)
	case 1, 2:
		s.need("CR.Accept", cr, nil, nil)
		s.next(active.connect)
		s.next(passive.connect)
		active.peer, passive.peer = passive, active
	}
}

// playNotification attaches an event dispatcher to a notification object and
// has something happen on it.
func (s *sequence) playNotification() {
	cno := made[*udat.CNO](s, "CreateCNO", s.focus.ia, parameter{sequence: s, call: surface["CreateCNO"]}.agent())
	evd := made[*udat.EVD](s, "CreateEVD", s.focus.ia, 8, noCNO, udat.EVDSoftware)
	s.do("EVD.ModifyCNO", evd, cno)
	for _, other := range []*udat.EVD{s.focus.recv, s.focus.connect} {
		if other != nil && s.percent(50) {
			s.do("EVD.ModifyCNO", other, cno)
		}
	}
	s.beside("CNO.Wait", cno, context.Background())
	for range s.below(12) {
		s.do("EVD.PostSE", evd, uint64(1))
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	s.do("CNO.Wait", cno, ctx)
	if s.percent(50) {
		s.do("EVD.Events", evd, ctx)
	}
	s.beside("EVD.Wait", evd, context.Background())
}

// playStorm has others use an endpoint while it and what it needs are freed,
// disconnected or replaced.
func (s *sequence) playStorm() {
	c, peer := s.connected()
	local, _ := c.memory.Segment(0, 64)
	end := func() udat.CloseFlags { return choose(s.script, udat.CloseAbrupt, udat.CloseGraceful) }
	for range 2 + s.below(4) {
		choose(s.script,
			func() { s.beside("EVD.Wait", c.request, context.Background()) },
			func() { s.beside("EVD.Wait", c.connect, context.Background()) },
			func() { s.beside("EVD.WaitBatch", c.recv, context.Background(), make([]udat.Event, 4), 2) },
			func() { s.beside("EP.PostSend", c.ep, one(local), uint64(1), nil) },
			func() { s.beside("EP.PostRecv", c.ep, one(local), uint64(1), nil) },
			func() { s.beside("EP.Disconnect", c.ep, end()) },
			func() { s.beside("EP.Free", peer.ep) },
			func() { s.beside("EP.Query", c.ep) },
			func() { s.beside("EVD.SpinPoll", c.request, make([]udat.Event, 4), 2*time.Millisecond) },
		)()
	}
	switch s.below(5) {
	case 0, 1:
		s.do("EP.Free", c.ep)
		s.do("LMR.Free", c.memory)
		s.do("EVD.Free", c.request)
		s.do("EVD.Free", c.connect)
	case 2:
		s.do("EP.Disconnect", c.ep, end())
		s.do(choose(s.script, "EP.Free", "EP.Reset"), c.ep)
	case 3:
		s.do("IA.Close", c.ia, udat.CloseAbrupt)
	case 4:
		s.do("EVD.SetUnwaitable", c.request)
		s.do("EP.Free", peer.ep)
		s.do("EP.PostSend", c.ep, one(local), uint64(1), nil)
	}
}

// playPoll takes the events of all that the focus has.
func (s *sequence) playPoll() {
	for _, evd := range s.objects(s.focus, reflect.TypeFor[*udat.EVD]()) {
		s.do("EVD.Poll", evd, make([]udat.Event, 8))
	}
}

// playFree frees some of what the focus has, in the order that is right.
func (s *sequence) playFree() {
	for _, typ := range slices.Backward(objectTypes) {
		if s.percent(20) {
			return
		}
		for _, o := range s.objects(s.focus, typ) {
			s.free(o)
		}
	}
}
