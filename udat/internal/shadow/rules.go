package shadow

import (
	"slices"

	"github.com/goudat/goudat/cgo"
)

// A Call is a call that concerns the state of an endpoint, by its C name.
type Call string

// The calls.
const (
	callCreate             Call = "dat_ep_create"
	Modify                 Call = "dat_ep_modify"
	ModifyPZ               Call = "dat_ep_modify of the protection zone"
	Connect                Call = "dat_ep_connect"
	DupConnect             Call = "dat_ep_dup_connect"
	Accept                 Call = "dat_cr_accept"
	AcceptReserved         Call = "dat_cr_accept of the request that the endpoint is reserved for"
	Reject                 Call = "dat_cr_reject of the request that the endpoint is reserved for"
	RSPCreate              Call = "dat_rsp_create"
	RSPFree                Call = "dat_rsp_free"
	DisconnectAbrupt       Call = "dat_ep_disconnect, abrupt"
	DisconnectGraceful     Call = "dat_ep_disconnect, graceful"
	Reset                  Call = "dat_ep_reset"
	Free                   Call = "dat_ep_free"
	callGetStatus          Call = "dat_ep_get_status"
	callPostRecv           Call = "dat_ep_post_recv"
	callPostSend           Call = "dat_ep_post_send"
	callPostRDMARead       Call = "dat_ep_post_rdma_read"
	callPostRDMAWrite      Call = "dat_ep_post_rdma_write"
	callPostRDMAWriteImmed Call = "dat_ib_post_rdma_write_immed"
	callPostFetchAndAdd    Call = "dat_ib_post_fetch_and_add"
	callPostCmpAndSwap     Call = "dat_ib_post_cmp_and_swap"
)

// stateNone is that of an endpoint which does not exist: not yet, or no more.
const stateNone State = 1 << 31

// epStates are the states that the specification names, without TENTATIVE_CONNECTION_PENDING: no
// provider makes endpoints in that state that can be used.
var epStates = states(cgo.EPStateUnconnected, cgo.EPStateReserved, cgo.EPStatePassiveConnectionPending, cgo.EPStateActiveConnectionPending,
	cgo.EPStateCompletionPending, cgo.EPStateConnected, cgo.EPStateDisconnectPending, cgo.EPStateDisconnected)

func states(s ...State) []State { return s }

// A callRule says what calls do in some states.
type callRule struct {
	calls []Call
	from  []State
	// to is the state afterwards; stay says that it does not change.
	to   State
	stay bool
	// reports is the event that reports the new state, 0 for none.
	reports Event
	// failed marks a rule for a call that is allowed, but that the library fails to do. A
	// call without such a rule changes nothing when it fails.
	failed bool
}

// callRules and eventRules are what the specification says of the states of an endpoint. A call is
// refused in the states that its rules leave out.
var callRules = []callRule{
	{calls: calls(callCreate), from: states(stateNone), to: cgo.EPStateUnconnected},
	{calls: calls(callGetStatus, callPostRecv), from: epStates, stay: true},

	{calls: calls(Modify), from: states(cgo.EPStateUnconnected, cgo.EPStateReserved, cgo.EPStatePassiveConnectionPending), stay: true},
	{calls: calls(ModifyPZ), from: states(cgo.EPStateUnconnected), stay: true},

	{calls: calls(Connect, DupConnect), from: states(cgo.EPStateUnconnected), to: cgo.EPStateActiveConnectionPending},
	{calls: calls(Accept), from: states(cgo.EPStateUnconnected), to: cgo.EPStateCompletionPending},
	{calls: calls(Accept), from: states(cgo.EPStateUnconnected), to: cgo.EPStateUnconnected, failed: true},

	{calls: calls(RSPCreate), from: states(cgo.EPStateUnconnected), to: cgo.EPStateReserved},
	{calls: calls(AcceptReserved), from: states(cgo.EPStatePassiveConnectionPending), to: cgo.EPStateCompletionPending},
	{calls: calls(AcceptReserved), from: states(cgo.EPStatePassiveConnectionPending), to: cgo.EPStateUnconnected, failed: true},
	{calls: calls(Reject), from: states(cgo.EPStatePassiveConnectionPending), to: cgo.EPStateUnconnected},

	{calls: calls(RSPFree), from: states(cgo.EPStateReserved, cgo.EPStatePassiveConnectionPending), to: cgo.EPStateUnconnected},
	// The service point holds the endpoint no more.
	{calls: calls(RSPFree), from: states(cgo.EPStateUnconnected, cgo.EPStateActiveConnectionPending, cgo.EPStateCompletionPending,
		cgo.EPStateConnected, cgo.EPStateDisconnectPending, cgo.EPStateDisconnected), stay: true},

	// In DISCONNECTED a post may be refused as well. What is not refused is flushed.
	{calls: requestPosts, from: states(cgo.EPStateConnected, cgo.EPStateDisconnected), stay: true},

	{calls: breakOffs, from: states(cgo.EPStateActiveConnectionPending, cgo.EPStateCompletionPending), to: cgo.EPStateDisconnected,
		reports: cgo.EventConnectionDisconnected},
	{calls: breakOffs, from: states(cgo.EPStateConnected, cgo.EPStateDisconnectPending), to: cgo.EPStateDisconnectPending},
	{calls: breakOffs, from: states(cgo.EPStateDisconnected), stay: true},
	{calls: calls(Reset), from: states(cgo.EPStateUnconnected, cgo.EPStateDisconnected), to: cgo.EPStateUnconnected},
	{calls: calls(Free), from: states(cgo.EPStateUnconnected, cgo.EPStateActiveConnectionPending, cgo.EPStateCompletionPending,
		cgo.EPStateConnected, cgo.EPStateDisconnectPending, cgo.EPStateDisconnected), to: stateNone},
}

