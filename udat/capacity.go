package udat

// reserveSingle claims room for one more event of those that come one by one:
// software events and connection requests. It reports false when there is none.
func (evd *EVD) reserveSingle() bool {
	for {
		singles := evd.singles.Load()
		if singles >= int64(evd.length()) {
			return false
		}
		if evd.singles.CompareAndSwap(singles, singles+1) {
			return true
		}
	}
}

func (evd *EVD) releaseSingle() { evd.singles.Add(-1) }
