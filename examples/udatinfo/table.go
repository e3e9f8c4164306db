package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
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
			status = fmt.Sprintf("opens: %s at %s", a.IA["AdapterName"], a.IA["Address"])
		}
		row(a.Name, from, status)
	}
	t.Flush()
	r.printAttributes(out)
	section("COUNTERS", "ALIVE", "REFUSED POSTS", "SLEEPING WAITS")
	for _, a := range r.Adapters {
		if a.Opens {
			row(a.Name, strings.TrimSuffix(strings.TrimPrefix(fmt.Sprint(a.Stats.Living), "map["), "]"), a.Stats.RefusedPosts, a.Stats.SleepingWaits)
		}
	}
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
	fmt.Fprintln(out)
	t := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	fmt.Fprint(t, "ATTRIBUTE")
	for _, c := range columns {
		fmt.Fprint(t, "\t", c.Name)
	}
	fmt.Fprintln(t)
	for _, of := range []func(adapter) map[string]any{
		func(a adapter) map[string]any { return a.IA },
		func(a adapter) map[string]any { return a.Provider },
		namedValues,
		operations,
	} {
		keys := map[string]bool{}
		for _, c := range columns {
			for key := range of(c) {
				keys[key] = true
			}
		}
		for _, key := range slices.Sorted(maps.Keys(keys)) {
			if key == "ProviderName" {
				continue
			}
			fmt.Fprint(t, key)
			for _, c := range columns {
				value := ""
				if v, ok := of(c)[key]; ok {
					value = fmt.Sprint(v)
				}
				fmt.Fprint(t, "\t", value)
			}
			fmt.Fprintln(t)
		}
	}
	t.Flush()
	for _, c := range columns {
		if others := sharing[c.Name]; others != nil {
			fmt.Fprintf(out, "%s: as %s\n", strings.Join(others, ", "), c.Name)
		}
	}
}

func namedValues(a adapter) map[string]any {
	values := map[string]any{}
	for _, n := range a.Named {
		values[n.Name] = n.Value
	}
	return values
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
	return !differs(a.IA, b.IA) && !differs(p, q) && slices.Equal(a.Named, b.Named)
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
