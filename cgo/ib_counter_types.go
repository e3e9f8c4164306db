package cgo

// The counters of the InfiniBand extensions. Only providers that were built
// with counters keep them, and those of the distributions are not.

// IACounter names something that is counted for an interface adapter,
// DAT_IA_COUNTERS: calls, the connection manager's messages, errors of the device.
type IACounter int32

const (
	IACounterPZCreate            IACounter = 0  // DCNT_IA_PZ_CREATE
	IACounterPZFree              IACounter = 1  // DCNT_IA_PZ_FREE
	IACounterLMRCreate           IACounter = 2  // DCNT_IA_LMR_CREATE
	IACounterLMRFree             IACounter = 3  // DCNT_IA_LMR_FREE
	IACounterRMRCreate           IACounter = 4  // DCNT_IA_RMR_CREATE
	IACounterRMRFree             IACounter = 5  // DCNT_IA_RMR_FREE
	IACounterPSPCreate           IACounter = 6  // DCNT_IA_PSP_CREATE
	IACounterPSPCreateAny        IACounter = 7  // DCNT_IA_PSP_CREATE_ANY
	IACounterPSPFree             IACounter = 8  // DCNT_IA_PSP_FREE
	IACounterRSPCreate           IACounter = 9  // DCNT_IA_RSP_CREATE
	IACounterRSPFree             IACounter = 10 // DCNT_IA_RSP_FREE
	IACounterEVDCreate           IACounter = 11 // DCNT_IA_EVD_CREATE
	IACounterEVDFree             IACounter = 12 // DCNT_IA_EVD_FREE
	IACounterEPCreate            IACounter = 13 // DCNT_IA_EP_CREATE
	IACounterEPFree              IACounter = 14 // DCNT_IA_EP_FREE
	IACounterSRQCreate           IACounter = 15 // DCNT_IA_SRQ_CREATE
	IACounterSRQFree             IACounter = 16 // DCNT_IA_SRQ_FREE
	IACounterSPCR                IACounter = 17 // DCNT_IA_SP_CR
	IACounterSPCRAccepted        IACounter = 18 // DCNT_IA_SP_CR_ACCEPTED
	IACounterSPCRRejected        IACounter = 19 // DCNT_IA_SP_CR_REJECTED
	IACounterMemAlloc            IACounter = 20 // DCNT_IA_MEM_ALLOC
	IACounterMemAllocData        IACounter = 21 // DCNT_IA_MEM_ALLOC_DATA
	IACounterMemFree             IACounter = 22 // DCNT_IA_MEM_FREE
	IACounterAsyncError          IACounter = 23 // DCNT_IA_ASYNC_ERROR
	IACounterAsyncQPError        IACounter = 24 // DCNT_IA_ASYNC_QP_ERROR
	IACounterAsyncCQError        IACounter = 25 // DCNT_IA_ASYNC_CQ_ERROR
	IACounterCMListen            IACounter = 26 // DCNT_IA_CM_LISTEN
	IACounterCMReqTx             IACounter = 27 // DCNT_IA_CM_REQ_TX
	IACounterCMReqRx             IACounter = 28 // DCNT_IA_CM_REQ_RX
	IACounterCMRepTx             IACounter = 29 // DCNT_IA_CM_REP_TX
	IACounterCMRepRx             IACounter = 30 // DCNT_IA_CM_REP_RX
	IACounterCMRtuTx             IACounter = 31 // DCNT_IA_CM_RTU_TX
	IACounterCMRtuRx             IACounter = 32 // DCNT_IA_CM_RTU_RX
	IACounterCMUserRejTx         IACounter = 33 // DCNT_IA_CM_USER_REJ_TX
	IACounterCMUserRejRx         IACounter = 34 // DCNT_IA_CM_USER_REJ_RX
	IACounterCMActiveEst         IACounter = 35 // DCNT_IA_CM_ACTIVE_EST
	IACounterCMPassiveEst        IACounter = 36 // DCNT_IA_CM_PASSIVE_EST
	IACounterCMAHReqTx           IACounter = 37 // DCNT_IA_CM_AH_REQ_TX
	IACounterCMAHReqRx           IACounter = 38 // DCNT_IA_CM_AH_REQ_RX
	IACounterCMAHResolved        IACounter = 39 // DCNT_IA_CM_AH_RESOLVED
	IACounterCMDreqTx            IACounter = 40 // DCNT_IA_CM_DREQ_TX
	IACounterCMDreqRx            IACounter = 41 // DCNT_IA_CM_DREQ_RX
	IACounterCMDrepTx            IACounter = 42 // DCNT_IA_CM_DREP_TX
	IACounterCMDrepRx            IACounter = 43 // DCNT_IA_CM_DREP_RX
	IACounterCMMraTx             IACounter = 44 // DCNT_IA_CM_MRA_TX
	IACounterCMMraRx             IACounter = 45 // DCNT_IA_CM_MRA_RX
	IACounterCMReqFullqPoll      IACounter = 46 // DCNT_IA_CM_REQ_FULLQ_POLL
	IACounterCMErr               IACounter = 47 // DCNT_IA_CM_ERR
	IACounterCMErrReqFullq       IACounter = 48 // DCNT_IA_CM_ERR_REQ_FULLQ
	IACounterCMErrReqDup         IACounter = 49 // DCNT_IA_CM_ERR_REQ_DUP
	IACounterCMErrReqRetry       IACounter = 50 // DCNT_IA_CM_ERR_REQ_RETRY
	IACounterCMErrRepDup         IACounter = 51 // DCNT_IA_CM_ERR_REP_DUP
	IACounterCMErrRepRetry       IACounter = 52 // DCNT_IA_CM_ERR_REP_RETRY
	IACounterCMErrRtuDup         IACounter = 53 // DCNT_IA_CM_ERR_RTU_DUP
	IACounterCMErrRtuRetry       IACounter = 54 // DCNT_IA_CM_ERR_RTU_RETRY
	IACounterCMErrRefused        IACounter = 55 // DCNT_IA_CM_ERR_REFUSED
	IACounterCMErrReset          IACounter = 56 // DCNT_IA_CM_ERR_RESET
	IACounterCMErrTimeout        IACounter = 57 // DCNT_IA_CM_ERR_TIMEOUT
	IACounterCMErrRejTx          IACounter = 58 // DCNT_IA_CM_ERR_REJ_TX
	IACounterCMErrRejRx          IACounter = 59 // DCNT_IA_CM_ERR_REJ_RX
	IACounterCMErrDreqDup        IACounter = 60 // DCNT_IA_CM_ERR_DREQ_DUP
	IACounterCMErrDreqRetry      IACounter = 61 // DCNT_IA_CM_ERR_DREQ_RETRY
	IACounterCMErrDrepDup        IACounter = 62 // DCNT_IA_CM_ERR_DREP_DUP
	IACounterCMErrDrepRetry      IACounter = 63 // DCNT_IA_CM_ERR_DREP_RETRY
	IACounterCMErrMraDup         IACounter = 64 // DCNT_IA_CM_ERR_MRA_DUP
	IACounterCMErrMraRetry       IACounter = 65 // DCNT_IA_CM_ERR_MRA_RETRY
	IACounterCMErrUnexpected     IACounter = 66 // DCNT_IA_CM_ERR_UNEXPECTED
	IACounterLnkErrRcv           IACounter = 67 // DCNT_IA_LNK_ERR_RCV
	IACounterLnkErrRcvRemPhys    IACounter = 68 // DCNT_IA_LNK_ERR_RCV_REM_PHYS
	IACounterLnkErrRcvConstraint IACounter = 69 // DCNT_IA_LNK_ERR_RCV_CONSTRAINT
	IACounterLnkErrXmtDiscards   IACounter = 70 // DCNT_IA_LNK_ERR_XMT_DISCARDS
	IACounterLnkErrXmtContraint  IACounter = 71 // DCNT_IA_LNK_ERR_XMT_CONTRAINT
	IACounterLnkErrIntegrity     IACounter = 72 // DCNT_IA_LNK_ERR_INTEGRITY
	IACounterLnkErrExcBufOverrun IACounter = 73 // DCNT_IA_LNK_ERR_EXC_BUF_OVERRUN
	IACounterLnkWarnRcvSwRelay   IACounter = 74 // DCNT_IA_LNK_WARN_RCV_SW_RELAY
	IACounterLnkWarnXmtWait      IACounter = 75 // DCNT_IA_LNK_WARN_XMT_WAIT
	IACounterDiagErrRQRae        IACounter = 76 // DCNT_IA_DIAG_ERR_RQ_RAE
	IACounterDiagErrRQOos        IACounter = 77 // DCNT_IA_DIAG_ERR_RQ_OOS
	IACounterDiagErrRQRire       IACounter = 78 // DCNT_IA_DIAG_ERR_RQ_RIRE
	IACounterDiagErrRQUdsdprd    IACounter = 79 // DCNT_IA_DIAG_ERR_RQ_UDSDPRD
	IACounterDiagErrSQRae        IACounter = 80 // DCNT_IA_DIAG_ERR_SQ_RAE
	IACounterDiagErrSQOos        IACounter = 81 // DCNT_IA_DIAG_ERR_SQ_OOS
	IACounterDiagErrSQRire       IACounter = 82 // DCNT_IA_DIAG_ERR_SQ_RIRE
	IACounterDiagErrSQRree       IACounter = 83 // DCNT_IA_DIAG_ERR_SQ_RREE
	IACounterDiagErrSQTree       IACounter = 84 // DCNT_IA_DIAG_ERR_SQ_TREE
	IACounterAll                 IACounter = 85 // DCNT_IA_ALL_COUNTERS
)

