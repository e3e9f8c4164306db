package udat

// operation says what a post does.
type operation uint8

const (
	opSend operation = iota
	opRDMAWrite
	opRDMARead
	opReceive
	opRDMAWriteImmed
	opFetchAndAdd
	opCmpAndSwap
	opSharedReceive
	opBind
)

// operationSet is a set of operations, a bit each.
type operationSet uint16

func (s operationSet) has(op operation) bool { return s>>op&1 != 0 }

// kind describes operations of one kind.
type kind struct {
	call     string
	dto      DTO             // its name in events, and for the library
	needs    MemPriv         // of local memory
	flags    CompletionFlags // flags that it may have
	flagsArg ReturnSubtype   // by which an error names the flags
	remote   bool            // it has remote memory
	sized    sizeLimit
}

const bindOp = "dat_rmr_bind"

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

// kinds describes all operations.
var kinds = [...]kind{
	opSend:           {"dat_ep_post_send", DTOSend, MemPrivLocalRead, requestPostFlags, InvalidArg5, false, asMessage},
	opReceive:        {"dat_ep_post_recv", DTOReceive, MemPrivLocalWrite, recvPostFlags, InvalidArg5, false, asMessage},
	opRDMARead:       {"dat_ep_post_rdma_read", DTORDMARead, MemPrivLocalWrite, requestPostFlags, InvalidArg6, true, asRDMA},
	opRDMAWrite:      {"dat_ep_post_rdma_write", DTORDMAWrite, MemPrivLocalRead, requestPostFlags, InvalidArg6, true, asRDMA},
	opRDMAWriteImmed: {"dat_ib_post_rdma_write_immed", DTOIBRDMAWriteImmed, MemPrivLocalRead, requestPostFlags, InvalidArg7, true, asRDMA},
	opFetchAndAdd:    {"dat_ib_post_fetch_and_add", DTOIBFetchAdd, MemPrivLocalWrite, requestPostFlags, InvalidArg6, true, asMessage},
	opCmpAndSwap:     {"dat_ib_post_cmp_and_swap", DTOIBCmpSwap, MemPrivLocalWrite, requestPostFlags, InvalidArg6, true, asMessage},
	opSharedReceive:  {call: "dat_srq_post_recv", dto: DTOReceive, needs: MemPrivLocalWrite},
	opBind:           {bindOp, DTOBindMW, knownPrivileges, 0, InvalidArg8, false, asMemory},
}

func (op operation) dto() DTO { return kinds[op].dto }

// extensionAttributes has the provider's names for the extension's operations: attributes
// of a device that are TRUE or FALSE.
var extensionAttributes = map[string]operation{
	"DAT_IB_IMMED_DATA":    opRDMAWriteImmed,
	"DAT_IB_FETCH_AND_ADD": opFetchAndAdd,
	"DAT_IB_CMP_AND_SWAP":  opCmpAndSwap,
}

// lackedOperations are those that the attributes deny. The adapters' libraries
// refuse them only when they are posted, if at all.
func lackedOperations(attributes []NamedAttr) (lacked operationSet) {
	for _, a := range attributes {
		if op, known := extensionAttributes[a.Name]; known && a.Value == "FALSE" {
			lacked |= 1 << op
		}
	}
	return lacked
}
