package regcache

import "slices"

// rangeSet has ranges of addresses, each with a region. No range contains another. So their starts
// and ends have the same order, and of the ranges that start at or before an address, the last one
// reaches furthest.
type rangeSet[R any] struct{ list []*Region[R] }

// startingBehind returns how many ranges start at or before an address.
func (r *rangeSet[R]) startingBehind(address uintptr) int {
	i, _ := slices.BinarySearchFunc(r.list, address, func(region *Region[R], address uintptr) int {
		if region.start <= address {
			return -1
		}
		return 1
	})
	return i
}

// covering returns a region that contains the range, nil if there is none.
func (r *rangeSet[R]) covering(start, end uintptr) *Region[R] {
	if i := r.startingBehind(start); i > 0 && r.list[i-1].end >= end {
		return r.list[i-1]
	}
	return nil
}

// add adds a region, which no other may contain, and removes those that it contains.
func (r *rangeSet[R]) add(region *Region[R]) (contained []*Region[R]) {
	first := r.startingBehind(region.start)
	if first > 0 && r.list[first-1].start == region.start {
		first-- // it is shorter
	}
	last := first
	for last < len(r.list) && r.list[last].end <= region.end {
		last++
	}
	contained = slices.Clone(r.list[first:last])
	r.list = slices.Replace(r.list, first, last, region)
	return contained
}

func (r *rangeSet[R]) remove(region *Region[R]) {
	if i := r.startingBehind(region.start); i > 0 && r.list[i-1] == region {
		r.list = slices.Delete(r.list, i-1, i)
	}
}

// overlapping returns the regions that overlap the range.
func (r *rangeSet[R]) overlapping(start, end uintptr) (found []*Region[R]) {
	i := r.startingBehind(start)
	for i > 0 && r.list[i-1].end > start {
		i--
	}
	for ; i < len(r.list) && r.list[i].start < end; i++ {
		if r.list[i].end > start {
			found = append(found, r.list[i])
		}
	}
	return found
}
