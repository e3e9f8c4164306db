package stream

import (
	"sync"
	"time"
)

// A deadline has a channel that is closed once its time has passed. A later time moves the deadline of calls that wait
// already; once it has passed, only later calls get another channel.
type deadline struct {
	mu     sync.Mutex
	timer  *time.Timer
	passed chan struct{}
}

func newDeadline() deadline { return deadline{passed: make(chan struct{})} }

// set moves the deadline. The zero time means none.
func (d *deadline) set(t time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.timer != nil && !d.timer.Stop() {
		<-d.passed // the function of the timer runs, or has run
	}
	d.timer = nil
	if isClosed(d.passed) {
		d.passed = make(chan struct{})
	}
	if t.IsZero() {
		return
	}
	if left := time.Until(t); left > 0 {
		passed := d.passed
		d.timer = time.AfterFunc(left, func() { close(passed) })
		return
	}
	close(d.passed)
}

func (d *deadline) wait() <-chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.passed
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
