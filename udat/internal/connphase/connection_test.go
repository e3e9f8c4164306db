package connphase

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"
)

// diagram lists all moves that are allowed, except those of events that are dropped.
const diagram = `
Idle: Begin Attempting, Empty EndedEmpty
Attempting: Withdraw Idle, Observe Connected, Establish Connected Deliver, Fail Refused KeepUntilReplaced, Disconnect Refused KeepUntilReplaced, Abort Aborted KeepUntilReplaced
Connected: Establish Connected Deliver, Fail Ended Deliver, Disconnect Ended Deliver, Drain Draining, BeginDisconnect Disconnecting, Forget Ended KeepUntilReplaced
Draining: Establish Draining Deliver, Fail Ended Deliver, Disconnect Ended Deliver, BeginDisconnect Disconnecting, Forget Ended KeepUntilReplaced
Disconnecting: Establish Disconnecting Deliver, Fail Ended Deliver, Disconnect Ended Deliver, BeginDisconnect Disconnecting, Forget Ended KeepUntilReplaced
Aborted:
Refused:
Ended:
EndedEmpty:
`

func TestDiagram(t *testing.T) {
	var b strings.Builder
	b.WriteByte('\n')
	for p := range phases {
		var moves []string
		for in := range inputs {
			m := table[p][in]
			switch {
			case !m.allowed || m.outcome == Drop:
			case m.outcome == None:
				moves = append(moves, fmt.Sprint(in, " ", m.to))
			default:
				moves = append(moves, fmt.Sprint(in, " ", m.to, " ", m.outcome))
			}
		}
		b.WriteString(strings.TrimSpace(fmt.Sprintf("%v: %s", p, strings.Join(moves, ", "))) + "\n")
	}
	if got := b.String(); got != diagram {
		t.Errorf("the table has%s", got)
	}
}

// ways lists inputs that lead to each phase.
var ways = map[Phase][]Input{
	Idle:          nil,
	Attempting:    {Begin},
	Connected:     {Begin, Establish},
	Draining:      {Begin, Establish, Drain},
	Disconnecting: {Begin, Establish, BeginDisconnect},
	Aborted:       {Begin, Abort},
	Refused:       {Begin, Fail},
	Ended:         {Begin, Establish, Disconnect},
	EndedEmpty:    {Empty},
}

func isEvent(in Input) bool { return in == Establish || in == Fail || in == Disconnect }

func yes() bool { return true }

// step passes an input to the method that is meant for it.
func step(c *Connection[Input], in Input) (outcome Outcome, allowed bool) {
	switch {
	case isEvent(in):
		return c.Handle(in, in, yes), true
	case in == Abort || in == Forget:
		allowed = c.DoAndKeep(in, in, yes)
		if allowed {
			outcome = KeepUntilReplaced
		}
		return outcome, allowed
	}
	return None, c.Do(in)
}

func in(p Phase) *Connection[Input] {
	c := new(Connection[Input])
	for _, i := range ways[p] {
		step(c, i)
	}
	return c
}

