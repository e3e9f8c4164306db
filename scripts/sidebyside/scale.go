package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// scale has the results of a run with many endpoints and many waiters.
type scale struct {
	Command     string         `json:"command"`
	Machine     machine        `json:"machine"`
	Rounds      int            `json:"rounds"`
	Memory      int            `json:"memory"`      // MiB that the machine has
	Descriptors uint64         `json:"descriptors"` // a process may have open
	Crowds      []crowdResult  `json:"crowds"`
	Waiters     []waiterResult `json:"waiters"`
}

// crowdResult has the samples of each round for a number of connected endpoints in one process, all to one other
// process.
type crowdResult struct {
	Adapter string    `json:"adapter"`
	Own     bool      `json:"own"` // each endpoint had event dispatchers of its own
	Count   int       `json:"count"`
	C       []figures `json:"c"`
	Go      []figures `json:"go"`
	Missing string    `json:"missing,omitempty"` // why there are no samples
}

// waiterResult has the samples for a number of waiting threads in C, or goroutines.
type waiterResult struct {
	Adapter string    `json:"adapter"`
	Count   int       `json:"count"`
	EVDs    int       `json:"evds"`
	C       []figures `json:"c"` // none if several wait on one event dispatcher
	Go      []figures `json:"go"`
	Missing string    `json:"missing,omitempty"`
}

// figures are a line of results: times in ns, memory in bytes for each endpoint or waiter, and counts.
type figures map[string]float64

// scaleSizes are the numbers of endpoints and waiters, and of the messages that all endpoints of a process together
// exchange in a round.
type scaleSizes struct {
	endpoints, waiters []int
	messages           int
}

var (
	// The messages take a second or two, so that single interruptions do not count.
	allSizes      = scaleSizes{[]int{1, 16, 64, 256, 1024, 4096}, []int{100, 1000, 10000}, 1 << 17}
	fewSizes      = scaleSizes{[]int{4}, []int{20}, 16}
	waitersOnEach = []int{1, 100} // event dispatcher
)

const (
	// firstScaleQual is the first connection qualifier. Each run has its own.
	firstScaleQual = 8000
	// longestRounds is how long the rounds of a measurement may take until no further one begins. With the socket CM
	// provider, a connection takes longer the more there are.
	longestRounds = time.Minute
	// enoughDescriptors is for event dispatchers and sockets of all endpoints.
	enoughDescriptors = 1 << 17
)

