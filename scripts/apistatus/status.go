package main

import (
	"fmt"
	"slices"
	"strings"
)

// exemption says why functions need no raw wrapper or no method.
type exemption struct {
	name   string // a name with * at its end is a prefix
	raw    bool   // no raw wrapper is needed, nor a method
	reason string
}

func (e exemption) covers(name string) bool {
	prefix, pattern := strings.CutSuffix(e.name, "*")
	return name == e.name || pattern && strings.HasPrefix(name, prefix)
}

var exemptions = []exemption{
	{"dat_ib_collective_*", true, "No provider is built with the collective operations, and not all of their macros compile."},
	{"dat_strerror_ext*", false, "The methods of the error types return these texts."},
	{"dat_ib_print_counters", false, "No provider is built with counters."},
	{"dat_ib_query_counters", false, "No provider is built with counters."},
	{"dat_ib_start_counter", false, "No provider is built with counters."},
	{"dat_ib_stop_counter", false, "No provider is built with counters."},
	{"dat_ib_open_query", false, "It spoils adapters that are opened meanwhile. A program opens the adapter, asks with IA.Query and closes it."},
	{"dat_ib_close_query", false, "It ends what dat_ib_open_query began."},
	{"dat_cr_handoff", false, "No provider can hand a request to another qualifier: listen on the one that the peer should use."},
	{"dat_ep_recv_query", false, "No provider reports how many receives are in use: EP.GetStatus says whether there are any, a program counts them."},
	{"dat_ep_set_watermark", false, "No provider limits the receives that an endpoint takes from a shared receive queue."},
	{"dat_set_consumer_context", false, ownContext},
	{"dat_get_consumer_context", false, ownContext},
	{"dat_get_handle_type", false, "A type switch tells what an Object is."},
	{"dat_ib_post_send_ud", false, noDatagrams},
	{"dat_ib_ud_ah_free", false, noDatagrams},
	{"dat_ib_ud_cm_free", false, noDatagrams},
	{"dats_get_ia_handle", false, "It translates handles between the registry and a provider, and no handle leaves udat."},
}

const (
	ownContext  = "A program keeps what belongs to an object in a struct with it, or in a map by its pointer."
	noDatagrams = "No provider connects an endpoint for unreliable datagrams over RoCE or iWARP."
)

// row is the state of one function.
type row struct {
	*function
	raw, methods []*wrapper // its own
	via          []*row     // whose methods count for this function
	tests        []use
	exemption    *exemption
}

// status is the state of the API.
type status struct {
	rows     []*row
	problems []string // one line each
}

func newStatus(api []*function, raw, methods []*wrapper, uses map[string][]use) *status {
	s := &status{}
	byName := map[string]*row{}
	for _, f := range api {
		r := &row{function: f}
		for i, e := range exemptions {
			if e.covers(f.name) {
				r.exemption = &exemptions[i]
			}
		}
		s.rows = append(s.rows, r)
		byName[f.name] = r
	}
	s.match(raw, byName, func(r *row, w *wrapper) { r.raw = append(r.raw, w) })
	s.match(methods, byName, func(r *row, w *wrapper) { r.methods = append(r.methods, w) })
	for _, r := range s.rows {
		// An alias has the methods of its function, and a function those of its macros.
		if r.alias && len(r.methods) == 0 {
			r.via = append(r.via, byName[r.callee])
		}
		if r.macro && !r.alias && len(r.methods) > 0 && len(byName[r.callee].methods) == 0 {
			byName[r.callee].via = append(byName[r.callee].via, r)
		}
	}
	for _, r := range s.rows {
		r.findTests(uses)
		s.judge(r)
	}
	s.judgeExemptions()
	return s
}

// match assigns wrappers to the functions that they wrap.
func (s *status) match(wrappers []*wrapper, byName map[string]*row, add func(*row, *wrapper)) {
	for _, w := range wrappers {
		if len(w.prototypes) == 0 {
			s.complain("%v: Implements has no prototype", w)
		}
		for _, p := range w.prototypes {
			r := byName[p.name]
			if r == nil {
				s.complain("%v: %s is in no header and not in the library", w, p.name)
				continue
			}
			if difference := p.difference(r.prototype); difference != "" && r.declared {
				s.complain("%v: %s: %s", w, p.name, difference)
			}
			add(r, w)
		}
	}
}

func (s *status) complain(format string, args ...any) {
	s.problems = append(s.problems, fmt.Sprintf(format, args...))
}

// linkable reports whether a C program can call the function. Then udat must have it too.
func (r *row) linkable() bool { return r.exported || r.macro || r.inline }

// allMethods returns the function's methods, or those of the function that it names.
func (r *row) allMethods() []*wrapper {
	if len(r.methods) > 0 {
		return r.methods
	}
	var methods []*wrapper
	for _, other := range r.via {
		methods = append(methods, other.methods...)
	}
	return methods
}

// shownTests is how many tests the page names for a function.
const shownTests = 2

// findTests selects tests of the methods, or of the raw wrapper if there is no method: those with the fewest calls in
// between, and among these the ones named after it.
func (r *row) findTests(uses map[string][]use) {
	wrappers := r.allMethods()
	if len(wrappers) == 0 {
		wrappers = r.raw
	}
	var candidates []use
	for _, w := range wrappers {
		base := w.name[strings.LastIndexByte(w.name, '.')+1:]
		named := func(u use) bool { return strings.Contains(strings.ToLower(u.test), strings.ToLower(base)) }
		list := slices.Clone(uses[w.id])
		slices.SortStableFunc(list, func(a, b use) int {
			switch {
			case a.steps != b.steps:
				return a.steps - b.steps
			case named(a) == named(b):
				return 0
			case named(a):
				return -1
			}
			return 1
		})
		candidates = append(candidates, list[:min(len(list), shownTests)]...)
	}
	for _, u := range candidates {
		same := func(shown use) bool { return shown.test == u.test && shown.file == u.file }
		if len(r.tests) < shownTests && !slices.ContainsFunc(r.tests, same) {
			r.tests = append(r.tests, u)
		}
	}
}

// judge reports what a function lacks.
func (s *status) judge(r *row) {
	if r.exemption != nil && r.exemption.raw {
		return
	}
	if len(r.raw) == 0 {
		s.complain("%s: no function of cgo implements it", r.name)
	}
	switch methods := r.allMethods(); {
	case !r.linkable() && len(methods) > 0:
		s.complain("%s: the library does not export it, but udat has %s", r.name, names(methods))
	case r.linkable() && len(methods) == 0 && r.exemption == nil:
		s.complain("%s: nothing in udat implements it", r.name)
	}
	if len(r.tests) > 0 {
		return
	}
	if methods := r.allMethods(); len(methods) > 0 {
		s.complain("%s: no test uses udat's %s", r.name, names(methods))
	} else if len(r.raw) > 0 {
		s.complain("%s: no test uses cgo's %s", r.name, names(r.raw))
	}
}

func names(wrappers []*wrapper) string {
	var list []string
	for _, w := range wrappers {
		list = append(list, w.name)
	}
	return strings.Join(list, ", ")
}

// judgeExemptions complains about exemptions that excuse nothing.
func (s *status) judgeExemptions() {
	for i := range exemptions {
		e := &exemptions[i]
		needed := slices.ContainsFunc(s.rows, func(r *row) bool {
			return r.exemption == e && (len(r.allMethods()) == 0 || e.raw && len(r.raw) == 0)
		})
		if !needed {
			s.complain("scripts/apistatus/status.go: the exemption of %s excuses nothing: remove it", e.name)
		}
	}
}
