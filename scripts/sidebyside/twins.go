package main

import (
	"errors"
	"fmt"
)

// firstQual is the connection qualifier of the first twin. Each twin has its own: a qualifier may stay in use for a
// while after its owner has gone.
const firstQual = 7600

// measurement is an order for both twins.
type measurement struct {
	name   string
	order  string // as the twins know it
	how    string // poll, wait or sleep
	bytes  int
	count  int    // operations in one round
	window int    // outstanding
	beside string // what happens meanwhile, of round trips at a fixed rate
}

var measurements = []measurement{
	{"RoundTrip", "roundtrip", "poll", 8, 2000, 1, "nothing"},
	{"RoundTrip", "roundtrip", "poll", 64, 2000, 1, "nothing"},
	{"RoundTrip", "roundtrip", "poll", 512, 2000, 1, "nothing"},
	{"RoundTrip", "roundtrip", "poll", 4096, 1000, 1, "nothing"},
	{"RoundTrip", "roundtrip", "poll", 32768, 500, 1, "nothing"},
	{"RoundTrip", "roundtrip", "wait", 8, 2000, 1, "nothing"},
	{"RoundTrip", "roundtrip", "wait", 4096, 1000, 1, "nothing"},
	{"RoundTrip", "roundtrip", "sleep", 8, 2000, 1, "nothing"},
	{"Mailbox", "mailbox", "poll", 8, 2000, 1, "nothing"},
	{"Mailbox", "mailbox", "poll", 4096, 1000, 1, "nothing"},
	{"Send", "rate", "poll", 8, 20000, 64, "nothing"},
	{"Send", "rate", "wait", 8, 5000, 64, "nothing"},
	{"Write", "write", "poll", 65536, 3200, 16, "nothing"},
	{"Write", "write", "poll", 1 << 20, 200, 4, "nothing"},
	{"Read", "read", "poll", 65536, 3200, 16, "nothing"},
	{"Read", "read", "poll", 1 << 20, 200, 4, "nothing"},
	{"Connect", "connect", "wait", 0, 200, 1, "nothing"},
	{"GetStatus", "status", "poll", 0, 100000, 1, "nothing"},
	{"Paced", "paced", "wait", 8, 1000, 32, "nothing"},
	{"Paced", "paced", "wait", 8, 1000, 32, "churn"},
}

// title is the name in the results.
func (m measurement) title(adapter string) string {
	title := m.name
	if m.order == "paced" {
		title += "/beside=" + m.beside
	}
	return fmt.Sprintf("%s/how=%s/bytes=%d/ia=%s", title, m.how, m.bytes, adapter)
}

// processors is how many processors the measurement needs under User-Mode Linux. With one, a side that polls keeps it
// until the next clock tick. With two, a side that sleeps is woken late.
func (m measurement) processors() int {
	if m.how == "poll" || m.order == "paced" {
		return 2
	}
	return 1
}

// line is the order as a twin reads it.
func (m measurement) line() string {
	return fmt.Sprintf("%s %s %d %d %d %s", m.order, m.how, m.bytes, m.count, m.window, m.beside)
}

// measureTwins runs the wanted measurements on an adapter. Idle twins wait for their next order and use no processor.
func (s settings) measureTwins(adapter string, qual int) error {
	inC, err := startTwin(s.c, adapter, qual)
	if err != nil {
		return err
	}
	defer inC.kill()
	inGo, err := startTwin(s.golang, adapter, qual+1)
	if err != nil {
		return err
	}
	defer inGo.kill()
	for _, m := range measurements {
		if s.processors != 0 && s.processors != m.processors() {
			continue
		}
		if s.few {
			m.count = max(m.count/1000, 2)
		}
		err := s.byTurns(m.title(adapter), m.count, func(isGo bool) (string, error) {
			if isGo {
				return inGo.measure(m)
			}
			return inC.measure(m)
		})
		if err != nil {
			return err
		}
	}
	return errors.Join(inC.end(), inGo.end())
}

func startTwin(program, adapter string, qual int) (pair, error) {
	t, err := startPair(program, adapter, fmt.Sprint(qual))
	if err != nil {
		return t, err
	}
	for _, p := range []*process{t.server, t.client} {
		if _, err := p.expect("connected"); err != nil {
			t.kill()
			return t, err
		}
	}
	return t, nil
}

// measure returns the client's numbers.
func (t pair) measure(m measurement) (string, error) {
	if err := t.server.order(m.line()); err != nil {
		return "", err
	}
	if _, err := t.server.expect("ready"); err != nil {
		return "", err
	}
	if err := t.client.order(m.line()); err != nil {
		return "", err
	}
	metrics, err := t.client.expect("result")
	if err != nil {
		return "", err
	}
	_, err = t.server.expect("result")
	return metrics, err
}

// end tells the client to end the connection, and waits for both.
func (t pair) end() error {
	err := errors.Join(t.client.order("end"), t.server.order("end"))
	return errors.Join(err, t.client.end(), t.server.end())
}