// measure runs the programs by turns, with the same numbers of endpoints and of waiters. The longest come last, and
// each result is saved, so that a run that ends early keeps its results.
func (s *scale) measure(p programs, sizes scaleSizes, save func() error) error {
	s.Machine.complete()
	s.Memory, s.Descriptors = memoryOfMachine(), raiseDescriptors(enoughDescriptors)
	for _, adapter := range adapters() {
		for _, count := range sizes.waiters {
			for _, each := range waitersOnEach {
				r := s.waiters(p, adapter, count, max(count/each, 1))
				s.Waiters = append(s.Waiters, r)
				fmt.Fprintln(os.Stderr, "bench:  ", r.Adapter+", "+r.line())
			}
		}
	}
	qual := firstScaleQual
	for _, count := range sizes.endpoints {
		for _, adapter := range adapters() {
			for _, own := range []bool{false, true} {
				r := s.crowd(p, adapter, count, own, max(sizes.messages/count/2, 2), &qual)
				s.Crowds = append(s.Crowds, r)
				fmt.Fprintln(os.Stderr, "bench:  ", r.Adapter+", "+r.line())
				if err := save(); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (s *scale) waiters(p programs, adapter string, count, evds int) waiterResult {
	r := waiterResult{Adapter: adapter, Count: count, EVDs: evds}
	inC := &r.C
	if evds < count {
		inC = nil
	}
	r.Missing = byTurns(s.Rounds, longestRounds, inC, &r.Go, func(inGo bool) (figures, error) { return p.waiters(inGo, adapter, count, evds) })
	return r
}

func (s *scale) crowd(p programs, adapter string, count int, own bool, exchanges int, qual *int) crowdResult {
	r := crowdResult{Adapter: adapter, Own: own, Count: count}
	r.Missing = byTurns(s.Rounds, longestRounds, &r.C, &r.Go, func(inGo bool) (figures, error) {
		*qual++
		return p.crowd(inGo, adapter, *qual, count, own, exchanges)
	})
	return r
}

// empty reports that nothing was measured.
func (s *scale) empty() bool {
	for _, r := range s.Crowds {
		if r.Missing == "" {
			return false
		}
	}
	return true
}

// byTurns measures in C, unless there is no room for the samples, and in Go. They take turns in going first. No round
// begins after the time. If a program fails, byTurns returns why there are no samples.
func byTurns(rounds int, longest time.Duration, inC, inGo *[]figures, measure func(inGo bool) (figures, error)) (missing string) {
	start := time.Now()
	for round := range rounds {
		if round > 0 && time.Since(start) > longest {
			break
		}
		for turn := range 2 {
			isGo := (round+turn)%2 == 1
			samples := inC
			if isGo {
				samples = inGo
			}
			if samples == nil {
				continue
			}
			one, err := measure(isGo)
			if err != nil {
				return err.Error()
			}
			*samples = append(*samples, one)
		}
	}
	return ""
}

func (p programs) named(inGo bool) string {
	if inGo {
		return p.golang
	}
	return p.c
}

// crowd connects a client and a server, and returns the client's results.
func (p programs) crowd(inGo bool, adapter string, qual, count int, own bool, exchanges int) (figures, error) {
	how := "shared"
	if own {
		how = "own"
	}
	rest := []string{strconv.Itoa(qual), strconv.Itoa(count), how, strconv.Itoa(exchanges)}
	server, err := start(0, p.named(inGo), append([]string{"server", adapter}, rest...)...)
	if err != nil {
		return nil, err
	}
	defer server.kill()
	address, err := server.expect("listening")
	if err != nil {
		return nil, err
	}
	client, err := start(1, p.named(inGo), append([]string{"client", adapter, address}, rest...)...)
	if err != nil {
		return nil, err
	}
	defer client.kill()
	go server.result() // the same as the client's, from the other side
	return client.result()
}

// waiters returns the results of the one program.
func (p programs) waiters(inGo bool, adapter string, count, evds int) (figures, error) {
	args := []string{"waiters", adapter, strconv.Itoa(count)}
	if inGo {
		args = append(args, strconv.Itoa(evds))
	}
	program, err := start(0, p.named(inGo), args...)
	if err != nil {
		return nil, err
	}
	defer program.kill()
	return program.result()
}

// result reads lines until the one with the result. The lines before it are signs of life.
func (p *process) result() (figures, error) {
	for {
		select {
		case line, ok := <-p.lines:
			if !ok {
				return nil, fmt.Errorf("%s ended early", p.name)
			}
			if rest, found := strings.CutPrefix(line, "result "); found {
				return readFigures(rest)
			}
		case <-time.After(patience):
			return nil, fmt.Errorf("%s said nothing for %v", p.name, patience)
		}
	}
}

// readFigures reads "name=number name=number".
func readFigures(text string) (figures, error) {
	s := make(figures)
	for field := range strings.FieldsSeq(text) {
		name, value, _ := strings.Cut(field, "=")
		number, err := strconv.ParseFloat(value, 64)
		if err != nil {
			return nil, fmt.Errorf("%q is not a result: %w", text, err)
		}
		s[name] = number
	}
	return s, nil
}

// values returns the values of one name.
func values(samples []figures, name string) []float64 {
	list := make([]float64, len(samples))
	for i, s := range samples {
		list[i] = s[name]
	}
	return list
}

func (r crowdResult) line() string {
	how := "shared"
	if r.Own {
		how = "own"
	}
	return fmt.Sprintf("%d endpoints, %s event dispatchers: %s", r.Count, how, crowdColumns.text(r.C, r.Go, r.Missing))
}

func (r waiterResult) line() string {
	return fmt.Sprintf("%d waiters on %d event dispatchers: %s", r.Count, r.EVDs, waiterColumns.text(r.C, r.Go, r.Missing))
}

// raiseDescriptors raises the limit of open descriptors for this process and its children, if it may, and returns the
// limit.
func raiseDescriptors(enough uint64) uint64 {
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit) != nil {
		return 0
	}
	if limit.Cur < enough {
		more := syscall.Rlimit{Cur: enough, Max: max(enough, limit.Max)}
		if syscall.Setrlimit(syscall.RLIMIT_NOFILE, &more) == nil {
			return more.Cur
		}
	}
	return limit.Cur
}

// memoryOfMachine is in MiB.
func memoryOfMachine() int {
	var info syscall.Sysinfo_t
	if syscall.Sysinfo(&info) != nil {
		return 0
	}
	return int(uint64(info.Totalram) * uint64(info.Unit) >> 20)
}
