package udat

import "slices"

// operation describes operations of one kind.
type operation struct {
	call      string
	dto       DTO             // its name in events, and for the library
	needs     MemPriv         // of local memory
	flags     CompletionFlags // flags that it may have
	flagsArg  ReturnSubtype   // by which an error names the flags
	remote    bool            // it has remote memory
	limit     sizeLimit
	attribute string // that of the provider which is FALSE if the device does not have it
}

// sizeLimit says which of an endpoint's limits bounds the bytes of an operation.
type sizeLimit uint8

const (
	asMessage sizeLimit = iota
	asRDMA
	asMemory // without a limit
)

const (
	requestPostFlags = CompletionSuppress | CompletionSolicitedWait | CompletionUnsignalled | CompletionBarrierFence
	recvPostFlags    = CompletionUnsignalled
)

const bindOp = "dat_rmr_bind"

var (
	opSend           = operation{"dat_ep_post_send", DTOSend, MemPrivLocalRead, requestPostFlags, InvalidArg5, false, asMessage, ""}
	opReceive        = operation{"dat_ep_post_recv", DTOReceive, MemPrivLocalWrite, recvPostFlags, InvalidArg5, false, asMessage, ""}
	opRDMARead       = operation{"dat_ep_post_rdma_read", DTORDMARead, MemPrivLocalWrite, requestPostFlags, InvalidArg6, true, asRDMA, ""}
	opRDMAWrite      = operation{"dat_ep_post_rdma_write", DTORDMAWrite, MemPrivLocalRead, requestPostFlags, InvalidArg6, true, asRDMA, ""}
	opRDMAWriteImmed = operation{"dat_ib_post_rdma_write_immed", DTOIBRDMAWriteImmed, MemPrivLocalRead, requestPostFlags, InvalidArg7, true, asRDMA, "DAT_IB_IMMED_DATA"}
	opFetchAndAdd    = operation{"dat_ib_post_fetch_and_add", DTOIBFetchAdd, MemPrivLocalWrite, requestPostFlags, InvalidArg6, true, asMessage, "DAT_IB_FETCH_AND_ADD"}
	opCmpAndSwap     = operation{"dat_ib_post_cmp_and_swap", DTOIBCmpSwap, MemPrivLocalWrite, requestPostFlags, InvalidArg6, true, asMessage, "DAT_IB_CMP_AND_SWAP"}
	opSharedReceive  = operation{call: "dat_srq_post_recv", dto: DTOReceive, needs: MemPrivLocalWrite, limit: asMemory}
	opBind           = operation{bindOp, DTOBindMW, knownPrivileges, 0, InvalidArg8, false, asMemory, ""}
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

var extensionOperations = []*operation{&opRDMAWriteImmed, &opFetchAndAdd, &opCmpAndSwap}

// lackedBy reports whether the attributes deny the operation. The adapters' libraries
// refuse it only when it is posted, if at all.
func (op *operation) lackedBy(attributes []NamedAttr) bool {
	return op.attribute != "" && slices.Contains(attributes, NamedAttr{op.attribute, "FALSE"})
}
