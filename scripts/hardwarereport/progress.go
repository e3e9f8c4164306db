package main

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// progress prints how far a step is, every few seconds.
type progress struct {
	out   io.Writer
	title string
	began time.Time
	ended chan struct{}
	done  sync.WaitGroup

	mu  sync.Mutex
	now string
}

const progressInterval = 10 * time.Second

func newProgress(out io.Writer, title string, most time.Duration) *progress {
	p := &progress{out: out, title: title, began: time.Now(), ended: make(chan struct{})}
	fmt.Fprintf(out, "%s (at most %v)\n", title, most.Round(time.Second))
	p.done.Add(1)
	go p.tick()
	return p
}

func (p *progress) tick() {
	defer p.done.Done()
	ticker := time.NewTicker(progressInterval)
	defer ticker.Stop()
	for {
		select {
		case <-p.ended:
			return
		case <-ticker.C:
			p.mu.Lock()
			fmt.Fprintf(p.out, "%s: %v: %s\n", p.title, time.Since(p.began).Round(time.Second), p.now)
			p.mu.Unlock()
		}
	}
}

// say sets what the step is doing.
func (p *progress) say(format string, values ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.now = fmt.Sprintf(format, values...)
}

func (p *progress) stop() {
	close(p.ended)
	p.done.Wait()
}