// Each input does in each phase what the table says. An input that is not allowed
// changes nothing.
func TestMoves(t *testing.T) {
	for p := range phases {
		for i := range inputs {
			c := in(p)
			if c.Phase() != p {
				t.Fatalf("the way to %v leads to %v", p, c.Phase())
			}
			kept, _, hadKept := c.TakeKept()
			changed := c.Changed()
			m := table[p][i]
			outcome, allowed := step(c, i)
			if i == Establish && p != Attempting && m.outcome == Deliver {
				m.outcome = Drop // the program has got it before
			}
			if allowed != m.allowed || outcome != m.outcome {
				t.Errorf("%v in %v: %v, %v", i, p, outcome, allowed)
			}
			want := p
			if m.allowed {
				want = m.to
			}
			if c.Phase() != want {
				t.Errorf("%v in %v leads to %v, and not to %v", i, p, c.Phase(), want)
			}
			if isClosed(changed) != (want != p || p == Aborted && (i == Establish || i == Fail)) {
				t.Errorf("%v in %v: the channel of Changed is closed: %v", i, p, isClosed(changed))
			}
			event, ofConnection, ok := c.TakeKept()
			if ok != (outcome == KeepUntilReplaced) || ok && (event != i || ofConnection != (p != Attempting)) {
				t.Errorf("%v in %v: the event that is kept is %v, of a connection: %v, there is one: %v", i, p, event, ofConnection, ok)
			}
			if hadKept != (p == Aborted || p == Refused) {
				t.Errorf("in %v the event that is kept is %v, there is one: %v", p, kept, hadKept)
			}
		}
	}
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// The library may show the establishment before it posts the event. The program gets
// the event once.
func TestEstablishmentIsTold(t *testing.T) {
	for _, between := range [][]Input{nil, {Drain}, {BeginDisconnect}, {Drain, BeginDisconnect}} {
		c := in(Attempting)
		c.Do(Observe)
		for _, i := range between {
			c.Do(i)
		}
		if !c.InLibrary() {
			t.Error("InLibrary is false before the library has reported the outcome")
		}
		if outcome := c.Handle(Establish, Establish, yes); outcome != Deliver {
			t.Errorf("after %v the outcome is %v, want %v", between, outcome, Deliver)
		}
		if outcome := c.Handle(Establish, Establish, yes); outcome != Drop {
			t.Errorf("after %v the second outcome is %v, want %v", between, outcome, Drop)
		}
		if c.InLibrary() {
			t.Error("InLibrary is true after the library has reported the outcome")
		}
	}
}

// The library reports an attempt that the binding has aborted as disconnected, and
// still works on it.
func TestAbortedAttemptStaysInLibrary(t *testing.T) {
	c := in(Aborted)
	if c.Handle(Disconnect, Disconnect, yes); !c.InLibrary() {
		t.Error("InLibrary is false while the library may still work on the attempt")
	}
	if c.Handle(Establish, Establish, yes); c.InLibrary() {
		t.Error("InLibrary is true after the library has reported the outcome")
	}
}

// An end is held while requests are outstanding.
func TestEndIsHeld(t *testing.T) {
	c := in(Connected)
	if outcome := c.Handle(Disconnect, Disconnect, func() bool { return false }); outcome != KeepUntilSettled {
		t.Errorf("the outcome is %v", outcome)
	}
	if event, ofConnection, ok := c.TakeKept(); !ok || !ofConnection || event != Disconnect {
		t.Errorf("the event that is kept is %v, of a connection: %v, there is one: %v", event, ofConnection, ok)
	}
}

// Break counts until the end begins.
func TestBroken(t *testing.T) {
	for p := range phases {
		c := in(p)
		if c.Break(); c.Broken() == p.Ending() {
			t.Errorf("after Break in %v, Broken returns %v", p, c.Broken())
		}
	}
}

// A limit ends with its phase. A new limit replaces the former one.
func TestLimit(t *testing.T) {
	expired := make(chan string, 8)
	limit := func(c *Connection[Input], in Phase, within time.Duration, name string) {
		c.Limit(in, within, func() { expired <- name })
	}
	const soon, later = time.Millisecond, 20 * time.Millisecond
	c := in(Attempting)
	limit(c, Connected, 0, "of another phase")
	limit(c, Attempting, soon, "of a phase that has ended")
	c.Do(Observe)
	limit(c, Connected, soon, "replaced")
	limit(c, Connected, time.Hour, "replaced")
	limit(c, Connected, later, "right")
	if !c.Limited() {
		t.Error("Limited is false with a limit")
	}
	unlimited := in(Connected)
	limit(unlimited, Connected, soon, "taken away")
	unlimited.Unlimit()
	if unlimited.Limited() {
		t.Error("Limited is true after Unlimit")
	}
	if name := <-expired; name != "right" || c.Limited() || len(expired) > 0 {
		t.Errorf("the limit that has expired is the one %q, and %d others have", name, len(expired))
	}
}

// racers returns the calls, events and timers of one connection. Each may come at any
// time, and more than once.
func racers(c *Connection[Input], log func(Input, Outcome)) []func() {
	var list []func()
	for i := Observe; i < inputs; i++ {
		list = append(list, func() {
			outcome, allowed := step(c, i)
			if allowed {
				log(i, outcome)
			}
		})
	}
	return list
}

// However calls, events and timers race, the program gets the establishment at most
// once and the end once. It gets no establishment if the attempt was aborted.
func TestRaces(t *testing.T) {
	for seed := range uint64(300) {
		c := in(Attempting)
		var mu sync.Mutex
		var told []Input
		var group sync.WaitGroup
		list := racers(c, func(i Input, outcome Outcome) {
			if outcome == Deliver || outcome == KeepUntilReplaced || outcome == KeepUntilSettled {
				mu.Lock()
				told = append(told, i)
				mu.Unlock()
			}
		})
		r := rand.New(rand.NewPCG(seed, 1))
		r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		for _, f := range list {
			group.Add(1)
			go func() {
				defer group.Done()
				f()
				f()
			}()
		}
		group.Wait()
		counts := make(map[Input]int)
		for _, i := range told {
			counts[i]++
		}
		ends := counts[Fail] + counts[Disconnect] + counts[Abort] + counts[Forget]
		if counts[Establish] > 1 || ends > 1 || counts[Abort] > 0 && counts[Establish] > 0 {
			t.Fatalf("seed %d: the program got %v", seed, told)
		}
		if !c.Phase().Ended() || ends != 1 {
			t.Fatalf("seed %d: the last phase is %v, and the program got %v", seed, c.Phase(), told)
		}
	}
}

// After any sequence of inputs, the program has got at most one establishment, then at
// most one end, and nothing else.
func TestSequences(t *testing.T) {
	for seed := range uint64(20000) {
		r := rand.New(rand.NewPCG(seed, 2))
		c := new(Connection[Input])
		var told []Input
		for range 12 {
			i := Input(r.IntN(int(inputs)))
			if outcome, _ := step(c, i); outcome == Deliver || outcome == KeepUntilReplaced {
				told = append(told, i)
			}
		}
		ended := false
		for n, i := range told {
			switch {
			case ended, i == Establish && n > 0:
				t.Fatalf("seed %d: the program got %v", seed, told)
			case i != Establish:
				ended = true
			}
		}
	}
}
