package mpi

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
)

// pipe is a ring without a device: the sender's view, the receiver's view, and the writes that are under way.
type pipe struct {
	out    outRing
	in     inRing
	writes []write
	random *rand.Rand
}

type write struct {
	at    int
	bytes []byte
}

func newPipe(size int, random *rand.Rand) *pipe {
	return &pipe{out: outRing{size: uint32(size)}, in: newInRing(size), random: random}
}

// memoryWords is memory that no device writes.
type memoryWords []byte

func (m memoryWords) Load(i int) uint64 { return *word(m, i) }

func newInRing(size int) inRing {
	memory := make([]byte, size)
	return inRing{memory: memory, words: memoryWords(memory)}
}

// send begins to write a message, if there is room.
func (p *pipe) send(payload []byte) bool {
	space := ringSpace(len(payload))
	at, skip, ok := p.out.claim(space)
	if !ok {
		return false
	}
	if skip >= 0 {
		message := make([]byte, ringUnit)
		(&header{kind: skipMessage}).put(message)
		seal(message)
		p.writes = append(p.writes, write{skip, message})
	}
	message := make([]byte, space)
	(&header{kind: dataMessage, payload: uint16(len(payload)), element: elementKind(8), length: uint32(len(payload))}).put(message)
	copy(message[headerSize:], payload)
	seal(message)
	p.writes = append(p.writes, write{at, message})
	return true
}

// land lets a part of the oldest write appear, in any order of its words.
func (p *pipe) land(t *testing.T) {
	w := p.writes[0]
	p.writes = p.writes[1:]
	if slices.ContainsFunc(p.in.memory[w.at:][:len(w.bytes)], func(b byte) bool { return b != 0 }) {
		t.Fatalf("%d bytes at %d overwrite others", len(w.bytes), w.at)
	}
	order := p.random.Perm(len(w.bytes) / 8)
	for i, k := range order {
		if binary.NativeEndian.Uint64(w.bytes[8*k:]) == 0 {
			continue
		}
		missing := slices.ContainsFunc(order[i:], func(k int) bool {
			return !bytes.Equal(w.bytes[8*k:][:8], p.in.memory[w.at+8*k:][:8])
		})
		if m := p.in.next(); missing && m != nil && &m[0] == &p.in.memory[w.at] {
			t.Fatal("a message is taken before it has arrived")
		}
		copy(p.in.memory[w.at+8*k:], w.bytes[8*k:][:8])
	}
}

// Messages come out of a ring whole and in order, however many are under way, and the sender never overwrites what
// was not read.
func TestRing(t *testing.T) {
	for _, size := range []int{1024, 4096} {
		random := rand.New(rand.NewPCG(uint64(size), 1))
		p := newPipe(size, random)
		// The counters wrap around soon.
		start := uint32(1<<32 - 10*size)
		p.out.written, p.out.consumed, p.in.consumed, p.in.reported = start, start, start, start
		var sent [][]byte
		received, refused := 0, 0
		for received < 5000 {
			switch random.IntN(4) {
			case 0, 1:
				payload := make([]byte, random.IntN(mostInRing(size)+1))
				for i := range payload {
					payload[i] = byte(random.IntN(3)) // zeros, too
				}
				if p.send(payload) {
					sent = append(sent, payload)
				} else {
					refused++
				}
			case 2:
				if len(p.writes) > 0 {
					p.land(t)
				}
			case 3:
				message := p.in.next()
				if message == nil {
					continue
				}
				var h header
				payload, err := parseMessage(message, &h)
				if err != nil {
					t.Fatal(err)
				}
				if h.kind == dataMessage {
					if !bytes.Equal(payload, sent[received]) {
						t.Fatalf("message %d of ring %d has wrong contents", received, size)
					}
					received++
				}
				p.in.release(message)
				if p.in.due() || random.IntN(20) == 0 {
					p.in.reported = p.in.consumed
					if !p.out.free(p.in.consumed) {
						t.Fatal("more was read than written")
					}
				}
			}
		}
		if refused == 0 {
			t.Error("the ring was never full")
		}
	}
}

// A sender that waits for room gets it once the receiver has read everything, however long its message is.
func TestRingDrains(t *testing.T) {
	for _, size := range []int{1024, 4096} {
		p := newPipe(size, rand.New(rand.NewPCG(3, 3)))
		for length := range 3 * mostInRing(size) {
			length %= mostInRing(size) + 1
			for p.send(make([]byte, length)) {
			}
			for len(p.writes) > 0 {
				p.land(t)
			}
			for m := p.in.next(); m != nil; m = p.in.next() {
				p.in.release(m)
			}
			if !p.in.due() && p.in.consumed != p.out.written {
				t.Fatalf("a ring of %d is full of messages of %d bytes, and nothing is due", size, length)
			}
			if p.out.free(p.out.written + 1) {
				t.Fatal("more can be read than was written")
			}
			if !p.out.free(p.in.consumed) || p.out.consumed != p.out.written {
				t.Fatalf("of %d bytes %d were read", p.out.written, p.in.consumed)
			}
		}
	}
}

