package mpi

import "github.com/goudat/goudat/udat"

// windowWrite is an RDMA write into a window, and the memory that it needs until it is done.
type windowWrite struct {
	count  uint32        // posted at this write
	slot   int           // of the staging memory, -1 if there is none
	region *registration // nil for none
}

// postWrite writes a segment to a peer's memory. The caller has checked that there is room.
func (p *peer) postWrite(segment udat.Segment, to udat.RMRTriplet, done windowWrite) error {
	flags := p.signal()
	if done.region != nil {
		flags = p.mark()
	}
	to.SegmentLength = uint32(segment.Len())
	done.count = p.posted
	p.writes = append(p.writes, done)
	return p.ep.PostRDMAWrite([]udat.Segment{segment}, cookie(p, opWrite, p.posted), to, flags)
}

// written releases the memory of writes that are done.
func (p *peer) written() {
	for len(p.writes) > 0 && !later(p.writes[0].count, p.completed) {
		p.writes[0].end(p.world)
		p.writes = p.writes[1:]
	}
}

func (d windowWrite) end(w *World) {
	if d.slot >= 0 {
		w.staging.free = append(w.staging.free, d.slot)
	}
	if err := d.region.release(); err != nil && w.err == nil {
		w.fail(err)
	}
}
