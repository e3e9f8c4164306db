package regcache

// recency is a list of regions in the order in which they were last used.
type recency[R any] struct{ oldest, newest *Region[R] }

func (l *recency[R]) add(region *Region[R]) {
	region.older, region.newer = l.newest, nil
	if l.newest != nil {
		l.newest.newer = region
	} else {
		l.oldest = region
	}
	l.newest = region
}

func (l *recency[R]) remove(region *Region[R]) {
	if region.older != nil {
		region.older.newer = region.newer
	} else {
		l.oldest = region.newer
	}
	if region.newer != nil {
		region.newer.older = region.older
	} else {
		l.newest = region.older
	}
	region.older, region.newer = nil, nil
}
