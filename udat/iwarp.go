package udat

// misread reports whether the kernel's soft-iWARP returns wrong bytes for an RDMA read. If
// few bytes are on two pages of the peer's memory, it copies as many from the first page
// as are on the second (siw_try_1seg).
func (d *direction) misread(total uint64, remote *RMRTriplet) bool {
	const page = 4096 // the peer's are not smaller
	return d.ep.ia.iwarp && d.ep.ia.software && total <= mostMisread && remote.VirtualAddress%page+total > page
}

const mostMisread = 32
