package udat

//go:generate env GOWORK=off go tool -modfile=../scripts/tools/go.mod stringer -linecomment -output=shadow_string.go -type=epCall

// An epCall is a call that concerns the state of an endpoint.
type epCall uint8

const (
	callCreate             epCall = iota // dat_ep_create
	callModify                           // dat_ep_modify
	callModifyPZ                         // dat_ep_modify of the protection zone
	callConnect                          // dat_ep_connect
	callDupConnect                       // dat_ep_dup_connect
	callAccept                           // dat_cr_accept
	callAcceptReserved                   // dat_cr_accept of the request that the endpoint is reserved for
	callReject                           // dat_cr_reject of the request that the endpoint is reserved for
	callRSPCreate                        // dat_rsp_create
	callRSPFree                          // dat_rsp_free
	callDisconnectAbrupt                 // dat_ep_disconnect, abrupt
	callDisconnectGraceful               // dat_ep_disconnect, graceful
	callReset                            // dat_ep_reset
	callFree                             // dat_ep_free
	callFreeConnection                   // dat_ep_free
	callGetStatus                        // dat_ep_get_status
	callPostRecv                         // dat_ep_post_recv
	callPostSend                         // dat_ep_post_send
	callPostRDMARead                     // dat_ep_post_rdma_read
	callPostRDMAWrite                    // dat_ep_post_rdma_write
	callPostRDMAWriteImmed               // dat_ib_post_rdma_write_immed
	callPostFetchAndAdd                  // dat_ib_post_fetch_and_add
	callPostCmpAndSwap                   // dat_ib_post_cmp_and_swap
	callTimeOut                          // the binding's time-out

	epCalls // how many there are
)

// stateNone is that of an endpoint which does not exist: not yet, or no more.
const stateNone EPState = 1 << 31

// epStates are the states that the specification names.
var epStates = states(EPStateUnconnected, EPStateReserved, EPStatePassiveConnectionPending,
	EPStateActiveConnectionPending, EPStateTentativeConnectionPending, EPStateCompletionPending, EPStateConnected,
	EPStateDisconnectPending, EPStateDisconnected)

func states(s ...EPState) []EPState { return s }

// A callRule says what calls do in some states.
type callRule struct {
	calls []epCall
	from  []EPState
	// to is the state afterwards; stay says that it does not change.
	to   EPState
	stay bool
	// reports is the event that reports the new state, 0 for none.
	reports EventNumber
	// failed marks a rule for a call that is allowed, but that the library fails to do. A
	// call without such a rule changes nothing when it fails.
	failed bool
}

// callRules and eventRules are what the specification says of the states of an
// endpoint. A call is refused in the states that its rules leave out.
//
// They have the state TENTATIVE_CONNECTION_PENDING, too, although no provider makes
// endpoints in that state that can be used.
var callRules = []callRule{
	{calls: calls(callCreate), from: states(stateNone), to: EPStateUnconnected},
	{calls: calls(callGetStatus, callPostRecv), from: epStates, stay: true},

	{calls: calls(callModify), from: states(EPStateUnconnected, EPStateReserved, EPStatePassiveConnectionPending,
		EPStateTentativeConnectionPending), stay: true},
	{calls: calls(callModifyPZ), from: states(EPStateUnconnected, EPStateTentativeConnectionPending), stay: true},

	{calls: calls(callConnect, callDupConnect), from: states(EPStateUnconnected), to: EPStateActiveConnectionPending},
	{calls: calls(callAccept), from: states(EPStateUnconnected, EPStateTentativeConnectionPending), to: EPStateCompletionPending},
	{calls: calls(callAccept), from: states(EPStateUnconnected, EPStateTentativeConnectionPending), to: EPStateUnconnected, failed: true},
	// The binding disconnects what took too long, which the rules of the events have.
	{calls: calls(callTimeOut), from: states(EPStateActiveConnectionPending, EPStateCompletionPending, EPStateDisconnected), stay: true},

	{calls: calls(callRSPCreate), from: states(EPStateUnconnected), to: EPStateReserved},
	{calls: calls(callAcceptReserved), from: states(EPStatePassiveConnectionPending), to: EPStateCompletionPending},
	{calls: calls(callAcceptReserved), from: states(EPStatePassiveConnectionPending), to: EPStateUnconnected, failed: true},
	{calls: calls(callReject), from: states(EPStatePassiveConnectionPending), to: EPStateUnconnected},
	{calls: calls(callReject), from: states(EPStateTentativeConnectionPending), to: stateNone},
	{calls: calls(callRSPFree), from: states(EPStateReserved, EPStatePassiveConnectionPending), to: EPStateUnconnected},
	// The service point holds the endpoint no more.
	{calls: calls(callRSPFree), from: states(EPStateUnconnected, EPStateActiveConnectionPending,
		EPStateTentativeConnectionPending, EPStateCompletionPending, EPStateConnected, EPStateDisconnectPending,
		EPStateDisconnected), stay: true},

	// In DISCONNECTED a post may be refused as well. What is not refused is flushed.
	{calls: requestPosts, from: states(EPStateConnected, EPStateDisconnected), stay: true},

	{calls: breakOffs, from: states(EPStateActiveConnectionPending, EPStateCompletionPending), to: EPStateDisconnected,
		reports: EventConnectionDisconnected},
	{calls: breakOffs, from: states(EPStateConnected, EPStateDisconnectPending), to: EPStateDisconnectPending},
	{calls: breakOffs, from: states(EPStateDisconnected), stay: true},
	{calls: calls(callReset), from: states(EPStateUnconnected, EPStateDisconnected), to: EPStateUnconnected},
	{calls: calls(callFree), from: states(EPStateUnconnected, EPStateActiveConnectionPending, EPStateCompletionPending,
		EPStateConnected, EPStateDisconnectPending, EPStateDisconnected), to: stateNone},
}

