//go:build linux

package device_test

import (
	"os"
	"slices"
	"testing"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/device"
	"github.com/goudat/goudat/udat/udattest"
)

// A control group limits the objects of a device, whatever they are.
func TestExplainGroupLimit(t *testing.T) {
	if !udattest.InTestbed(t) {
		return
	}
	rdma := testPlace(t).device.Name
	for _, name := range udattest.Names(t) {
		task := childTask{Open: []string{name}, Group: rdma + " hca_object=60", Make: []string{"endpoint", "event dispatcher", "zone", "shared queue", "memory"}}
		for _, o := range (child{task: task}).run(t).Opened {
			wantRefusal(t, o, udat.ErrInsufficientResources, device.ProblemGroupLimit, "rdma.max")
		}
		task = childTask{Open: []string{name}, Group: rdma + " hca_handle=0"}
		o := child{task: task}.run(t).Opened[0]
		wantProblem(t, o, device.ProblemGroupLimit, "rdma.max")
	}
}

// What is too large for the process or the kernel is no full device.
func TestExplainNoRoom(t *testing.T) {
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		attr, _, err := ia.Query()
		want(t, err)
		if attr.MaxDTOPerEP < largeQueue {
			t.Logf("not tested: no endpoint of the device has a queue of %d requests", largeQueue)
			return
		}
		task := childTask{Open: []string{ia.Name()}, MoreSpace: 160 << 20, Make: []string{"large endpoint"}}
		// Without arenas of its own a thread that starts later takes little of the space.
		o := child{task: task, env: []string{"MALLOC_ARENA_MAX=1"}}.run(t).Opened[0]
		wantRefusal(t, o, udat.ErrInsufficientResources, device.ProblemNoRoom, "shorter queues", "rdma resource show", "ulimit -v")
	})
}

// A device refuses attributes that each alone are within its limits.
func TestExplainRefusedAttributes(t *testing.T) {
	if testPlace(t).bySCM() == "" {
		t.Log("not tested: soft-iWARP takes as many segments in shared queues as elsewhere")
		return
	}
	for _, name := range udattest.Names(t) {
		o := child{task: childTask{Open: []string{name}, Make: []string{"shared queue of many segments"}}}.run(t).Opened[0]
		wantRefusal(t, o, udat.ErrInvalidParameter, device.ProblemRefusedAttributes, "fewer segments")
	}
}

// An endpoint is made with the inline data that the device has, however much is asked for.
func TestMoreInlineThanThereIs(t *testing.T) {
	for _, name := range udattest.Names(t) {
		for _, inline := range []string{"1000000", "-1"} {
			o := child{task: childTask{Open: []string{name}, Make: []string{"one endpoint"}}, env: []string{"DAPL_MAX_INLINE=" + inline}}.run(t).Opened[0]
			if o.Text != "" {
				t.Errorf("%s with DAPL_MAX_INLINE=%s: %s", name, inline, o.Text)
			}
		}
	}
}

// Each endpoint of the CMA provider takes a port of the machine.
func TestExplainNoPorts(t *testing.T) {
	if !udattest.InTestbed(t) {
		return
	}
	p := testPlace(t)
	const setting = "/proc/sys/net/ipv4/ip_local_port_range"
	before, err := os.ReadFile(setting)
	want(t, err)
	want(t, os.WriteFile(setting, []byte("40000 40021"), 0o644))
	t.Cleanup(func() { want(t, os.WriteFile(setting, before, 0o644)) })
	o := child{task: childTask{Open: []string{p.byCMA()}, Make: []string{"endpoint"}}}.run(t).Opened[0]
	wantProblem(t, o, device.ProblemNoPorts, "ip_local_port_range")
}

