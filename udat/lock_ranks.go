package udat

import "github.com/goudat/goudat/udat/internal/lockorder"

// The ranks of locks, in the order in which a goroutine takes them. Programs that are
// built with -tags lockorder check it. A lock without a rank here has lockorder.Last: no
// other lock is taken under it.
//
// While a goroutine holds a lock up to controlRank, it may wait for the library or for
// another goroutine. While it holds a lock behind that, it may not.
type (
	closingRank    struct{} // IA.Close
	answerRank     struct{} // the gates of connection requests
	controlRank    struct{} // EP.control
	dispatchRank   struct{} // the notifier's dispatching
	gateRank       struct{} // the gates of the program's objects, by birth
	registryRank   struct{} // libdat2's registry, and adapters that open and close
	joinRank       struct{} // the list of queues of connection events
	queueGateRank  struct{} // the gates of the binding's own event dispatchers
	streamsRank    struct{} // the streams of an event dispatcher
	directionRank  struct{} // the two queues of an endpoint, requests first, by birth
	queueRank      struct{} // the binding's own event dispatchers
	servicesRank   struct{} // the service points of an adapter
	dispatcherRank struct{} // event dispatchers, the asynchronous one last
	srqRank        struct{} // shared receive queues
	shadowRank     struct{} // what an endpoint's assertions know
	ledgersRank    struct{} // the list of the adapters' ledgers
)

func (closingRank) Place() (int, string)    { return 1, "an adapter's closing" }
func (answerRank) Place() (int, string)     { return 2, "a connection request" }
func (controlRank) Place() (int, string)    { return 3, "an endpoint's control" }
func (dispatchRank) Place() (int, string)   { return 4, "a notifier's dispatching" }
func (gateRank) Place() (int, string)       { return 5, "a gate" }
func (registryRank) Place() (int, string)   { return 6, "the registry" }
func (joinRank) Place() (int, string)       { return 7, "the queues of connection events" }
func (queueGateRank) Place() (int, string)  { return 8, "the gate of the binding's own" }
func (streamsRank) Place() (int, string)    { return 9, "the streams of an event dispatcher" }
func (directionRank) Place() (int, string)  { return 10, "a direction" }
func (queueRank) Place() (int, string)      { return 11, "a queue of the binding's own" }
func (servicesRank) Place() (int, string)   { return 12, "the service points" }
func (dispatcherRank) Place() (int, string) { return 13, "an event dispatcher" }
func (srqRank) Place() (int, string)        { return 14, "a shared receive queue" }
func (shadowRank) Place() (int, string)     { return 15, "a shadow" }
func (ledgersRank) Place() (int, string)    { return 16, "the ledgers" }

// mayWait is called before the goroutine waits for the library or for another goroutine.
// With -tags lockorder it panics if the goroutine holds a lock that those may need.
func mayWait() { lockorder.MayWait[controlRank]() }
