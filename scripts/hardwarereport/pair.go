package main

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// exchange is a pair of programs that talk to each other.
type exchange struct {
	program        string // the program in C; the one in Go has the prefix "go-"
	what           string
	inC, inGo      side
	common         []string
	client, server []string // beyond the common arguments
	addressOption  string
	adapterOption  string
	serves         bool // until it is ended
	onlyGo         bool
}

// side is the output of one program of an exchange.
type side struct {
	listens, passes string
	args            []string
}

func (r *report) exchanges() []exchange {
	stream := []string{"-sizes", "8,4096,65536,1048576", "-count", "100", "-disconnect", "graceful"}
	if r.quick {
		stream = []string{"-sizes", "8", "-count", "5", "-disconnect", "graceful"}
	}
	const goListens = "waiting for a client at port"
	const dtestPassed = "DAPL Test Complete. PASSED"
	const dtestxPassed = "IB extension test - immed/atomic test PASSED"
	return []exchange{{
		program: "pingpong", what: "messages, RDMA write and read, graceful disconnect", onlyGo: true,
		inGo:          side{listens: "listening at", passes: "all verified"},
		adapterOption: "-provider", server: []string{"-server"}, client: stream, addressOption: "-connect",
	}, {
		program: "dtest", what: "sends, RDMA writes and reads",
		inC:           side{listens: "Server is waiting for client connection", passes: dtestPassed},
		inGo:          side{listens: goListens, passes: dtestPassed},
		adapterOption: "-P", common: []string{"-b4096", "-B100"}, addressOption: "-h",
	}, {
		program: "dtestx", what: "immediate data and atomic operations",
		inC:           side{listens: "waiting to snd addr", passes: dtestxPassed},
		inGo:          side{listens: goListens, passes: dtestxPassed},
		adapterOption: "-P", addressOption: "-h",
	}, {
		program: "dtestsrq", what: "shared receive queues (with -S 0 for the one in C)",
		inC:           side{listens: "Accepting...", passes: "SRQ Test Complete.", args: []string{"-S", "0"}},
		inGo:          side{listens: goListens, passes: "SRQ Test Complete. PASSED", args: []string{"-S", "1"}},
		adapterOption: "-P", common: []string{"-c", "5", "-B", "10", "-t", "4"}, addressOption: "-h",
	}, {
		program: "dapltest", what: "transactions",
		inC:           side{listens: "Dapltest: Service Point Ready", passes: "----- Stats ---- :"},
		inGo:          side{listens: "Dapltest: Service Point Ready", passes: "----- Stats ---- :"},
		adapterOption: "-D", addressOption: "-s", serves: true, server: []string{"-T", "S"},
		client: []string{"-T", "T", "-i", "20", "-V", "client", "SR", "4096", "2", "server", "SR", "4096", "2", "client", "RW", "4096", "server", "RR", "256"},
	}}
}

// pairs has each program talk to its twin in the other language, either as the server. The servers run on another host if
// there is one.
func (r *report) pairs(ctx context.Context, p *progress, on *host, adapters []adapter) outcome {
	t := table{head: []string{"programs", "what", "server", "client"}}
	for _, a := range adapters {
		t.head = append(t.head, a.Provider)
	}
	passed, failed, left, missing := 0, 0, 0, map[string]bool{}
	for _, e := range r.exchanges() {
		if r.quick && e.program != "pingpong" && e.program != "dtest" {
			continue
		}
		for _, inGo := range [][2]bool{{true, true}, {false, true}, {true, false}} {
			if e.onlyGo && inGo != [2]bool{true, true} {
				continue
			}
			row := []string{e.program, e.what, language(inGo[0]), language(inGo[1])}
			for _, a := range adapters {
				p.say("%s, server in %s, client in %s, over %s", e.program, row[2], row[3], a.Provider)
				result := notRun
				if ctx.Err() == nil {
					result = r.pair(ctx, on, e, inGo, a)
				}
				row = append(row, r.clean.text(oneLine(result)))
				switch {
				case result == notRun:
					left++
				case strings.HasSuffix(result, missingProgram):
					missing[e.program] = true
				case result == pairPassed:
					passed++
				default:
					failed++
				}
			}
			t.add(row...)
		}
	}
	o := outcome{summary: fmt.Sprintf("%d of %d pairs passed", passed, passed+failed), failed: failed+left > 0, text: t.String()}
	if left > 0 {
		o.summary += fmt.Sprintf("; no time was left for %d", left)
	}
	if len(missing) > 0 {
		o.summary += "; not installed: " + strings.Join(sortedKeys(missing), ", ") + " in C"
	}
	return o
}

