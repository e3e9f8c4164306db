package main

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
)

// exception says why a function has no method, or one that does its work without it, or which method does.
type exception struct {
	names  string // separated by spaces; * at the end of one is for any
	noRaw  bool   // cgo does not have it either
	reason string
}

var exceptions = []exception{
	{"dat_ib_collective_*", true, "none: no provider is built with the collective operations, and not all of their macros compile"},
	{"dat_ib_print_counters dat_ib_query_counters dat_ib_start_counter dat_ib_stop_counter", true, "none: no provider is built with counters"},
	{"dat_strerror_ext*", false, "none: the methods of the error types return these texts"},
	{"dat_ib_open_query", false, "none: it spoils adapters that are opened meanwhile; a program opens the adapter, asks with IA.Query and closes it"},
	{"dat_ib_close_query", false, "none: it ends what dat_ib_open_query began"},
	{"dat_cr_handoff", false, "none: no provider can hand a request to another qualifier: listen on the one that the peer should use"},
	{"dat_ep_recv_query", false, "none: no provider reports how many receives are in use: EP.GetStatus says whether there are any, a program counts them"},
	{"dat_ep_set_watermark", false, "none: no provider limits the receives that an endpoint takes from a shared receive queue"},
	{"dat_set_consumer_context dat_get_consumer_context", false, "none: a program keeps what belongs to an object in a struct with it, or in a map by its pointer"},
	{"dat_get_handle_type", false, "none: each kind of object has a type of its own, which a type switch tells"},
	{"dat_ib_post_send_ud dat_ib_ud_ah_free dat_ib_ud_cm_free", false, "none: no provider connects an endpoint for unreliable datagrams over RoCE or iWARP"},
	{"dat_ib_post_recv_ud", false, "`EP.PostRecv`, as for dat_ep_post_recv"},
	{"dat_ia_openv", false, "`Open`, as for dat_ia_open"},
	{"dat_extension_op", false, "a method for each operation, as its macro"},
	{"dats_get_ia_handle", false, "none: it translates handles between the registry and a provider, and no handle leaves udat"},

	// Methods that stand in.
	{"dat_cno_create", false, "a notification object of dat_cno_fd_create has the descriptor by which goroutines wait without a thread each"},
	{"dat_cno_modify_agent", false, "the library calls an agent, which is a C function, on a thread of its own; a goroutine calls the agents of Go programs"},
	{"dat_cno_wait", false, "it holds a thread, and no context ends it; dat_cno_trigger takes what the descriptor has announced"},
	{"dat_registry_add_provider dat_registry_remove_provider", false, "a provider's library calls it, with a table of C functions; the method loads or unloads that library"},
}

