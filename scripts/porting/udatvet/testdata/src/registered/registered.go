package registered

import (
	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/mem"
)

type peer struct {
	buffer, first, second []byte
	lmr                   *udat.LMR
}

func must[T any](value T, err error) T { return value }

func arguments() (*udat.PZ, []byte, udat.MemPriv) { return nil, nil, 0 }

func bad(pz *udat.PZ, cache *mem.RegistrationCache, p *peer, n int) (err error) {
	memory := make([]byte, 100)
	lmr, err := udat.RegisterMemory(pz, memory, 0)
	memory = append(memory, 1, 2) // want `memory is registered: append may move it`
	memory = memory[n:]           // want `memory is registered: it no longer begins where the region does`
	println(lmr)

	p.lmr, err = udat.RegisterMemory(pz, p.buffer, 0)
	p.buffer = append(p.buffer[:0], 3) // want `p.buffer is registered: append may move it`

	message := []byte("message")
	r, err := cache.Register(message, 0)
	message = message[1:] // want `message is registered`
	println(r)

	first, err := (udat.RegisterMemory(pz, p.first, 0))
	p.first = append(p.first, 5) // want `p.first is registered`
	second := must(udat.RegisterMemory(pz, p.second, 0))
	p.second = append(p.second, 5) // want `p.second is registered`
	println(first, second)

	bytes := p.lmr.Bytes()
	bytes = append(bytes, 4) // want `bytes is registered`
	println(bytes)
	return err
}

func good(pz *udat.PZ, p *peer, n int) error {
	memory := []byte{1}
	memory = append(memory, 2)
	memory = memory[1:]
	lmr, err := udat.RegisterMemory(pz, memory, 0)
	if err != nil {
		return err
	}
	part := memory[n:]
	part = part[1:]
	memory = memory[:n]
	memory = memory[0:n]
	other := append([]byte(nil), memory...)
	println(part, other)
	if err := lmr.Free(); err != nil {
		return err
	}
	memory = append(memory, 3)

	lmr, err = udat.RegisterMemory(arguments())
	rest := lmr.Bytes()
	rest = rest[copy(rest, memory):] // LMR.SegmentOf takes it
	lmr, err = udat.RegisterMemory(pz, p.buffer, 0)
	p.buffer = make([]byte, 3)
	p.buffer = append(p.buffer, 1)
	p.buffer = p.buffer[1:]
	return err
}
