package main

import (
	"fmt"
	"github.com/goudat/goudat/udat"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// print writes the report as text.
func (r *report) print(out io.Writer) error {
	t := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	row := func(cells ...any) {
		texts := make([]string, len(cells))
		for i, c := range cells {
			texts[i] = fmt.Sprint(c)
		}
		fmt.Fprintln(t, strings.Join(texts, "\t"))
	}
	section := func(title ...any) {
		t.Flush()
		fmt.Fprintln(out)
		row(title...)
	}

	row("DEVICE", "TRANSPORT", "NODE GUID", "FIRMWARE", "FILE")
	for _, d := range r.Devices {
		row(d.Name, short(d.Transport), d.NodeGUID, d.Firmware, d.Node)
	}
	if len(r.Devices) == 0 {
		row("none")
	}
	section("PORT", "STATE", "PHYSICAL", "LINK LAYER", "MTU", "LID", "INTERFACES")
	for _, d := range r.Devices {
		for _, p := range d.Ports {
			row(fmt.Sprintf("%s/%d", d.Name, p.Number), short(p.State), p.PhysState, short(p.LinkLayer),
				fmt.Sprintf("%d of %d", p.ActiveMTU, p.MaxMTU), p.LID, strings.Join(p.Interfaces, ","))
		}
	}
	section("GID", "INDEX", "TYPE", "INTERFACE", "ADDRESS")
	for _, d := range r.Devices {
		for _, p := range d.Ports {
			for _, g := range p.GIDs {
				row(fmt.Sprintf("%s/%d", d.Name, p.Number), g.Index, short(g.Type), g.Interface, g.Addr)
			}
		}
	}
	section("ADAPTER", "FROM", "STATUS")
	for _, a := range r.Adapters {
		from, status := "device", a.Problem
		if a.Entry {
			from = "dat.conf"
		}
		if a.Opens {
			by := ""
			if provider := a.Provider["ProviderName"]; provider != a.Name { // the name is that of a device
				by = fmt.Sprintf(" by %s", provider)
			}
			status = fmt.Sprintf("opens: %s at %s%s; self-test %s", a.IA["AdapterName"], a.IA["Address"], by, passedOrFailed(a.SelfTest))
		}
		row(a.Name, from, status)
	}
	t.Flush()
	r.printAttributes(out)
	r.printCounters(out)
	section("LIBRARY", "VERSION", "FILE")
	for _, n := range r.Native {
		version := n.Version
		if n.Revision > 0 {
			version += fmt.Sprintf(", revision %d", n.Revision)
		}
		row(n.Name, version, n.Path)
	}
	section("LIMIT", "VALUE")
	row("locked memory (ulimit -l)", bytesOrUnlimited(r.Limits.LockedMemory))
	row("open files (ulimit -n)", orUnlimited(r.Limits.OpenFiles))
	t.Flush()

	fmt.Fprintln(out)
	if len(r.Findings) == 0 {
		fmt.Fprintln(out, "no findings")
	}
	for _, f := range r.Findings {
		fmt.Fprintln(out, "finding:", f.Text)
	}
	return nil
}

// printShapes writes the limits of each device in the form of package scripts/dapl/devicetest/shapes, and the report as comments.
func (r *report) printShapes(out io.Writer) error {
	for _, d := range r.Devices {
		fmt.Fprintf(out, "# %s: reported by udatinfo, %s\n%s", d.Name, time.Now().UTC().Format(time.DateOnly), deviceLimits(d.Name))
	}
	var text strings.Builder
	if err := r.print(&text); err != nil {
		return err
	}
	for line := range strings.Lines(text.String()) {
		if _, err := fmt.Fprintf(out, "# %s", line); err != nil {
			return err
		}
	}
	return nil
}

// printAttributes writes a column for each adapter that opens. Adapters that
// differ only in their name share one.
func (r *report) printAttributes(out io.Writer) {
	var columns []adapter
	sharing := map[string][]string{}
	for _, a := range r.Adapters {
		if !a.Opens {
			continue
		}
		same := slices.IndexFunc(columns, func(c adapter) bool { return sameAttributes(c, a) })
		if same < 0 {
			columns = append(columns, a)
		} else {
			sharing[columns[same].Name] = append(sharing[columns[same].Name], a.Name)
		}
	}
	if len(columns) == 0 {
		return
	}
	printColumns(out, "ATTRIBUTE", columns,
		func(a adapter) map[string]any { return a.IA },
		func(a adapter) map[string]any {
			provider := maps.Clone(a.Provider)
			delete(provider, "ProviderName")
			return provider
		},
		func(a adapter) map[string]any { return a.Named },
		operations)
	for _, c := range columns {
		if others := sharing[c.Name]; others != nil {
			fmt.Fprintf(out, "%s: as %s\n", strings.Join(others, ", "), c.Name)
		}
	}
}

// printCounters writes a column for each adapter that opens.
func (r *report) printCounters(out io.Writer) {
	opened := slices.DeleteFunc(slices.Clone(r.Adapters), func(a adapter) bool { return !a.Opens })
	printColumns(out, "COUNTER AFTER THE SELF-TEST", opened, func(a adapter) map[string]any { return a.Stats })
}

// printColumns writes a column for each adapter, and rows for the values that functions return of it. It writes nothing
// without adapters.
func printColumns(out io.Writer, title string, adapters []adapter, values ...func(adapter) map[string]any) {
	if len(adapters) == 0 {
		return
	}
	fmt.Fprintln(out)
	t := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	defer t.Flush()
	fmt.Fprint(t, title)
	for _, a := range adapters {
		fmt.Fprint(t, "\t", a.Name)
	}
	fmt.Fprintln(t)
	for _, of := range values {
		keys := map[string]bool{}
		for _, a := range adapters {
			for key := range of(a) {
				keys[key] = true
			}
		}
		for _, key := range slices.Sorted(maps.Keys(keys)) {
			fmt.Fprint(t, key)
			for _, a := range adapters {
				value := ""
				if v, ok := of(a)[key]; ok {
					value = fmt.Sprint(v)
				}
				fmt.Fprint(t, "\t", value)
			}
			fmt.Fprintln(t)
		}
	}
}

// counters names those of an adapter, each kind of object, completion and event apart.
func counters(s udat.Stats) map[string]any {
	values := map[string]any{
		"posts": s.Posts, "posts refused": s.RefusedPosts, "waits that slept": s.SleepingWaits,
		"connects": s.Connects, "connects with an outcome": s.Outcomes, "connects took": s.ConnectTime,
	}
	for kind, n := range s.Living {
		values["alive: "+kind] = n
	}
	for status, n := range s.Completions {
		values["completions: "+status.String()] = n
	}
	for number, n := range s.ConnectionEvents {
		values["events: "+number.String()] = n
	}
	return values
}

func passedOrFailed(result string) string {
	if result != passed {
		return "failed"
	}
	return passed
}

func operations(a adapter) map[string]any {
	values := map[string]any{}
	for op, has := range a.Operations {
		values[op] = has
	}
	return values
}

func sameAttributes(a, b adapter) bool {
	differs := func(x, y map[string]any) bool {
		return !maps.EqualFunc(x, y, func(v, w any) bool { return v == w })
	}
	p, q := maps.Clone(a.Provider), maps.Clone(b.Provider)
	delete(p, "ProviderName")
	delete(q, "ProviderName")
	return !differs(a.IA, b.IA) && !differs(p, q) && !differs(a.Named, b.Named)
}

// short removes the common prefix of an enumeration's names.
func short(name string) string {
	for _, prefix := range []string{"IBV_TRANSPORT_", "IBV_PORT_", "IBV_LINK_LAYER_", "IBV_GID_TYPE_"} {
		name = strings.TrimPrefix(name, prefix)
	}
	return name
}

func orUnlimited(limit *uint64) string {
	if limit == nil {
		return "unlimited"
	}
	return fmt.Sprint(*limit)
}

func bytesOrUnlimited(limit *uint64) string {
	if limit == nil {
		return "unlimited"
	}
	return fmt.Sprintf("%d bytes", *limit)
}
