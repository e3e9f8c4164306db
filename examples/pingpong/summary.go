package main

import (
	"slices"
	"time"
)

// summary counts what one side has received and verified.
type summary struct {
	messages int
	bytes    int64
	trips    map[int][]time.Duration // by message size
}

func (s *summary) count(size int) {
	s.messages++
	s.bytes += int64(size)
}

func (s *summary) roundTrip(size int, d time.Duration) {
	if s.trips == nil {
		s.trips = make(map[int][]time.Duration)
	}
	s.trips[size] = append(s.trips[size], d)
}

func (s *summary) print(n *node, settings settings) {
	n.say("%d messages, %d bytes, all verified", s.messages, s.bytes)
	var all []time.Duration
	for _, size := range settings.sizes {
		trips := s.trips[size]
		if len(trips) == 0 {
			continue
		}
		all = append(all, trips...)
		n.detail("round trip of %7d bytes: p50 %9v  p99 %9v", size, percentile(trips, 50), percentile(trips, 99))
	}
	if len(all) > 0 {
		n.say("round trip of all sizes: p50 %v, p99 %v", percentile(all, 50), percentile(all, 99))
	}
}

// percentile returns the smallest duration that at least p percent of the samples do not exceed.
func percentile(durations []time.Duration, p int) time.Duration {
	sorted := slices.Sorted(slices.Values(durations))
	rank := (len(sorted)*p + 99) / 100
	return sorted[max(rank-1, 0)].Round(100 * time.Nanosecond)
}
