package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/goudat/goudat/scripts/vm/control"
	"github.com/goudat/goudat/scripts/vm/wire"
)

// loadDeviceModules loads what the network and the device need.
func loadDeviceModules(device control.DeviceKind) error {
	if err := loadModules("/modules.rdma"); err != nil || device == control.NoDevice {
		return err
	}
	return loadModules("/modules." + string(device))
}

// networkScript brings up the interface $1, with the hardware address $2 and the address $3, with commands of iproute2.
//
// An address that is still being checked for duplicates is missing from the GID table, and appears there later. The
// device needs an MTU of 9000 for its own MTU of 4096. Unlike others, a dummy interface does not resolve addresses. If
// that were turned on while the interface is up, its IPv6 address would be tentative for up to a second.
//
// While a queue is replaced, the kernel drops what is sent. From Linux 6.10 on, that breaks the queue pair of soft-RoCE
// that sends: for good if it is the one that makes connections. So the queue is there before the device is, and
// control.Impair only changes it.
const networkScript = `set -eu
[ ! -e /sys/class/net/vec0 ] || ip link set vec0 name "$1"
for file in /proc/sys/net/ipv6/conf/*/accept_dad; do echo 0 >"$file"; done
ip link set lo up
ip link set "$1" address "$2" mtu 9000 arp on
ip address add "$3" dev "$1"
[ "$1" != eth0 ] || tc qdisc replace dev "$1" root netem limit "$4"
ip link set "$1" up
`

func setUpNetwork(at place) error {
	bits := 24
	if at.address.Is6() {
		bits = 64
	}
	hardware := wire.HardwareAddress(at.rank)
	out, err := exec.Command("sh", "-c", networkScript, "sh", at.netdev, net.HardwareAddr(hardware[:]).String(), fmt.Sprintf("%v/%d", at.address, bits),
		strconv.Itoa(control.QueueLength)).CombinedOutput()
	if err != nil {
		return fmt.Errorf("set up %s: %w: %s", at.netdev, err, out)
	}
	return poll(func() error { return addressesFinal(at.netdev) })
}

// attachDevice makes the device, and waits until programs can use it.
func attachDevice(device control.DeviceKind) error {
	if device == control.NoDevice {
		return nil
	}
	if err := os.Setenv(control.KindVariable, string(device)); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := control.AttachDevice(ctx); err != nil {
		if device == control.IWARP && strings.Contains(err.Error(), "Invalid argument") {
			return errors.New("the kernel has no soft-iWARP; that of --accel uml has it")
		}
		return err
	}
	nodes, err := filepath.Glob("/dev/infiniband/*")
	for _, node := range nodes {
		err = errors.Join(err, os.Chmod(node, 0o666))
	}
	return err
}

// addressesFinal checks that each IPv6 address of an interface can be used. A tentative address would add a GID later.
// Until an address has its local route, a queue pair that connects to it waits a second for a neighbor.
func addressesFinal(name string) error {
	addresses, err := os.ReadFile("/proc/net/if_inet6")
	if err != nil {
		return err
	}
	routes, err := os.ReadFile("/proc/net/ipv6_route")
	if err != nil {
		return err
	}
	return checkAddresses(name, string(addresses), string(routes))
}

// checkAddresses returns an error with what an interface's addresses lack, from the kernel's tables of addresses and
// routes.
func checkAddresses(name, addresses, routes string) error {
	const (
		tentative  = 0x40       // IFA_F_TENTATIVE
		localRoute = 0x80000000 // RTF_LOCAL
	)
	local := map[string]bool{}
	for line := range strings.Lines(routes) {
		// Destination, its prefix, source, its prefix, next hop, metric, references, uses, flags, interface.
		f := strings.Fields(line)
		if flags, _ := strconv.ParseUint(f[8], 16, 32); f[9] == name && flags&localRoute != 0 {
			local[f[0]] = true
		}
	}
	found := false
	for line := range strings.Lines(addresses) {
		// Address, number of the interface, prefix, scope, flags, interface.
		f := strings.Fields(line)
		if f[5] != name {
			continue
		}
		found = true
		if flags, _ := strconv.ParseUint(f[4], 16, 32); flags&tentative != 0 || !local[f[0]] {
			return fmt.Errorf("the IPv6 address %s of %s is tentative, or has no local route yet", f[0], name)
		}
	}
	if !found {
		return fmt.Errorf("%s has no IPv6 address yet", name)
	}
	return nil
}