func calls(c ...Call) []Call { return c }

var (
	breakOffs    = calls(DisconnectAbrupt, DisconnectGraceful)
	requestPosts = calls(callPostSend, callPostRDMARead, callPostRDMAWrite, callPostRDMAWriteImmed, callPostFetchAndAdd, callPostCmpAndSwap)
)

// An eventRule says what the library does by itself. The endpoint is in its new
// state as soon as that happens, which the program learns from the event later.
type eventRule struct {
	event Event
	from  []State
	to    State
}

var eventRules = []eventRule{
	{cgo.EventConnectionRequest, states(cgo.EPStateReserved), cgo.EPStatePassiveConnectionPending},

	{cgo.EventConnectionEstablished, states(cgo.EPStateActiveConnectionPending, cgo.EPStateCompletionPending), cgo.EPStateConnected},
	{cgo.EventConnectionPeerRejected, states(cgo.EPStateActiveConnectionPending), cgo.EPStateDisconnected},
	{cgo.EventConnectionNonPeerRejected, states(cgo.EPStateActiveConnectionPending), cgo.EPStateDisconnected},
	{cgo.EventConnectionAcceptCompletionError, states(cgo.EPStateCompletionPending), cgo.EPStateDisconnected},
	{cgo.EventConnectionTimedOut, states(cgo.EPStateActiveConnectionPending), cgo.EPStateDisconnected},
	{cgo.EventConnectionUnreachable, states(cgo.EPStateActiveConnectionPending), cgo.EPStateDisconnected},
	{cgo.EventConnectionDisconnected, states(cgo.EPStateConnected, cgo.EPStateDisconnectPending), cgo.EPStateDisconnected},
	{cgo.EventConnectionBroken, states(cgo.EPStateActiveConnectionPending, cgo.EPStateCompletionPending, cgo.EPStateConnected,
		cgo.EPStateDisconnectPending), cgo.EPStateDisconnected},
}

// A move is what a rule makes of a state.
type move struct {
	to      State
	reports Event
	failed  bool
}

// A provisional call shows the state to which it leads while it may still fail, and
// is taken back then. That is the library's way, not the specification's.
type provisional struct{ shown, back State }

var provisionalCalls = map[Call]provisional{
	Connect:        {cgo.EPStateActiveConnectionPending, cgo.EPStateUnconnected},
	DupConnect:     {cgo.EPStateActiveConnectionPending, cgo.EPStateUnconnected},
	Accept:         {cgo.EPStateCompletionPending, cgo.EPStateUnconnected},
	AcceptReserved: {cgo.EPStateCompletionPending, cgo.EPStatePassiveConnectionPending},
}

// moves returns what the call may do in a state: nothing where it is refused.
func (c Call) moves(from State) (moves []move) {
	for _, r := range callRules {
		if !slices.Contains(r.calls, c) || !slices.Contains(r.from, from) {
			continue
		}
		m := move{to: r.to, reports: r.reports, failed: r.failed}
		if r.stay {
			m.to = from
		}
		moves = append(moves, m)
	}
	return moves
}

// silentMoves returns what the library may do with an endpoint in a state.
func silentMoves(from State) (moves []move) {
	for _, r := range eventRules {
		if slices.Contains(r.from, from) {
			moves = append(moves, move{to: r.to, reports: r.event})
		}
	}
	return moves
}
