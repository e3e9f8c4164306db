package shadow

import (
	"slices"
	"time"
)

// StepsKept is how much of its history an endpoint remembers.
const StepsKept = 64

// history has the last calls and events of an endpoint.
type history []Step

// add notes a step. One that repeats the last is counted with it: a program that
// polls would fill the history with nothing else.
func (h *history) add(s Step) {
	s.Time, s.Count = time.Now(), 1
	if n := len(*h); n > 0 {
		last := &(*h)[n-1]
		if last.What == s.What && last.State == s.State && last.HasState == s.HasState && last.Err == nil && s.Err == nil {
			last.Time = s.Time
			last.Count++
			return
		}
		if n == StepsKept {
			*h = slices.Delete(*h, 0, 1)
		}
	}
	*h = append(*h, s)
}
