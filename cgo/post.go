package cgo

// Post is one operation of a batch, as the shim goudat_ep_post_batch takes it.
type Post struct {
	Operation DTO
	Segments  uint32 // number of them
	Cookie    uint64
	Remote    RMRTriplet // of RDMA reads and writes
	Flags     CompletionFlags
	_         uint32
}
