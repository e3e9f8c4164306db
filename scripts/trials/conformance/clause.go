package conformance

// Page is a manual page.
type Page struct {
	Letter   byte // with which the IDs of its clauses begin
	Function string
	Method   string // of package udat
}

// Pages are the manual pages, in the order of a report.
var Pages = []Page{
	{'C', "dat_ep_create", "CreateEP"},
	{'G', "dat_ep_get_status", "EP.GetStatus"},
	{'M', "dat_ep_modify", "EP.Modify"},
	{'D', "dat_ep_disconnect", "EP.Disconnect"},
	{'F', "dat_ep_free", "EP.Free"},
}

// Clause is one requirement of a manual page that can be seen from outside.
type Clause struct {
	ID   string // "C-01": the letter of the page and a number
	Text string // what is required, in words of our own
}

// Clauses are all that the five pages require, in their order.
var Clauses = []Clause{
	{ID: "C-01", Text: "A new endpoint is in UNCONNECTED."},
	{ID: "C-02", Text: "A call that fails makes no endpoint."},
	{ID: "C-03", Text: "The receive EVD may be left out: nobody wants receive completions."},
	{ID: "C-04", Text: "The request EVD may be left out: nobody wants request completions."},
	{ID: "C-05", Text: "The connect EVD may be left out for the time being."},
	{ID: "C-06", Text: "Attributes may be left out; query tells the provider's defaults."},
	{ID: "C-07", Text: "An endpoint made without attributes can be queried, asked for its status, modified and freed."},
	{ID: "C-08", Text: "Local buffers must lie in memory of the endpoint's protection zone."},
	{ID: "C-09", Text: "A peer's RDMA reaches only memory of the endpoint's protection zone."},
	{ID: "C-10", Text: "Receives complete on the receive EVD."},
	{ID: "C-11", Text: "Sends, RDMA reads and RDMA writes complete on the request EVD."},
	{ID: "C-12", Text: "RMR binds complete on the request EVD."},
	{ID: "C-13", Text: "Connection events come to the connect EVD."},
	{ID: "C-14", Text: "The endpoint can begin a connection by connect."},
	{ID: "C-15", Text: "The endpoint can begin a connection by dup_connect."},
	{ID: "C-16", Text: "The endpoint can accept a connection request that has no local endpoint."},
	{ID: "C-17", Text: "The endpoint can be given to a reserved service point, and accepts the request that comes there."},
	{ID: "C-18", Text: "All completion streams on an EVD have the same completion flags; others are an invalid parameter."},
	{ID: "C-19", Text: "An EVD that is fed by anything besides completions allows threshold flags only."},
	{ID: "C-20", Text: "If one stream on an EVD is UNSIGNALLED, all of them are."},
	{ID: "C-21", Text: "If one receive stream on an EVD is SOLICITED_WAIT, all of them are, and nothing else uses the EVD."},
	{ID: "C-22", Text: "An invalid adapter, protection zone or EVD is an invalid handle."},
	{ID: "C-23", Text: "Attributes beyond the adapter's limits, and combinations that make no sense, are invalid parameters."},
	{ID: "C-24", Text: "What there is no room for is refused for insufficient resources."},
	{ID: "C-25", Text: "A provider model that is not supported is refused as such."},
	{ID: "C-26", Text: "Endpoints can be created on one adapter at the same time."},

	{ID: "G-01", Text: "The status has the state that the endpoint is in, in every state that can be reached."},
	{ID: "G-02", Text: "Receives are idle exactly when none is outstanding or in progress."},
	{ID: "G-03", Text: "Requests are idle exactly when no send, RDMA read, RDMA write or bind is outstanding or in progress."},
	{ID: "G-04", Text: "The status is a snapshot, which waits for no post and no completion."},
	{ID: "G-05", Text: "An invalid endpoint is an invalid handle."},
	{ID: "G-06", Text: "The status can be asked for from several threads, beside posts and waits."},

	{ID: "M-01", Text: "Interface adapter: never."},
	{ID: "M-02", Text: "State: never."},
	{ID: "M-03", Text: "Local address: never."},
	{ID: "M-04", Text: "Local port qualifier: never."},
	{ID: "M-05", Text: "Remote address: never."},
	{ID: "M-06", Text: "Remote port qualifier: never."},
	{ID: "M-07", Text: "Protection zone: in UNCONNECTED and TENTATIVE_CONNECTION_PENDING."},
	{ID: "M-08", Text: "Posted receives outside a new protection zone fail with a protection violation."},
	{ID: "M-09", Text: "Receive EVD: in the early states."},
	{ID: "M-10", Text: "Request EVD: in the early states."},
	{ID: "M-11", Text: "Connect EVD: in the early states."},
	{ID: "M-12", Text: "Service type: in the early states."},
	{ID: "M-13", Text: "Maximum message size: in the early states."},
	{ID: "M-14", Text: "Maximum RDMA size: in the early states."},
	{ID: "M-15", Text: "Quality of service: in the early states."},
	{ID: "M-16", Text: "Receive completion flags: in the early states before receives are posted; UNSIGNALLED, SOLICITED_WAIT or threshold, neither SUPPRESS nor BARRIER_FENCE."},
	{ID: "M-17", Text: "Request completion flags: in the early states; UNSIGNALLED or threshold."},
	{ID: "M-18", Text: "Maximum receives: in the early states."},
	{ID: "M-19", Text: "Maximum requests: in the early states."},
	{ID: "M-20", Text: "Maximum segments of a receive: in the early states."},
	{ID: "M-21", Text: "Maximum segments of a request: in the early states."},
	{ID: "M-22", Text: "Maximum RDMA reads of the peer: in the early states."},
	{ID: "M-23", Text: "Maximum RDMA reads of its own: in the early states."},
	{ID: "M-24", Text: "Transport-specific attributes and their number: in UNCONNECTED."},
	{ID: "M-25", Text: "Provider-specific attributes and their number: in UNCONNECTED."},
	{ID: "M-26", Text: "A field outside its states is an invalid state and changes nothing."},
	{ID: "M-27", Text: "Unknown bits in the mask, and values that are invalid or not supported, are invalid parameters and change nothing."},
	{ID: "M-28", Text: "An invalid endpoint is an invalid handle."},
	{ID: "M-29", Text: "After success, query has the new value and the endpoint behaves by it."},
	{ID: "M-30", Text: "Several fields change together, or none does."},

	{ID: "D-01", Text: "Either side of a connection may disconnect."},
	{ID: "D-02", Text: "A disconnect is abrupt unless asked otherwise."},
	{ID: "D-03", Text: "Abrupt: all that is outstanding completes without success."},
	{ID: "D-04", Text: "Abrupt: operations in progress may complete either way; once one has failed, all behind it in its direction fail."},
	{ID: "D-05", Text: "Those completions come in the order of posting."},
	{ID: "D-06", Text: "Graceful: requests that are outstanding are tried to the end first."},
	{ID: "D-07", Text: "Graceful: meanwhile the state is DISCONNECT_PENDING."},
	{ID: "D-08", Text: "Abrupt in DISCONNECT_PENDING: DISCONNECTED without further waiting."},
	{ID: "D-09", Text: "Graceful in DISCONNECT_PENDING: no effect."},
	{ID: "D-10", Text: "Without a connection both flags mean the same."},
	{ID: "D-11", Text: "In DISCONNECT_PENDING no request can be posted."},
	{ID: "D-12", Text: "The end is reported as DISCONNECTED on the connect EVD."},
	{ID: "D-13", Text: "The peer gets DISCONNECTED as well."},
	{ID: "D-14", Text: "The state becomes DISCONNECTED by itself."},
	{ID: "D-15", Text: "On an EVD for completions and connection events, completions with success come before the disconnect."},
	{ID: "D-16", Text: "Disconnecting a DISCONNECTED endpoint does nothing."},
	{ID: "D-17", Text: "In UNCONNECTED it is an invalid state."},
	{ID: "D-18", Text: "In RESERVED it is an invalid state."},
	{ID: "D-19", Text: "In PASSIVE_CONNECTION_PENDING it is an invalid state."},
	{ID: "D-20", Text: "In TENTATIVE_CONNECTION_PENDING it is an invalid state."},
	{ID: "D-21", Text: "In ACTIVE_CONNECTION_PENDING it aborts: DISCONNECTED, posted receives are flushed."},
	{ID: "D-22", Text: "In COMPLETION_PENDING it aborts likewise."},
	{ID: "D-23", Text: "Unknown flags are an invalid parameter, in every state."},
	{ID: "D-24", Text: "An invalid endpoint is an invalid handle."},

	{ID: "F-01", Text: "Allowed in UNCONNECTED."},
	{ID: "F-02", Text: "Allowed in ACTIVE_CONNECTION_PENDING: the attempt is aborted."},
	{ID: "F-03", Text: "Allowed in CONNECTED, DISCONNECT_PENDING and DISCONNECTED."},
	{ID: "F-04", Text: "In RESERVED an invalid state; once the service point is freed, the endpoint is UNCONNECTED and can be freed."},
	{ID: "F-05", Text: "In PASSIVE_CONNECTION_PENDING an invalid state; once the request is rejected, the endpoint is UNCONNECTED and can be freed."},
	{ID: "F-06", Text: "In TENTATIVE_CONNECTION_PENDING an invalid state; rejecting the request takes the endpoint along."},
	{ID: "F-07", Text: "Completions that were not taken may be there or not; taking them later is safe."},
	{ID: "F-08", Text: "Operations that are posted go with the endpoint."},
	{ID: "F-09", Text: "The endpoint's event streams end: its EVDs can be freed."},
	{ID: "F-10", Text: "Any later use of the endpoint is an error."},
	{ID: "F-11", Text: "Freeing it again is an error."},
	{ID: "F-12", Text: "An invalid endpoint is an invalid handle."},
}

// Early are the states in which most fields of an endpoint can be modified.
const Early = "UNCONNECTED, RESERVED, PASSIVE_CONNECTION_PENDING and TENTATIVE_CONNECTION_PENDING"
