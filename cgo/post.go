package cgo

// Post is one operation, as EPPost and EPPostBatch take it.
type Post struct {
	Operation DTO
	Segments  uint32 // number of them
	Cookie    uint64
	Remote    RMRTriplet // of RDMA reads and writes
	Flags     CompletionFlags
	_         uint32
}