// The result of a pair, unless it fails.
const (
	pairPassed     = "passed"
	notRun         = "not run"
	missingProgram = " is not installed"
)

func language(inGo bool) string {
	if inGo {
		return "Go"
	}
	return "C"
}

// arguments are those of a side.
func (e exchange) arguments(of side, a adapter, rest []string, address string) []string {
	// dapltest's flags for the test come before all others.
	args := append([]string{}, rest...)
	own := append(append([]string{e.adapterOption, a.Name}, e.common...), of.args...)
	if address != "" {
		own = append(own, e.addressOption, address)
	}
	if e.program == "dapltest" {
		return append(append(append([]string{}, rest[:2]...), own...), rest[2:]...)
	}
	return append(own, args...)
}

// pair runs one pair, and returns pairPassed or what went wrong.
func (r *report) pair(ctx context.Context, on *host, e exchange, inGo [2]bool, a adapter) string {
	const most = 30 * time.Second
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	names, sides := [2]string{e.program, e.program}, [2]side{e.inC, e.inC}
	for i := range names {
		if inGo[i] {
			sides[i] = e.inGo
			if !e.onlyGo {
				names[i] = "go-" + e.program
			}
		}
	}
	address := r.here.Address
	if on != nil {
		address = on.Address
	}
	serverCommand, err := r.command(on, names[0], e.arguments(sides[0], a, e.server, "")...)
	if err != nil {
		return err.Error()
	}
	clientCommand, err := r.command(nil, names[1], e.arguments(sides[1], a, e.client, address)...)
	if err != nil {
		return err.Error()
	}
	server, err := start(ctx, serverCommand)
	if err != nil {
		return err.Error()
	}
	defer func() {
		server.kill()
		server.wait(ctx)
	}()
	fail := func(reason string, said string) string {
		r.detail(fmt.Sprintf("%s over %s, server in %s, client in %s%s", e.program, a.Provider, language(inGo[0]), language(inGo[1]), where(on)), said)
		return "failed: " + reason
	}
	if !server.await(ctx, sides[0].listens) {
		if strings.HasSuffix(server.said(), missingProgram) {
			return "on the other host, " + names[0] + missingProgram
		}
		return fail("the server does not listen", server.said())
	}
	client, err := start(ctx, clientCommand)
	if err != nil {
		return err.Error()
	}
	clientErr := client.wait(ctx)
	if clientErr != nil || !strings.Contains(client.said(), sides[1].passes) {
		server.kill()
		server.wait(ctx)
		return fail(ending("client", clientErr), "The server:\n"+server.said()+"\n\nThe client:\n"+client.said())
	}
	if e.serves {
		return pairPassed
	}
	if err := server.wait(ctx); err != nil || !strings.Contains(server.said(), sides[0].passes) {
		return fail(ending("server", err), "The server:\n"+server.said()+"\n\nThe client:\n"+client.said())
	}
	return pairPassed
}

func ending(side string, err error) string {
	if err == nil {
		return "the " + side + " does not report success"
	}
	return fmt.Sprintf("the %s: %v", side, err)
}

func where(on *host) string {
	if on == nil {
		return ""
	}
	return ", between the hosts"
}