// An adapter whose address has gone makes nothing that listens or connects from there, and
// does not open again.
func TestExplainAddressGone(t *testing.T) {
	if !udattest.InTestbed(t) {
		return
	}
	udattest.Names(t)
	s := addSpare(t)
	command(t, "ip link set "+s.netInterface+" up")
	for _, c := range []struct {
		name string
		make []string
	}{
		{"cma:" + s.netInterface, []string{"endpoint", "service point", "chosen service point"}},
		{"scm:" + s.device, []string{"service point", "chosen service point"}},
	} {
		const address = "10.79.0.1"
		command(t, "ip address add "+address+"/24 dev "+s.netInterface)
		task := childTask{
			Open:  []string{c.name},
			Then:  []string{"ip address del " + address + "/24 dev " + s.netInterface, "ip address add 10.79.0.2/24 dev " + s.netInterface},
			Make:  c.make,
			Again: true,
		}
		for _, o := range (child{task: task, env: []string{"DAPL_SCM_NETDEV=" + s.netInterface}}).run(t).Opened {
			wantRefusal(t, o, udat.ErrInvalidAddress, device.ProblemAddressGone, address, "ip address add", c.name, "close")
		}
		command(t, "ip address del 10.79.0.2/24 dev "+s.netInterface)
	}
}

// A device that was removed, and is there again, does not open until all of its adapters are
// closed.
func TestExplainRemovedDevice(t *testing.T) {
	if !udattest.InTestbed(t) {
		return
	}
	udattest.Names(t)
	s := addSpare(t)
	command(t, "ip link set "+s.netInterface+" up")
	command(t, "ip address add 10.79.0.1/24 dev "+s.netInterface)
	for name, entry := range map[string]string{"cma:" + s.netInterface: "cma:" + s.netInterface, "scm:" + s.device: "scm:" + s.device + "/1"} {
		task := childTask{
			Open:  []string{name, name}, // and when it was closed
			Then:  []string{"rdma link delete " + s.device, "rdma link add " + s.device + " type rxe netdev " + s.netInterface},
			Make:  []string{"zone"},
			Again: true,
		}
		opened := child{task: task, env: []string{"DAPL_SCM_NETDEV=" + s.netInterface}}.run(t).Opened
		if len(opened) != 2*2 {
			t.Fatalf("the outcomes are %+v", opened)
		}
		for _, o := range []childOutcome{opened[1], opened[3]} {
			wantProblem(t, o, device.ProblemNoDevice, entry, "close")
			if o.Return.Subtype() != udat.InvalidStateIAInUse {
				t.Errorf("the code is %v", o.Return)
			}
		}
	}
}

// The kernel's connection manager refuses the calls of a process that has changed its
// credentials since it opened an adapter. Calls on the device itself work with drivers that
// make no old ones, as that of soft-iWARP does.
func TestExplainChangedCredentials(t *testing.T) {
	if !udattest.InTestbed(t) {
		return
	}
	p := testPlace(t)
	kinds := []string{"endpoint", "service point", "chosen service point"}
	o := child{task: childTask{Open: []string{p.byCMA()}, Drop: true, Make: kinds, Again: true}}.run(t).Opened
	for _, o := range o {
		wantProblem(t, o, device.ProblemCredentials, "setuid", "before")
	}
	if len(o) != len(kinds)+1 {
		t.Errorf("%d outcomes, want %d", len(o), len(kinds)+1)
	}
	task := childTask{Open: []string{p.byCMA()}, Drop: true, Make: []string{"event dispatcher", "zone", "shared queue", "memory"}}
	for _, o := range (child{task: task}).run(t).Opened {
		if o.Text != "" && (p.bySCM() != "" || o.Problem != device.ProblemCredentials) {
			t.Errorf("this needs no connection manager: %v", o.Text)
		}
	}
	// Another adapter of the provider has the connection manager from the first.
	second := childTask{Open: slices.Concat([]string{p.byCMA()}, udattest.Names(t)[:1]), Drop: true, Make: []string{"zone"}}
	opened := child{task: second}.run(t).Opened
	wantProblem(t, opened[len(opened)-1], device.ProblemCredentials, "setuid")
}
