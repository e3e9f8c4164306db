package control

import (
	"bytes"
	"context"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// wire is the network interface of a machine that has peers.
const wire = "eth0"

// netdev is the network interface under the device.
func netdev() string {
	if _, err := os.Stat("/sys/class/net/" + wire); err != nil {
		return "dummy0"
	}
	return wire
}

// Device is the name of this machine's RDMA device.
func Device() string { return kind().Name() }

func kind() DeviceKind { return DeviceKind(os.Getenv(KindVariable)) }

// QueueLength is how many packets a machine's network interface keeps that are to be sent. It is long enough for the
// delay of an impairment.
const QueueLength = 10000

// Impair disturbs the packets that this machine sends, with arguments of tc-netem(8): delay, loss, duplicate, reorder
// and corrupt, as in "loss", "5%", "delay", "10ms". It replaces an earlier Impair. Without arguments it ends the
// disturbance.
func Impair(ctx context.Context, words ...string) error {
	// Only these two stay as they were if they are not named. The interface has the queue from the start.
	args := []string{"qdisc", "change", "dev", wire, "root", "netem", "limit", strconv.Itoa(QueueLength), "corrupt", "0%"}
	return command(ctx, "tc", append(args, words...)...)
}

// RemoveDevice removes the RDMA device from this machine, even if programs have it open. It returns when the kernel has
// released the device, which waits for all programs to close it.
func RemoveDevice(ctx context.Context) error { return command(ctx, "rdma", "link", "delete", Device()) }

// AttachDevice makes the RDMA device again, and returns when programs can use it.
func AttachDevice(ctx context.Context) error {
	if err := command(ctx, "rdma", "link", "add", Device(), "type", string(kind()), "netdev", netdev()); err != nil {
		return err
	}
	for !deviceReady() {
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s did not get ready: %w", Device(), ctx.Err())
		case <-time.After(10 * time.Millisecond):
		}
	}
	return nil
}

// deviceReady reports whether the device has its node, an active port and, for RoCE, a GID for an address of the
// interface that is not the link-local one.
func deviceReady() bool {
	port := "/sys/class/infiniband/" + Device() + "/ports/1"
	nodes, _ := filepath.Glob("/dev/infiniband/uverbs*")
	state, _ := os.ReadFile(port + "/state")
	gids, _ := filepath.Glob(port + "/gids/*")
	if len(nodes) == 0 || !bytes.Contains(state, []byte("ACTIVE")) {
		return false
	}
	return kind() != RoCE || slices.ContainsFunc(gids, func(file string) bool {
		text, _ := os.ReadFile(file)
		gid, _ := netip.ParseAddr(string(bytes.TrimSpace(text)))
		kind, _ := os.ReadFile(port + "/gid_attrs/types/" + filepath.Base(file))
		return gid.IsGlobalUnicast() && bytes.HasPrefix(kind, []byte("RoCE v2"))
	})
}

// command runs a program of the package iproute2. It returns when ctx ends, even if the program does not: a program
// inside the kernel cannot be killed.
func command(ctx context.Context, name string, args ...string) error {
	fail := func(err error, out []byte) error {
		return fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, bytes.TrimSpace(out))
	}
	done := make(chan error, 1)
	go func() {
		out, err := exec.CommandContext(ctx, name, args...).CombinedOutput()
		if err != nil {
			err = fail(err, out)
		}
		done <- err
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return fail(ctx.Err(), nil)
	}
}

// DeviceKind is a kind of software RDMA device, by its name in "rdma link add".
type DeviceKind string

// The devices that a machine can have.
const (
	NoDevice DeviceKind = ""
	RoCE     DeviceKind = "rxe"
	IWARP    DeviceKind = "siw"
)

// DeviceKinds are all kinds.
var DeviceKinds = []DeviceKind{RoCE, IWARP}

// KindVariable is the environment variable with the kind of the machine's device.
const KindVariable = "UDAT_TESTBED_DEVICE"

// Name returns the device's name in a machine.
func (d DeviceKind) Name() string { return string(d) + "0" }

// Adapters returns the names of the adapters over the device in a machine's dat.conf: that of the CMA provider and,
// except over iWARP, that of the socket provider, which cannot connect iWARP queue pairs.
func (d DeviceKind) Adapters() []string {
	names := []string{"ofa-v2-cma-" + d.Name()}
	if d == RoCE {
		names = append(names, "ofa-v2-scm-"+d.Name())
	}
	return names
}
