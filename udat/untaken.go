package udat

import "sync/atomic"

// untaken counts the completions of a direction that lie in the backlog, where
// the binding has put them. For the program their operations are outstanding
// until it takes them, or the native endpoint is replaced.
type untaken struct{ packed atomic.Uint64 } // the generation, and behind it the count

// generation tells one native endpoint of a direction from the next. It is never
// 0, and fits generationMask.
type generation uint32

const untakenBits = 32

func (u *untaken) restart() {
	next := generation(u.packed.Load()>>untakenBits+1) & generation(generationMask)
	u.packed.Store(uint64(max(next, 1)) << untakenBits)
}

func (u *untaken) add() generation { return generation(u.packed.Add(1) >> untakenBits) }

// remove forgets a completion, unless it is of an earlier generation.
func (u *untaken) remove(g generation) {
	for {
		packed := u.packed.Load()
		if generation(packed>>untakenBits) != g || u.packed.CompareAndSwap(packed, packed-1) {
			return
		}
	}
}

func (u *untaken) any() bool { return uint32(u.packed.Load()) > 0 }

// direction gives that of a completion which is counted.
func (event *Event) direction() *direction {
	switch event.Operation {
	case DTOReceive, DTOIBRecvImmed, DTOIBRecvMsgImmed:
		return &event.ep.recv
	}
	return &event.ep.request
}