func calls(c ...epCall) []epCall { return c }

var (
	// breakOffs are the calls that end a connection, which the first half of a Free does, too.
	breakOffs    = calls(callDisconnectAbrupt, callDisconnectGraceful, callFreeConnection)
	requestPosts = calls(callPostSend, callPostRDMARead, callPostRDMAWrite, callPostRDMAWriteImmed, callPostFetchAndAdd, callPostCmpAndSwap)
)

// An eventRule says what the library does by itself. The endpoint is in its new
// state as soon as that happens, which the program learns from the event later.
type eventRule struct {
	event EventNumber
	from  []EPState
	to    EPState
}

var eventRules = []eventRule{
	{EventConnectionRequest, states(EPStateReserved), EPStatePassiveConnectionPending},
	{EventConnectionRequest, states(stateNone), EPStateTentativeConnectionPending},
	{EventConnectionEstablished, states(EPStateActiveConnectionPending, EPStateCompletionPending), EPStateConnected},
	{EventConnectionPeerRejected, states(EPStateActiveConnectionPending), EPStateDisconnected},
	{EventConnectionNonPeerRejected, states(EPStateActiveConnectionPending, EPStateCompletionPending), EPStateDisconnected},
	{EventConnectionAcceptCompletionError, states(EPStateCompletionPending), EPStateDisconnected},
	{EventConnectionTimedOut, states(EPStateActiveConnectionPending), EPStateDisconnected},
	{EventConnectionUnreachable, states(EPStateActiveConnectionPending, EPStateCompletionPending), EPStateDisconnected},
	{EventConnectionDisconnected, states(EPStateConnected, EPStateDisconnectPending), EPStateDisconnected},
	{EventConnectionBroken, states(EPStateActiveConnectionPending, EPStateCompletionPending, EPStateConnected,
		EPStateDisconnectPending), EPStateDisconnected},
}

// A move is what a rule makes of a state.
type move struct {
	to      EPState
	reports EventNumber
	failed  bool
}

// A provisional call shows the state to which it leads while it may still fail, and
// is taken back then. That is the library's way, not the specification's.
type provisional struct{ shown, back EPState }

var provisionalCalls = map[epCall]provisional{
	callConnect:        {EPStateActiveConnectionPending, EPStateUnconnected},
	callDupConnect:     {EPStateActiveConnectionPending, EPStateUnconnected},
	callAccept:         {EPStateCompletionPending, EPStateUnconnected},
	callAcceptReserved: {EPStateCompletionPending, EPStatePassiveConnectionPending},
}

// moves returns what the call may do in a state: nothing where it is refused.
func (c epCall) moves(from EPState) []move { return callMoves[c][from] }

// silentMoves returns what the library may do with an endpoint in a state.
func silentMoves(from EPState) []move { return eventMoves[from] }

// callMoves and eventMoves are the rules by call and state.
var (
	callMoves  = indexCallRules()
	eventMoves = indexEventRules()
)

func indexCallRules() (index [epCalls]map[EPState][]move) {
	for c := range index {
		index[c] = make(map[EPState][]move)
	}
	for _, r := range callRules {
		for _, c := range r.calls {
			for _, from := range r.from {
				m := move{to: r.to, reports: r.reports, failed: r.failed}
				if r.stay {
					m.to = from
				}
				index[c][from] = append(index[c][from], m)
			}
		}
	}
	return index
}

func indexEventRules() map[EPState][]move {
	index := make(map[EPState][]move)
	for _, r := range eventRules {
		for _, from := range r.from {
			index[from] = append(index[from], move{to: r.to, reports: r.event})
		}
	}
	return index
}
