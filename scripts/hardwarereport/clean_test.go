package main

import (
	"strings"
	"testing"
)

func TestClean(t *testing.T) {
	c := newCleaner(hidden{Names: []string{"node7.example.org", "node7", "/home/alice", "alice"}, Addresses: []string{"fe80::1", "10.0.0.17"}})
	for text, want := range map[string]string{
		"connecting to 192.168.7.20, port 45248":                 "connecting to (address), port 45248",
		"at 10.0.0.17:7480":                                      "at (address):7480",
		"10.0.0.177 is no 10.0.0.17":                             "(address) is no (address)",
		"::ffff:10.77.0.1 and fe80::aff:fe4d:1%eth0.":            "(address) and (address).",
		"gid fe80:0000:0000:0000:0000:0aff:fe4d:0001":            "gid (address)",
		"GUID 0000:0aff:fe4d:0001, 0x0002c90300a1b2c3":           "GUID (address), (address)",
		"GID: 00:00:00:00:00:00:00:00:00:00:255:255:10:77:00:01": "GID: (address)",
		"ether 52:54:00:12:34:56":                                "ether (address)",
		"rocex525400fffe123456 over enx525400123456":             "rocex(address) over enx(address)",
		"NODE7.example.org: node7, node77":                       "(name): (name), node77",
		"open /home/alice/x by alice, malice":                    "open (name)/x by (name), malice",
		"127.0.0.1, 0.0.0.0 and ::1":                             "127.0.0.1, 0.0.0.0 and ::1",
		"12:34:56 evd.go:17: udat::x at 0x7f00c0ffee00":          "12:34:56 evd.go:17: udat::x at 0x7f00c0ffee00",
		"mlx5_0/1, 300.1.2.3":                                    "mlx5_0/1, 300.1.2.3",
	} {
		if got := c.text(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
	// Versions are not taken for addresses.
	const versions = "dapl 2.1.10.1, firmware 20.31.10.14"
	if got := c.known(versions + " of node7"); got != versions+" of (name)" {
		t.Errorf("got %q", got)
	}
}

// The cleaner learns the names that a host reports.
func TestOwnHidden(t *testing.T) {
	t.Setenv("USER", "somebody")
	t.Setenv("HOME", "/somewhere/else")
	c := newCleaner(ownHidden())
	if got := c.text("/somewhere/else/x of somebody"); got != "(name)/x of (name)" {
		t.Errorf("got %q", got)
	}
}

func TestTable(t *testing.T) {
	table := table{head: []string{"", "a|b"}}
	table.add("x\ny", "z")
	if got, want := table.String(), "|  | a\\|b |\n|---|---|\n| x y | z |\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := folded("More", table.String()); !strings.Contains(got, "</summary>\n\n|") {
		t.Errorf("a table begins after an empty line, got %q", got)
	}
}
