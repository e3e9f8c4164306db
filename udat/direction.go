package udat

import (
	"github.com/goudat/goudat/cgo"
	"github.com/goudat/goudat/udat/internal/lockorder"
)

// A direction is one of the two queues of an endpoint, receives or requests. Its lock is
// the one that the library does not take when it posts.
type direction struct {
	ep *EP
	mu lockorder.Mutex[directionRank]

	handle                      cgo.EPHandle // 0 once the endpoint is freed
	idle                        bool         // it has no EVD, so that nothing can be posted
	pz                          *PZ
	maxIOV                      int
	maxMessageSize, maxRDMASize uint32
	noReads                     bool

	iov   []cgo.LMRTriplet // scratch
	posts []cgo.Post       // scratch
}

// init sets up a direction for new attributes. The caller holds mu, unless the endpoint is
// new.
func (d *direction) init(ep *EP, p *epParts) {
	evd, maxIOV := p.recv, p.attr.MaxRecvIOV
	if d == &ep.request {
		evd, maxIOV = p.request, p.attr.MaxRequestIOV
	}
	d.ep, d.handle, d.idle, d.pz, d.maxIOV = ep, ep.handle, evd == nil, p.pz, maxIOV
	d.maxMessageSize, d.maxRDMASize = p.attr.MaxMessageSize, p.attr.MaxRDMASize
	d.noReads = readsOf(p.attr.MaxRDMAReadOut) == 0
}
