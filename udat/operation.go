package udat

import "math"

// Post is one operation of EP.PostBatch, with the arguments of its own method.
type Post struct {
	Operation DTO // DTOSend, DTOReceive, DTORDMARead or DTORDMAWrite; the zero value is none of them, and refused
	Segments  []Segment
	Cookie    uint64
	Remote    RMRTriplet // of RDMA reads and writes
	Flags     CompletionFlags
}

// count returns a number for the library, which refuses one that is out of range.
func count(n int) int32 { return int32(min(max(n, -1), math.MaxInt32)) }

// operation describes operations of one kind.
type operation struct {
	call     string
	dto      DTO             // its name in events, and for the library
	needs    MemPriv         // of local memory
	flags    CompletionFlags // flags that it may have
	flagsArg ReturnSubtype   // by which an error names the flags
	remote   bool            // it has remote memory
}

const (
	requestPostFlags = CompletionSuppress | CompletionSolicitedWait | CompletionUnsignalled | CompletionBarrierFence
	recvPostFlags    = CompletionUnsignalled
)

const bindOp = "dat_rmr_bind"

var (
	opSend           = operation{call: "dat_ep_post_send", dto: DTOSend, needs: MemPrivLocalRead, flags: requestPostFlags, flagsArg: InvalidArg5}
	opReceive        = operation{call: "dat_ep_post_recv", dto: DTOReceive, needs: MemPrivLocalWrite, flags: recvPostFlags, flagsArg: InvalidArg5}
	opRDMARead       = operation{call: "dat_ep_post_rdma_read", dto: DTORDMARead, needs: MemPrivLocalWrite, flags: requestPostFlags, flagsArg: InvalidArg6, remote: true}
	opRDMAWrite      = operation{call: "dat_ep_post_rdma_write", dto: DTORDMAWrite, needs: MemPrivLocalRead, flags: requestPostFlags, flagsArg: InvalidArg6, remote: true}
	opRDMAWriteImmed = operation{call: "dat_ib_post_rdma_write_immed", dto: DTOIBRDMAWriteImmed, needs: MemPrivLocalRead, flags: requestPostFlags, flagsArg: InvalidArg7, remote: true}
	opFetchAndAdd    = operation{call: "dat_ib_post_fetch_and_add", dto: DTOIBFetchAdd, needs: MemPrivLocalWrite, flags: requestPostFlags, flagsArg: InvalidArg6, remote: true}
	opCmpAndSwap     = operation{call: "dat_ib_post_cmp_and_swap", dto: DTOIBCmpSwap, needs: MemPrivLocalWrite, flags: requestPostFlags, flagsArg: InvalidArg6, remote: true}
	opSharedReceive  = operation{call: "dat_srq_post_recv", dto: DTOReceive, needs: MemPrivLocalWrite}
	opBind           = operation{call: bindOp, dto: DTOBindMW, needs: knownPrivileges, flagsArg: InvalidArg8}
)

// batchedOperation returns what a Post does, nil for an operation that is not posted in a batch.
func batchedOperation(o DTO) *operation {
	switch o {
	case DTOSend:
		return &opSend
	case DTOReceive:
		return &opReceive
	case DTORDMARead:
		return &opRDMARead
	case DTORDMAWrite:
		return &opRDMAWrite
	}
	return nil
}