func (e exception) covers(name string) bool {
	for pattern := range strings.FieldsSeq(e.names) {
		prefix, any := strings.CutSuffix(pattern, "*")
		if name == pattern || any && strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

// row is the state of one function.
type row struct {
	*function
	raw, methods []*wrapper
	exception    *exception
}

// status is the state of the API.
type status struct {
	rows     []*row
	problems []string // one line each
}

func newStatus(api []*function, raw, methods []*wrapper) *status {
	s := &status{}
	byName := map[string]*row{}
	for _, f := range api {
		r := &row{function: f}
		for i, e := range exceptions {
			if e.covers(f.name) {
				r.exception = &exceptions[i]
			}
		}
		s.rows = append(s.rows, r)
		byName[f.name] = r
	}
	s.match(raw, byName, func(r *row) *[]*wrapper { return &r.raw })
	s.match(methods, byName, func(r *row) *[]*wrapper { return &r.methods })
	needed := map[*exception]bool{}
	for _, r := range s.rows {
		s.judge(r)
		needed[r.exception] = needed[r.exception] || len(r.methods) == 0 || r.standsIn()
	}
	for i := range exceptions {
		if !needed[&exceptions[i]] {
			s.complain("scripts/trials/apistatus/status.go: the exception for %s is not needed: take it out", exceptions[i].names)
		}
	}
	return s
}

// match assigns wrappers to the functions that they wrap.
func (s *status) match(wrappers []*wrapper, byName map[string]*row, list func(*row) *[]*wrapper) {
	for _, w := range wrappers {
		if len(w.prototypes) == 0 {
			s.complain("%v: Implements has no prototype", w)
		}
		for _, p := range w.prototypes {
			r := byName[p.name]
			switch {
			case r == nil:
				s.complain("%v: %s is in no header and not in the library", w, p.name)
				continue
			case !r.linkable():
				s.complain("%v: the library does not export %s", w, p.name)
			case len(r.params) > 0: // the C compiler checks what the shims pass to macros
				if difference := p.difference(r.prototype); difference != "" {
					s.complain("%v: %s: %s", w, p.name, difference)
				}
			}
			*list(r) = append(*list(r), w)
		}
	}
}

func (s *status) complain(format string, args ...any) {
	s.problems = append(s.problems, fmt.Sprintf(format, args...))
}

// standsIn reports whether a method does the function's work itself.
func (r *row) standsIn() bool {
	for _, w := range r.methods {
		if w.standsIn {
			return true
		}
	}
	return false
}

// judge reports what a function lacks.
func (s *status) judge(r *row) {
	if !r.linkable() {
		return
	}
	if len(r.raw) == 0 && (r.exception == nil || !r.exception.noRaw) {
		s.complain("%s: no function of cgo implements it", r.name)
	}
	if r.exception == nil && len(r.methods) == 0 {
		s.complain("%s: nothing in udat implements it", r.name)
	}
	if r.exception == nil && r.standsIn() {
		s.complain("%v: scripts/trials/apistatus/status.go has no reason why it stands in for %s", r.methods[0], r.name)
	}
}

// judgeCalls compares what methods claim with the raw wrappers that the code of udat, and of what is below it, names.
func (s *status) judgeCalls(code string) {
	called := map[string]bool{}
	for _, m := range regexp.MustCompile(`\bcgo\.(\w+)`).FindAllStringSubmatch(code, -1) {
		called[m[1]] = true
	}
	for _, r := range s.rows {
		calls := false
		for _, w := range r.raw {
			calls = calls || called[w.name]
		}
		for _, method := range r.methods {
			switch {
			case !calls && !method.standsIn:
				s.complain(`%v: nothing in udat calls %s: write "Stands in for:"`, method, r.name)
			case calls && method.standsIn:
				s.complain(`%v: udat calls %s: write "Implements:"`, method, r.name)
			}
		}
	}
}

// page writes the status as Markdown.
func (s *status) page() []byte {
	var b, table bytes.Buffer
	var raw, methods, standing int
	for _, r := range s.rows {
		if len(r.raw) > 0 {
			raw++
		}
		if len(r.methods) > 0 {
			methods++
		}
		if r.standsIn() {
			standing++
		}
		fmt.Fprintf(&table, "| `%s` | %s | %s |\n", r.name, r.methodCell(), r.rawCell())
	}
	fmt.Fprintf(&b, `# API status

What Go has for each of the %d functions of the native API: %d have a raw wrapper, %d a method, which stands in for %d of
them: it does the work itself, and does not call the function.

scripts/trials/apistatus writes this page from the installed headers, the symbols of libdat2 and the Go sources; its comment says
how. Do not edit. [porting-table.md](porting-table.md) has types, members and constants.

| C function | in package udat | in package cgo |
| --- | --- | --- |
`, len(s.rows), raw, methods, standing)
	b.Write(table.Bytes())
	return b.Bytes()
}

func (r *row) methodCell() string {
	var cells []string
	for _, w := range r.methods {
		cell := fmt.Sprintf("%s`%s`", w.link(), w.signature)
		if w.standsIn && r.exception != nil {
			cell += " stands in: " + r.exception.reason
		}
		cells = append(cells, cell)
	}
	switch {
	case len(cells) > 0:
		return strings.Join(cells, "<br>")
	case !r.linkable():
		return "none: the library does not export it"
	case r.exception != nil:
		return r.exception.reason
	}
	return "**none**"
}

func (r *row) rawCell() string {
	var cells []string
	for _, w := range r.raw {
		cells = append(cells, w.link())
	}
	return strings.Join(cells, ", ")
}

// link returns a link from the page's folder to the wrapper's file.
func (w *wrapper) link() string { return fmt.Sprintf("[%s](../../%s)", w.name, w.file) }
