package udat

import (
	"cmp"
	"slices"

	"github.com/goudat/goudat/udat/internal/lockorder"
	"github.com/goudat/goudat/udat/internal/smallset"
)

// An endpoint or shared receive queue and a memory region know of each other from the first post that names the region,
// until either is freed. So freeing the region looks at those that may use it, and not at every endpoint of the adapter.

// regionUser is a *nativeEP, an *SRQ, or an *RMR that is bound to the region.
type regionUser interface {
	named() *object // the object that errors name
	// uses tells what operations that are outstanding do with the region.
	uses(*LMR) regionUse
	// forgetRegion lets go of a region that is freed.
	forgetRegion(*LMR)
}

// regionUsers has those that have posted operations on a region.
type regionUsers struct {
	mu     lockorder.Mutex[lockorder.Last]
	set    smallset.Set[regionUser]
	adds   int  // how many users have been added
	closed bool // the region is freed
}

// add reports false when the region is freed.
func (u *regionUsers) add(user regionUser) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if !u.closed {
		u.set.Add(user)
		u.adds++
	}
	return !u.closed
}

func (u *regionUsers) remove(user regionUser) {
	u.mu.Lock()
	u.set.Remove(user)
	u.mu.Unlock()
}

// all returns the users, in the order in which they were made, and how many have been
// added so far.
func (u *regionUsers) all() (users []regionUser, adds int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	return slices.SortedFunc(u.set.All(), func(a, b regionUser) int { return cmp.Compare(a.named().serial, b.named().serial) }), u.adds
}

// addedSince reports whether users have been added since all returned the number. If so,
// whoever has looked at the users that it returned must look again: Modify may have moved
// receives to a new native endpoint.
func (u *regionUsers) addedSince(adds int) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.adds != adds
}

// end lets no more in, and has those that are there forget the region.
func (u *regionUsers) end(lmr *LMR) {
	u.mu.Lock()
	u.closed = true
	u.mu.Unlock()
	users, _ := u.all()
	for _, user := range users {
		user.forgetRegion(lmr)
	}
	u.mu.Lock()
	u.set = smallset.Set[regionUser]{}
	u.mu.Unlock()
}

// knownRegions are the regions that a direction has posted operations on. It is guarded by the direction's lock.
type knownRegions struct {
	latest *LMR
	set    smallset.Set[*LMR]
}

// meet notes that the owner of the direction may use the region. It comes before the look at whether the region is freed:
// then either the call that frees it finds the owner, or the owner finds it freed.
func (k *knownRegions) meet(lmr *LMR, owner regionUser) {
	if k.latest == lmr {
		return
	}
	if !k.set.Has(lmr) {
		if !lmr.users.add(owner) {
			return
		}
		k.set.Add(lmr)
	}
	k.latest = lmr
}

func (k *knownRegions) forget(lmr *LMR) {
	if k.latest == lmr {
		k.latest = nil
	}
	k.set.Remove(lmr)
}

// leave has the regions forget the owner.
func (k *knownRegions) leave(owner regionUser) {
	for lmr := range k.set.All() {
		lmr.users.remove(owner)
	}
	*k = knownRegions{}
}

func (n *nativeEP) named() *object { return &n.ep.obj }

func (n *nativeEP) forgetRegion(lmr *LMR) {
	n.lock()
	defer n.unlock()
	for _, d := range []*direction{&n.recv, &n.request} {
		d.letGo(lmr)
		for i := range d.slots {
			d.slots[i].letGo(lmr)
		}
	}
}

func (srq *SRQ) named() *object { return &srq.obj }

func (srq *SRQ) forgetRegion(lmr *LMR) {
	srq.mu.Lock()
	defer srq.mu.Unlock()
	srq.letGo(lmr)
	for i := range srq.slots {
		srq.slots[i].letGo(lmr)
	}
}

// letGo drops what the gathering knows of a region that is freed.
func (g *gathering) letGo(lmr *LMR) {
	g.known.forget(lmr)
	clear(g.regions[:cap(g.regions)]) // those of the latest operation are noted elsewhere
}

// letGo drops a region that is freed, which the record of an operation that is over would
// keep in memory.
func (s *slot) letGo(lmr *LMR) {
	if s.region == lmr {
		s.region = nil
	}
	further := s.regions[:cap(s.regions)]
	for i := range further {
		if further[i] == lmr {
			further[i] = nil
		}
	}
}