// EPCounter names something that is counted for an endpoint, DAT_EP_COUNTERS.
type EPCounter int32

const (
	EPCounterConnect          EPCounter = 0  // DCNT_EP_CONNECT
	EPCounterDisconnect       EPCounter = 1  // DCNT_EP_DISCONNECT
	EPCounterPostSend         EPCounter = 2  // DCNT_EP_POST_SEND
	EPCounterPostSendData     EPCounter = 3  // DCNT_EP_POST_SEND_DATA
	EPCounterPostSendUD       EPCounter = 4  // DCNT_EP_POST_SEND_UD
	EPCounterPostSendUDData   EPCounter = 5  // DCNT_EP_POST_SEND_UD_DATA
	EPCounterPostRecv         EPCounter = 6  // DCNT_EP_POST_RECV
	EPCounterPostRecvData     EPCounter = 7  // DCNT_EP_POST_RECV_DATA
	EPCounterPostWrite        EPCounter = 8  // DCNT_EP_POST_WRITE
	EPCounterPostWriteData    EPCounter = 9  // DCNT_EP_POST_WRITE_DATA
	EPCounterPostWriteImm     EPCounter = 10 // DCNT_EP_POST_WRITE_IMM
	EPCounterPostWriteImmData EPCounter = 11 // DCNT_EP_POST_WRITE_IMM_DATA
	EPCounterPostRead         EPCounter = 12 // DCNT_EP_POST_READ
	EPCounterPostReadData     EPCounter = 13 // DCNT_EP_POST_READ_DATA
	EPCounterPostCmpSwap      EPCounter = 14 // DCNT_EP_POST_CMP_SWAP
	EPCounterPostFetchAdd     EPCounter = 15 // DCNT_EP_POST_FETCH_ADD
	EPCounterRecv             EPCounter = 16 // DCNT_EP_RECV
	EPCounterRecvData         EPCounter = 17 // DCNT_EP_RECV_DATA
	EPCounterRecvUD           EPCounter = 18 // DCNT_EP_RECV_UD
	EPCounterRecvUDData       EPCounter = 19 // DCNT_EP_RECV_UD_DATA
	EPCounterRecvImm          EPCounter = 20 // DCNT_EP_RECV_IMM
	EPCounterRecvImmData      EPCounter = 21 // DCNT_EP_RECV_IMM_DATA
	EPCounterRecvRDMAImm      EPCounter = 22 // DCNT_EP_RECV_RDMA_IMM
	EPCounterRecvRDMAImmData  EPCounter = 23 // DCNT_EP_RECV_RDMA_IMM_DATA
	EPCounterAll              EPCounter = 24 // DCNT_EP_ALL_COUNTERS
)