// Memory with the beginning of a message but without the right checksum is not a message.
func TestRingGarbage(t *testing.T) {
	r := newInRing(1024)
	for i := range r.memory {
		r.memory[i] = 0xff
	}
	if r.next() != nil {
		t.Error("garbage is a message")
	}
	clear(r.memory)
	r.memory[6] = byte(dataMessage)
	if r.next() != nil {
		t.Error("a message without a checksum is taken")
	}
}

func TestLine(t *testing.T) {
	for _, want := range []line{
		{}, {flow: flow{1, 2}}, {flow: flow{1 << 31, 1<<32 - 1}, full: true}, {notice: noticeDeath, rank: 1 << 31, full: true}, {notice: noticeLauncher},
		{flow: flow{consumed: 1}, doze: doze{true, 1<<32 - 1}},
	} {
		b := make([]byte, lineSpace)
		want.put(b, 0)
		if got, whole := parseLine(wordsOf(b)); got != want || !whole {
			t.Errorf("got %+v, %v, want %+v", got, whole, want)
		}
	}
	if _, whole := parseLine(lineWords{}); whole {
		t.Error("a line that was never written is whole")
	}
	if !later(0, 1<<32-1) || later(5, 5) || later(1<<32-1, 0) {
		t.Error("later is wrong for counters that wrap around")
	}
}

func wordsOf(b []byte) lineWords {
	return lineWords{*word(b, 0), *word(b, 1), *word(b, 2), *word(b, 3)}
}

// A line that is partly overwritten by the next one is not valid, wherever the new part begins and ends.
func TestTornLine(t *testing.T) {
	before, after, torn := make([]byte, lineSpace), make([]byte, lineSpace), make([]byte, lineSpace)
	line{flow: flow{0x1ff, 3}}.put(before, 1)
	line{flow: flow{0x200, 4}, notice: noticeDeath, rank: 2}.put(after, 2)
	for begin := range lineSize {
		for end := begin; end <= lineSize; end++ {
			copy(torn, before)
			copy(torn[begin:end], after[begin:end])
			_, whole := parseLine(wordsOf(torn))
			if want := bytes.Equal(torn, before) || bytes.Equal(torn, after); whole != want {
				t.Fatalf("with the bytes from %d to %d, a line is whole: %v", begin, end, whole)
			}
		}
	}
}

func TestHeader(t *testing.T) {
	for _, want := range []header{
		{kind: dataMessage, element: elementKind(reflect.Float64), payload: 16, flow: flow{3, 1<<32 - 1}, context: 5, tag: MaxTag, length: 16, number: 1 << 31, source: 77},
		{kind: offerMessage, element: elementKind(reflect.Int), payload: offerSize, context: 1<<32 - 1, length: 1 << 31},
		{kind: takenMessage, payload: takenSize},
		{kind: skipMessage},
	} {
		b := make([]byte, ringSpace(int(want.payload)))
		want.put(b)
		for i := range int(want.payload) {
			b[headerSize+i] = byte(i)
		}
		var got header
		payload, err := parseMessage(b, &got)
		if err != nil || got != want || !slices.Equal(payload, b[headerSize:][:want.payload]) {
			t.Errorf("got %+v, %q, %v, want %+v", got, payload, err, want)
		}
	}
}

func TestMalformed(t *testing.T) {
	text := func(h header, behind int) []byte {
		b := make([]byte, headerSize+behind)
		h.put(b)
		return b
	}
	int32Kind := elementKind(reflect.Int32)
	for name, b := range map[string][]byte{
		"nothing":             nil,
		"half a header":       make([]byte, headerSize/2),
		"fewer bytes":         text(header{kind: dataMessage, element: int32Kind, length: 8, payload: 8}, 7),
		"another length":      text(header{kind: dataMessage, element: int32Kind, length: 8, payload: 4}, 8),
		"one number and half": text(header{kind: dataMessage, element: int32Kind, length: 6, payload: 6}, 8),
		"another kind":        text(header{kind: 77}, 0),
		"no kind":             text(header{}, 0),
		"no numbers":          text(header{kind: dataMessage, element: elementKind(reflect.String), length: 8, payload: 8}, 8),
		"an unknown element":  text(header{kind: dataMessage, element: 255, length: 8, payload: 8}, 8),
		"half an offer":       text(header{kind: offerMessage, element: int32Kind, length: 8, payload: offerSize - 1}, offerSize),
		"nothing taken":       text(header{kind: takenMessage}, 4),
	} {
		if _, err := parseMessage(b, new(header)); !errors.Is(err, errMalformed) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
