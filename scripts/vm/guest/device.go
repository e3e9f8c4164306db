//go:build linux && (amd64 || arm64)

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/goudat/goudat/scripts/vm/control"
)

// setUpDevice loads the RDMA modules, brings up the network, makes the device unless the machine has none, and waits
// until programs can use it.
func setUpDevice(at place, device control.DeviceKind) error {
	// An address that is still being checked for duplicates is missing from the GID table, and appears there later.
	for _, scope := range []string{"all", "default"} {
		if err := disableDuplicateDetection(scope); err != nil {
			return err
		}
	}
	if err := linkUp("lo"); err != nil {
		return err
	}
	if err := loadModules("/modules.rdma"); err != nil {
		return err
	}
	if device != control.NoDevice {
		if err := loadModules("/modules." + string(device)); err != nil {
			return err
		}
	}
	if userMode && at.netdev == wireInterface {
		if err := renameInterface("vec0", wireInterface); err != nil {
			return err
		}
	}
	if err := setUpInterface(at); err != nil {
		return err
	}
	if device == control.NoDevice {
		return nil
	}
	switch err := addRDMALink(device.Name(), string(device), at.netdev); {
	case errors.Is(err, syscall.EINVAL) && device == control.IWARP:
		return errors.New("the kernel has no soft-iWARP; that of --accel uml has it")
	case err != nil:
		return fmt.Errorf("attach %s to %s: %w", device.Name(), at.netdev, err)
	}
	if err := poll(patience, func() error { return deviceReady(device, at) }); err != nil {
		return err
	}
	nodes, err := filepath.Glob("/dev/infiniband/*")
	if err != nil {
		return err
	}
	for _, node := range nodes {
		if err := os.Chmod(node, 0o666); err != nil {
			return err
		}
	}
	return nil
}

// setUpInterface prepares the interface for a device. The device needs an MTU of 9000 for its own MTU of 4096.
func setUpInterface(at place) error {
	if err := disableDuplicateDetection(at.netdev); err != nil {
		return err
	}
	if err := setHardwareAddress(at.netdev, at.hardwareAddress()); err != nil {
		return err
	}
	if err := setMTU(at.netdev, 9000); err != nil {
		return err
	}
	if at.address.Is4() {
		if err := setAddress(at.netdev, at.address.As4(), [4]byte{255, 255, 255, 0}); err != nil {
			return err
		}
	} else if err := setIPv6Address(at.netdev, at.address.As16(), 64); err != nil {
		return err
	}
	// Unlike others, a dummy interface does not resolve addresses. If that were turned on while the interface is up,
	// its IPv6 address would be tentative for up to a second, even without duplicate address detection.
	if err := setFlags(at.netdev, 0); err != nil {
		return err
	}
	if at.netdev == wireInterface {
		if err := addNetem(at.netdev, control.QueueLength); err != nil {
			return fmt.Errorf("the queue of %s: %w", at.netdev, err)
		}
	}
	return linkUp(at.netdev)
}

// deviceReady returns an error with what is still missing.
func deviceReady(device control.DeviceKind, at place) error {
	for _, node := range []string{"/dev/infiniband/uverbs0", "/dev/infiniband/rdma_cm"} {
		if _, err := os.Stat(node); err != nil {
			return err
		}
	}
	port := "/sys/class/infiniband/" + device.Name() + "/ports/1"
	if state := readLine(port + "/state"); !strings.HasSuffix(state, "ACTIVE") {
		return fmt.Errorf("port 1 of %s is in state %q", device.Name(), state)
	}
	if err := addressesFinal(at.netdev); err != nil {
		return err
	}
	if device == control.IWARP {
		return nil // its only GID is made of the hardware address
	}
	gids, err := filepath.Glob(port + "/gids/*")
	if err != nil {
		return err
	}
	for _, gid := range gids {
		if readLine(gid) == at.gid() && readLine(port+"/gid_attrs/types/"+filepath.Base(gid)) == "RoCE v2" {
			return nil
		}
	}
	return fmt.Errorf("%s has no RoCE v2 GID for %s", device.Name(), at.address)
}

// addressesFinal checks that each IPv6 address of an interface can be used. A tentative address would add a GID later.
// Until an address has its local route, a queue pair that connects to it waits a second for a neighbor.
func addressesFinal(name string) error {
	addresses, err := os.ReadFile("/proc/net/if_inet6")
	if errors.Is(err, os.ErrNotExist) {
		return nil // a kernel without IPv6
	}
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
		if len(f) != 10 || f[9] != name {
			continue
		}
		flags, err := strconv.ParseUint(f[8], 16, 32)
		if err != nil {
			return fmt.Errorf("read the IPv6 route %q: %w", line, err)
		}
		local[f[0]] = local[f[0]] || flags&localRoute != 0
	}
	found := false
	for line := range strings.Lines(addresses) {
		// Address, number of the interface, prefix, scope, flags, interface.
		f := strings.Fields(line)
		if len(f) != 6 || f[5] != name {
			continue
		}
		found = true
		flags, err := strconv.ParseUint(f[4], 16, 32)
		switch {
		case err != nil:
			return fmt.Errorf("read the IPv6 address %q: %w", line, err)
		case flags&tentative != 0:
			return fmt.Errorf("an IPv6 address of %s is still tentative", name)
		case !local[f[0]]:
			return fmt.Errorf("an IPv6 address of %s has no local route yet", name)
		}
	}
	if !found {
		return fmt.Errorf("%s has no IPv6 address yet", name)
	}
	return nil
}

// readLine returns "" for a file that cannot be read: unused entries of a GID table fail with EINVAL.
func readLine(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}

func disableDuplicateDetection(scope string) error {
	err := os.WriteFile("/proc/sys/net/ipv6/conf/"+scope+"/accept_dad", []byte("0"), 0)
	if errors.Is(err, os.ErrNotExist) {
		return nil // a kernel without IPv6
	}
	return err
}
