package main

import (
	"slices"
	"strings"
)

// standIns are the methods that stand in for a C function and still call it, on another object or for another purpose.
// Each has its reason.
var standIns = map[string]string{
	"CreateCNO": "the binding waits on each EVD with a native CNO of its own",
	"CNO.Free":  "the same",
}

// asksBefore are the methods that return what another function of udat has got by their C function.
var asksBefore = map[string]string{
	"CR.Query": "newCR", // the library forgets a request when it is answered
}

// calls finds which functions of the module the functions of udat call, directly or through others. The result maps the
// full name of each called function to those of its callers.
func (m *module) calls(packages []*goPackage) (map[string][]string, error) {
	exports := exportsOf(packages)
	g := &references{module: m, names: map[string][]string{}, wrapped: true}
	for _, p := range packages {
		if p.ImportPath == m.path+"/udat" {
			if err := g.add(p, exports); err != nil {
				return nil, err
			}
		}
	}
	callers := map[string][]string{}
	for id := range g.names {
		seen := map[string]bool{id: true}
		for next := []string{id}; len(next) > 0; {
			last := len(next) - 1
			names := g.names[next[last]]
			next = next[:last]
			for _, name := range names {
				if !seen[name] {
					seen[name] = true
					next = append(next, name)
					callers[name] = append(callers[name], id)
				}
			}
		}
	}
	return callers, nil
}

// judgeCalls complains about methods that claim to implement a C function and do not call it, and about methods that
// claim to stand in for one and call it without a reason.
func (s *status) judgeCalls(callers map[string][]string, reasons map[string]string) {
	needed := map[string]bool{}
	for _, r := range s.rows {
		for _, method := range r.methods {
			before, hasBefore := asksBefore[method.name]
			called := slices.ContainsFunc(r.raw, func(raw *wrapper) bool {
				return slices.ContainsFunc(callers[raw.id], func(id string) bool {
					return id == method.id || hasBefore && strings.HasSuffix(id, "."+before)
				})
			})
			switch {
			case !called && !method.standsIn:
				s.complain("%v: it does not call %s: write \"Stands in for:\"", method, r.name)
			case called && method.standsIn && reasons[method.name] == "":
				s.complain("%v: it calls %s: write \"Implements:\"", method, r.name)
			case called && method.standsIn:
				needed[method.name] = true
			}
		}
	}
	for _, name := range sortedKeys(reasons) {
		if !needed[name] {
			s.complain("scripts/apistatus/calls.go: the reason for %s is not needed: take it out", name)
		}
	}
}
