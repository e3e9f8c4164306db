package udat_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"
)

// pulse finds out how late a ticker is, which tells a machine that stands still from
// a sequence that does.
type pulse struct {
	last        atomic.Pointer[time.Time] // when it ticked
	late        atomic.Int64              // by how many nanoseconds a tick was late at most
	stop, ended chan struct{}
}

const pulseInterval = 50 * time.Millisecond

func startPulse() *pulse {
	p := &pulse{stop: make(chan struct{}), ended: make(chan struct{})}
	p.tick()
	go p.run()
	return p
}

func (p *pulse) run() {
	defer close(p.ended)
	ticker := time.NewTicker(pulseInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			p.late.Store(int64(p.latest()))
			p.tick()
		case <-p.stop:
			return
		}
	}
}

func (p *pulse) tick() {
	now := time.Now()
	p.last.Store(&now)
}

// latest is how late the latest tick was, or is.
func (p *pulse) latest() time.Duration {
	return max(time.Duration(p.late.Load()), time.Since(*p.last.Load())-pulseInterval)
}

func (p *pulse) end() {
	close(p.stop)
	<-p.ended
}

// threadsInKernel shows where each thread of the process is in the kernel, as far as the
// kernel tells.
func threadsInKernel() string {
	var text strings.Builder
	tasks, _ := filepath.Glob("/proc/self/task/*")
	for _, task := range tasks {
		fmt.Fprintf(&text, "thread %s:", filepath.Base(task))
		for _, file := range []string{"comm", "wchan", "syscall", "stack"} {
			said, _ := os.ReadFile(filepath.Join(task, file))
			fmt.Fprintf(&text, " %s", bytes.ReplaceAll(bytes.TrimSpace(said), []byte("\n"), []byte(" ")))
		}
		text.WriteByte('\n')
	}
	return text.String()
}
