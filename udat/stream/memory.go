package stream

import (
	"errors"
	"slices"

	"github.com/goudat/goudat/udat"
)

// mostIdle is for how many connections an adapter keeps the memory of ones that are over.
const mostIdle = 8

// memory is what a connection has registered. It has a protection zone of its own, so that nobody but the peer of the
// connection reaches the ring, by whatever it knows from earlier ones.
type memory struct {
	pz    *udat.PZ
	local *udat.LMR // what the peer cannot reach
	ring  *udat.LMR // what the peer writes, and reads to find out whether this side is there

	staging, ringBytes   []byte
	buffers              [][]byte // for receives
	credit, ending, word []byte   // the messages of report and end, and what ask reads
}

// takeMemory returns memory for a connection, which is registered.
func (a *Adapter) takeMemory() (*memory, error) {
	a.mu.Lock()
	if last := len(a.idle) - 1; last >= 0 {
		defer a.mu.Unlock()
		m := a.idle[last]
		a.idle = a.idle[:last]
		return m, nil
	}
	a.mu.Unlock()

	s := a.config.sizes()
	staged, receives := int(s.staged()*s.slotSize), int(s.slots+more)*bufferSize
	all := make([]byte, staged+receives+3*headerSize)
	others := slices.Collect(slices.Chunk(all[staged+receives:], headerSize))
	m := &memory{
		staging: all[:staged], ringBytes: make([]byte, s.window()),
		buffers: slices.Collect(slices.Chunk(all[staged:staged+receives], bufferSize)),
		credit:  others[0], ending: others[1], word: others[2],
	}
	var err error
	if m.pz, err = udat.CreatePZ(a.ia); err != nil {
		return nil, err
	}
	local := udat.MemPrivLocalRead | udat.MemPrivLocalWrite
	if m.local, err = udat.RegisterMemory(m.pz, all, local); err == nil {
		m.ring, err = udat.RegisterMemory(m.pz, m.ringBytes, local|udat.MemPrivRemoteRead|udat.MemPrivRemoteWrite)
	}
	if err != nil {
		m.free()
		return nil, err
	}
	return m, nil
}

// giveMemory takes the memory of a connection back, whose endpoint is freed.
func (a *Adapter) giveMemory(m *memory) {
	clear(m.ringBytes) // the next peer may read it
	a.mu.Lock()
	keep := a.closed.Err() == nil && len(a.idle) < mostIdle
	if keep {
		a.idle = append(a.idle, m)
	}
	a.mu.Unlock()
	if !keep {
		m.free()
	}
}

// free does nothing about what went with the adapter.
func (m *memory) free() { _ = errors.Join(m.ring.Free(), m.local.Free(), m.pz.Free()) }
