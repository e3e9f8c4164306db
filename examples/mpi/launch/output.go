package launch

import (
	"bytes"
	"fmt"
	"io"
	"sync"
)

// prefixer writes whole lines, each after the number of its rank. mu keeps lines of several prefixers from mixing.
type prefixer struct {
	to   io.Writer // may be nil
	rank int
	mu   *sync.Mutex
	line []byte // the line that has not ended yet
}

// longestLine is the length at which a line without an end is broken.
const longestLine = 64 << 10

func (p *prefixer) Write(b []byte) (int, error) {
	p.line = append(p.line, b...)
	for {
		end := bytes.IndexByte(p.line, '\n')
		if end < 0 && len(p.line) < longestLine {
			return len(b), nil
		}
		if end < 0 {
			end = len(p.line)
		}
		p.print(p.line[:end])
		p.line = p.line[min(end+1, len(p.line)):]
	}
}

// finish writes the rest that has no end of line.
func (p *prefixer) finish() {
	if len(p.line) > 0 {
		p.print(p.line)
		p.line = nil
	}
}

func (p *prefixer) print(line []byte) {
	if p.to == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	fmt.Fprintf(p.to, "rank %d: %s\n", p.rank, line)
}
