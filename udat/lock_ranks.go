package udat

import "github.com/goudat/goudat/udat/internal/lockorder"

// The ranks of locks, in the order in which a goroutine takes them. Programs that are
// built with -tags lockorder check it. A lock without a rank here has lockorder.Last: no
// other lock is taken under it.
//
// While a goroutine holds a lock up to controlRank, it may wait for another goroutine. While
// it holds a lock behind that, it may not.
type (
	closingRank  struct{} // IA.Close
	answerRank   struct{} // the gates of connection requests
	controlRank  struct{} // the requests of an endpoint, and with that changing it
	gateRank     struct{} // the gates of objects without a lock of their kind, by birth
	registryRank struct{} // libdat2's registry, and adapters that open and close
	receivesRank struct{} // the receives of an endpoint, and shared receive queues
	ledgersRank  struct{} // the list of the adapters' ledgers
)

func (closingRank) Place() (int, string)  { return 1, "an adapter's closing" }
func (answerRank) Place() (int, string)   { return 2, "a connection request" }
func (controlRank) Place() (int, string)  { return 3, "an endpoint's requests" }
func (gateRank) Place() (int, string)     { return 4, "a gate" }
func (registryRank) Place() (int, string) { return 5, "the registry" }
func (receivesRank) Place() (int, string) { return 7, "a queue of receives" } // 9 is a shadow
func (ledgersRank) Place() (int, string)  { return 10, "the ledgers" }

// mayWait is called before the goroutine waits for the library or for another goroutine.
// With -tags lockorder it panics if the goroutine holds a lock that those may need.
func mayWait() { lockorder.MayWait[controlRank]() }
