package udat

import (
	"fmt"
	"slices"
	"strings"

	"github.com/goudat/goudat/cgo"
)

// Free ends the registration and the pinning. It fails with ErrInvalidState while
// an RMR is bound to the memory, or operations that use it are not over, as far as the
// adapter has told: the error names the endpoints and regions, and says what to do
// about each kind of use.
// An operation is over when its completion is there, whether or not the program
// has taken it. Whether suppressed requests are over Free finds out itself, and
// waits for them for up to a quarter of a second. A peer that still has the
// RMRTriplet gets DTOErrRemoteAccess.
//
// Implements:
//
//	DAT_RETURN dat_lmr_free(IN DAT_LMR_HANDLE lmr_handle)
func (lmr *LMR) Free() error {
	const op = "dat_lmr_free"
	if lmr != nil {
		lmr.settleUsers(op)
	}
	return lmr.object().seal(op, InvalidHandleLMR, func() error {
		if err := lmr.refusePosted(op); err != nil {
			return err
		}
		// No post gets through from here on; one that did meanwhile is found now.
		lmr.gone.Store(true)
		err := lmr.refusePosted(op)
		if err == nil {
			err = check(op, cgo.LMRFree(lmr.handle))
		}
		if err != nil {
			lmr.gone.Store(false)
			return err
		}
		lmr.users.end(lmr)
		lmr.release()
		return nil
	})
}

// regionUse is what operations that are outstanding do with a memory region.
type regionUse uint8

const (
	usedByReceives regionUse = 1 << iota
	usedBySharedReceives
	usedByRequests
	usedBySuppressed // requests that end without a completion
	usedByWindows
)

// regionUses has the kinds of use, and what ends each.
var regionUses = []struct {
	use          regionUse
	name, remedy string
}{
	{usedByReceives, "receives", "receives are over when messages have come for them or the connection has ended; EP.Reset or EP.Free take them back"},
	{usedBySharedReceives, "shared receives", "shared receives are over when messages have come for them; SRQ.Free takes them back"},
	{usedByWindows, "a window", "windows end with the completion of a bind to other memory or to an empty Segment, or with RMR.Free"},
	{usedByRequests, "requests", "requests are over when their completions are there: wait for these, or disconnect the endpoint"},
	{usedBySuppressed, "suppressed requests", "suppressed requests were not over within %v: the peer has not taken them yet, wait for a sign of it, or disconnect the endpoint"},
}

func (use regionUse) String() string {
	var names []string
	for _, u := range regionUses {
		if use&u.use != 0 {
			names = append(names, u.name)
		}
	}
	return strings.Join(names, ", ")
}

// refusePosted refuses to free memory that the adapter may still read or write.
func (lmr *LMR) refusePosted(op string) error {
	names, all := lmr.usersOfPosted()
	if all == 0 {
		return nil
	}
	detail := "the memory is in use by: " + strings.Join(names, ", ")
	for _, u := range regionUses {
		switch {
		case all&u.use == 0:
		case u.use == usedBySuppressed:
			detail += "; " + fmt.Sprintf(u.remedy, settleWithin)
		default:
			detail += "; " + u.remedy
		}
	}
	return refuse(op, ErrInvalidState, InvalidStateLMRInUse, "%s", detail)
}

// usersOfPosted names the users that have operations on the memory outstanding, and what all
// of these do with it.
func (lmr *LMR) usersOfPosted() (names []string, all regionUse) {
	for {
		users, adds := lmr.users.all()
		for _, user := range users {
			if use := user.uses(lmr); use != 0 {
				names = append(names, fmt.Sprintf("%s (%v)", user.named(), use))
				all |= use
			}
		}
		if all != 0 || !lmr.users.addedSince(adds) {
			return names, all
		}
	}
}

// settleUsers looks at what has completed, and waits for suppressed operations that
// use the memory region, since no completion tells the program when they are done.
// It does not wait for others.
func (lmr *LMR) settleUsers(op string) {
	bound, stop := after(settleWithin)
	defer stop()
	users, _ := lmr.users.all()
	for _, user := range users {
		switch user := user.(type) {
		case *nativeEP:
			for !isClosed(bound) && user.awaitSuppressed(op, lmr, bound) {
			}
		case *SRQ:
			user.reap(op, lmr)
		case *RMR:
			user.reap(op)
		}
	}
}

// awaitSuppressed looks at what has completed. If operations that use the region are
// outstanding then, and all of those are suppressed, it waits until requests
// complete, or until it is time to have them reported again. Otherwise it reports false.
func (n *nativeEP) awaitSuppressed(op string, lmr *LMR, bound <-chan struct{}) (waited bool) {
	ep := n.ep
	if ep.obj.enter(op, InvalidHandleEP) != nil {
		return false
	}
	if !n.current() {
		ep.obj.leave()
		return false
	}
	d := &n.request
	n.lock()
	for _, d := range []*direction{&n.recv, d} {
		if d.uses(lmr) != 0 {
			d.evd.reap()
		}
	}
	retired := d.retired.Load()
	waited = n.recv.uses(lmr) == 0 && d.uses(lmr) == usedBySuppressed
	reported := true
	if waited {
		reported = d.report()
		d.evd.reap()
	}
	n.unlock()
	ep.obj.leave()
	return waited && d.awaitReport(op, reported, func() bool { return d.retired.Load() != retired }, bound) == nil
}

// uses tells what operations that are outstanding do with the memory region.
func (n *nativeEP) uses(lmr *LMR) regionUse {
	n.lock()
	defer n.unlock()
	return n.recv.uses(lmr) | n.request.uses(lmr)
}

// uses tells what operations that are outstanding do with the memory region. The
// caller holds mu.
func (d *direction) uses(lmr *LMR) (use regionUse) {
	if !d.known.set.Has(lmr) {
		return 0
	}
	for sequence := d.retired.Load(); sequence < d.posted.Load(); sequence++ {
		switch s := d.slot(sequence); {
		case !s.uses(lmr):
		case s.op == opReceive:
			use |= usedByReceives
		case s.success == toProgram:
			use |= usedByRequests
		default:
			use |= usedBySuppressed
		}
	}
	return use
}

func (s *slot) uses(lmr *LMR) bool { return s.region == lmr || slices.Contains(s.regions, lmr) }

// reap looks at what has completed, if receives that are outstanding use the region.
func (srq *SRQ) reap(op string, lmr *LMR) {
	if srq.uses(lmr) == 0 {
		return
	}
	for _, evd := range srq.evds() {
		if evd.obj.enter(op, InvalidHandleEVDRecv) == nil {
			evd.reap()
			evd.obj.leave()
		}
	}
}

// evds returns those that completions of the queue come to.
func (srq *SRQ) evds() (list []*EVD) {
	srq.mu.Lock()
	defer srq.mu.Unlock()
	for evd := range srq.outlets {
		list = append(list, evd)
	}
	return list
}

// uses reports whether receives that are outstanding use the memory region.
func (srq *SRQ) uses(lmr *LMR) regionUse {
	srq.mu.Lock()
	defer srq.mu.Unlock()
	if !srq.known.set.Has(lmr) {
		return 0
	}
	for i := range srq.slots {
		if s := &srq.slots[i]; s.posted && s.uses(lmr) {
			return usedBySharedReceives
		}
	}
	return 0
}
