package udat

// RegionUsers returns how many endpoints and queues freeing the region would look at.
func RegionUsers(lmr *LMR) int {
	users, _ := lmr.users.all()
	return len(users)
}

// RegionsOf returns how many regions the endpoint knows.
func RegionsOf(ep *EP) (n int) {
	native := ep.native.Load()
	native.lock()
	defer native.unlock()
	for _, d := range []*direction{&native.recv, &native.request} {
		for range d.known.set.All() {
			n++
		}
	}
	return n
}