// EVDCounter names something that is counted for an event dispatcher,
// DAT_EVD_COUNTERS.
type EVDCounter int32

const (
	EVDCounterWait             EVDCounter = 0  // DCNT_EVD_WAIT
	EVDCounterWaitBlocked      EVDCounter = 1  // DCNT_EVD_WAIT_BLOCKED
	EVDCounterWaitNotify       EVDCounter = 2  // DCNT_EVD_WAIT_NOTIFY
	EVDCounterDequeue          EVDCounter = 3  // DCNT_EVD_DEQUEUE
	EVDCounterDequeueFound     EVDCounter = 4  // DCNT_EVD_DEQUEUE_FOUND
	EVDCounterDequeueNotFound  EVDCounter = 5  // DCNT_EVD_DEQUEUE_NOT_FOUND
	EVDCounterDequeuePoll      EVDCounter = 6  // DCNT_EVD_DEQUEUE_POLL
	EVDCounterDequeuePollFound EVDCounter = 7  // DCNT_EVD_DEQUEUE_POLL_FOUND
	EVDCounterConnCallback     EVDCounter = 8  // DCNT_EVD_CONN_CALLBACK
	EVDCounterDTOCallback      EVDCounter = 9  // DCNT_EVD_DTO_CALLBACK
	EVDCounterAll              EVDCounter = 10 // DCNT_EVD_ALL_COUNTERS
)

// IACounterType names a set of the adapter's counters that can be sampled,
// DAT_IA_COUNTER_TYPE.
type IACounterType int32

const (
	IACounterTypeCM   IACounterType = 0 // DCNT_IA_CM
	IACounterTypeLnk  IACounterType = 1 // DCNT_IA_LNK
	IACounterTypeDiag IACounterType = 2 // DCNT_IA_DIAG
)
