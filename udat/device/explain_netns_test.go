//go:build linux

package device_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/goudat/goudat/udat/device"
	"github.com/goudat/goudat/udat/udattest"
)

// In another network namespace the device is there, and its interface is not, though one
// there may have its name.
func TestExplainNetworkNamespace(t *testing.T) {
	if !udattest.InTestbed(t) {
		return
	}
	p := testPlace(t)
	if len(p.port.GIDs) == 0 || p.port.GIDs[0].Interface == "" {
		t.Log("not tested: the GIDs of the device do not tell its interface")
		return
	}
	add := "ip link add " + p.netInterface + " type dummy"
	for _, commands := range [][]string{
		nil,
		{add},
		{add, "ip address add 10.77.0.99/24 dev " + p.netInterface, "ip link set " + p.netInterface + " up"},
	} {
		task := childTask{First: commands, Open: []string{udattest.Names(t)[0], p.byCMA()}, Problems: true}
		if len(commands) != 1 { // without an address, this is the socket CM provider on the device
			task.Open = append(task.Open, p.netInterface)
		}
		result := child{task: task, netns: true}.run(t)
		for _, o := range result.Opened {
			wantProblem(t, o, device.ProblemWrongInterface, "another network namespace", p.netInterface, p.device.Name)
		}
		if len(result.Problems) != 1 || !strings.Contains(result.Problems[0], "another network namespace") {
			t.Errorf("after %q the problems are %q", commands, result.Problems)
		}
	}
}

// The kernel can keep a device in the network namespace of its interface.
func TestExplainDeviceOfOtherNamespace(t *testing.T) {
	if !udattest.InTestbed(t) {
		return
	}
	p := testPlace(t)
	set := func(mode string) {
		// The kernel refuses it as long as it takes the children's namespaces down, and nothing
		// tells their end.
		await(t, "network namespaces still have devices of their own", func() bool {
			return exec.Command("rdma", "system", "set", "netns", mode).Run() == nil
		})
	}
	set("exclusive")
	t.Cleanup(func() { set("shared") })
	task := childTask{Open: p.names()}
	task.First = []string{"mount --make-rprivate /", "mount -t sysfs sysfs /sys"} // as in a container
	for _, o := range (child{task: task, netns: true}).run(t).Opened {
		wantProblem(t, o, device.ProblemNoDevice, "another network namespace")
	}
	// A /sys that was mounted in the namespace of the device still has it.
	task = childTask{Open: p.names()[1:]}
	for _, o := range (child{task: task, netns: true}).run(t).Opened {
		wantProblem(t, o, device.ProblemNoDriver, "another network namespace")
	}
}
