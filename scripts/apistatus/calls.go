package main

import (
	"slices"
	"strings"
)

// standIns has the C functions that methods stand in for, and why.
var standIns = map[string]string{
	"dat_cno_create":               "A notification object of `dat_cno_fd_create` has the descriptor by which goroutines wait without a thread each.",
	"dat_cno_modify_agent":         "The library calls an agent, which is a C function, on a thread of its own. A goroutine calls the agents of Go programs.",
	"dat_cno_wait":                 "It holds a thread, and no context ends it. `dat_cno_trigger` takes what the descriptor has announced.",
	"dat_registry_add_provider":    providersOwn,
	"dat_registry_remove_provider": providersOwn,
}

const (
	providersOwn = "A provider's library calls it, with a table of C functions. The method loads or unloads that library."
)

// asksBefore are the methods that return what another function of udat has got by their C function.
var asksBefore = map[string]string{
	"CR.Query": "newCR", // the library forgets a request when it is answered
}

// calls finds which functions of the module the functions of udat call, directly or through others, also those of its
// internal packages. The result maps the full name of each called function to those of its callers.
func (m *module) calls(packages []*goPackage) (map[string][]string, error) {
	exports := exportsOf(packages)
	g := &references{module: m, names: map[string][]string{}, wrapped: true}
	for _, p := range packages {
		internal := strings.HasPrefix(p.ImportPath, m.path+"/udat/internal/") && p.ForTest == "" && p.Name != "main"
		if internal || p.ImportPath == m.path+"/udat" {
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

// judgeCalls complains about methods that claim to implement a C function and do not call it, about methods that claim to
// stand in for one and call it, or do so without a reason, and about reasons that nothing needs.
func (s *status) judgeCalls(callers map[string][]string) {
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
			case called && method.standsIn:
				s.complain("%v: it calls %s: write \"Implements:\"", method, r.name)
			case method.standsIn && standIns[r.name] == "":
				s.complain("%v: scripts/apistatus/calls.go has no reason why it stands in for %s", method, r.name)
			}
			if method.standsIn {
				needed[r.name] = true
			}
		}
	}
	for _, name := range sortedKeys(standIns) {
		if !needed[name] {
			s.complain("scripts/apistatus/calls.go: the reason for %s is not needed: take it out", name)
		}
	}
}
