package cgo

// The types and constants of the InfiniBand extensions, dat_ib_extensions.h, without those of the collective
// operations: no provider is built with them. A value that an extension adds to a type of the base API is with that
// type.

// IBExtensionVersion is the version of the extensions in the headers: three digits for its three parts.
const IBExtensionVersion = 209 // DAT_IB_EXTENSION_VERSION

// IBOp names an extended operation, DAT_IB_OP.
type IBOp uint32

const (
	IBOpFetchAndAdd    IBOp = 0      // DAT_IB_FETCH_AND_ADD_OP
	IBOpCmpAndSwap     IBOp = 1      // DAT_IB_CMP_AND_SWAP_OP
	IBOpRDMAWriteImmed IBOp = 2      // DAT_IB_RDMA_WRITE_IMMED_OP
	IBOpUDSend         IBOp = 3      // DAT_IB_UD_SEND_OP
	IBOpQueryCounters  IBOp = 4      // DAT_IB_QUERY_COUNTERS_OP
	IBOpPrintCounters  IBOp = 5      // DAT_IB_PRINT_COUNTERS_OP
	IBOpStartCounters  IBOp = 26     // DAT_IB_START_COUNTERS_OP
	IBOpStopCounters   IBOp = 27     // DAT_IB_STOP_COUNTERS_OP
	IBOpUDCMFree       IBOp = 28     // DAT_IB_UD_CM_FREE_OP
	IBOpUDAHFree       IBOp = 29     // DAT_IB_UD_AH_FREE_OP
	IBOpOpenQuery      IBOp = 0x1000 // DAT_IB_OPEN_QUERY_OP
	IBOpCloseQuery     IBOp = 0x2000 // DAT_IB_CLOSE_QUERY_OP
)

// IBExtType names what the extension data of an event holds, DAT_IB_EXT_TYPE.
type IBExtType uint32

const (
	IBExtFetchAndAdd        IBExtType = 0  // DAT_IB_FETCH_AND_ADD
	IBExtCmpAndSwap         IBExtType = 1  // DAT_IB_CMP_AND_SWAP
	IBExtRDMAWriteImmed     IBExtType = 2  // DAT_IB_RDMA_WRITE_IMMED
	IBExtRDMAWriteImmedData IBExtType = 3  // DAT_IB_RDMA_WRITE_IMMED_DATA
	IBExtRecvImmedData      IBExtType = 4  // DAT_IB_RECV_IMMED_DATA
	IBExtUDConnectRequest   IBExtType = 5  // DAT_IB_UD_CONNECT_REQUEST
	IBExtUDRemoteAH         IBExtType = 6  // DAT_IB_UD_REMOTE_AH
	IBExtUDPassiveRemoteAH  IBExtType = 7  // DAT_IB_UD_PASSIVE_REMOTE_AH
	IBExtUDSend             IBExtType = 8  // DAT_IB_UD_SEND
	IBExtUDRecv             IBExtType = 9  // DAT_IB_UD_RECV
	IBExtUDConnectReject    IBExtType = 10 // DAT_IB_UD_CONNECT_REJECT
	IBExtUDConnectError     IBExtType = 11 // DAT_IB_UD_CONNECT_ERROR
)

// IBStatus is the outcome of an extended operation, DAT_IB_STATUS.
type IBStatus uint32

const (
	IBOpSuccess IBStatus = 0 // DAT_OP_SUCCESS
	IBOpErr     IBStatus = 1 // DAT_IB_OP_ERR
)

// IBAddrHandle names the peer of an unreliable datagram, laid out as DAT_IB_ADDR_HANDLE.
type IBAddrHandle struct {
	AH     uintptr  // ah
	QPN    uint32   // qpn
	IAAddr SockAddr // ia_addr
}

// IBExtensionEventData is laid out as DAT_IB_EXTENSION_EVENT_DATA. Only the
// fields that Type speaks of are written, and not even Type when an operation
// failed. For a data transfer, the providers put its DTOStatus into Status.
type IBExtensionEventData struct {
	Type      IBExtType    // type
	Status    IBStatus     // status
	ImmedData uint32       // val.immed.data
	RemoteAH  IBAddrHandle // remote_ah
	Context   uint64       // context
}
