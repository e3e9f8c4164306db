package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"syscall"

	"github.com/goudat/goudat/scripts/vm/wire"
)

const newRoot = "/root"

// transport is the 9p options of all mounts. A large msize makes reads of libraries and test binaries fast.
const transport = "trans=virtio,version=9p2000.L,msize=524288,"

type mountPoint struct {
	source, target, kind string
	flags                uintptr
	data                 string
}

func (m mountPoint) mount() error {
	if err := os.MkdirAll(m.target, 0o755); err != nil {
		return fmt.Errorf("make the mount point %s: %w", m.target, err)
	}
	if err := syscall.Mount(m.source, m.target, m.kind, m.flags, m.data); err != nil {
		return fmt.Errorf("mount %s on %s: %w", m.kind, m.target, err)
	}
	return nil
}

func mountAll(points ...mountPoint) error {
	for _, p := range points {
		if err := p.mount(); err != nil {
			return err
		}
	}
	return nil
}

func mountKernelFilesystems() error {
	const quiet = syscall.MS_NOSUID | syscall.MS_NOEXEC
	return mountAll(
		mountPoint{"devtmpfs", "/dev", "devtmpfs", syscall.MS_NOSUID, "mode=755"},
		mountPoint{"proc", "/proc", "proc", quiet | syscall.MS_NODEV, ""},
		mountPoint{"sysfs", "/sys", "sysfs", quiet | syscall.MS_NODEV, ""},
	)
}

// assembleRoot makes the program's root file system in newRoot. It stacks the host's file system, that of another
// architecture if the machine has one, and a layer in memory that takes all writes.
func assembleRoot(job wire.Job) error {
	host, share := virtualRoot, virtualShare
	if userMode {
		host, share = userModeRoot, userModeShare
	}
	layers := "/host"
	points := []mountPoint{host("/host"), {"tmpfs", "/layer", "tmpfs", 0, "size=80%,mode=755"}}
	if job.System {
		layers = "/system:/host"
		points = append(points, virtualFolder(wire.SystemTag, "/system"))
	}
	err := mountAll(points...)
	if err != nil {
		return err
	}
	for _, dir := range []string{"/layer/upper", "/layer/work"} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			return err
		}
	}
	err = mountAll(
		mountPoint{"overlay", newRoot, "overlay", 0, "lowerdir=" + layers + ",upperdir=/layer/upper,workdir=/layer/work"},
		mountPoint{"tmpfs", newRoot + "/run", "tmpfs", syscall.MS_NOSUID | syscall.MS_NODEV, "mode=755"},
	)
	if err != nil {
		return err
	}
	for _, s := range job.Shares {
		if err := share(s).mount(); err != nil {
			return err
		}
	}
	return nil
}

// virtualRoot is the host's file system in a virtual machine.
func virtualRoot(target string) mountPoint { return virtualFolder("root", target) }

// virtualFolder is a folder of the host that is read-only here. Caching it freely is therefore safe, and makes it fast
// enough without KVM.
func virtualFolder(tag, target string) mountPoint {
	return mountPoint{tag, target, "9p", syscall.MS_RDONLY, transport + "cache=loose"}
}

// virtualShare is a folder of the host. Shared mappings need at least the cache mode mmap.
func virtualShare(share wire.Share) mountPoint {
	return mountPoint{share.Tag, newRoot + share.Path, "9p", 0, transport + "cache=mmap"}
}

// userMode reports whether the kernel is User-Mode Linux, a process of the host. It has the host's files without a
// server, and a terminal for the control port.
var userMode = os.Getenv(wire.UserModeVariable) != ""

func userModeRoot(target string) mountPoint {
	return mountPoint{"root", target, "hostfs", syscall.MS_RDONLY, "/"}
}

func userModeShare(share wire.Share) mountPoint {
	return mountPoint{share.Tag, newRoot + share.Path, "hostfs", 0, share.Path}
}

// enterRoot makes newRoot the root of this process and of its children.
func enterRoot() error {
	const quiet = syscall.MS_NOSUID | syscall.MS_NODEV
	for _, dir := range []string{"/dev", "/proc", "/sys"} {
		if err := (mountPoint{dir, newRoot + dir, "", syscall.MS_MOVE, ""}).mount(); err != nil {
			return err
		}
	}
	err := mountAll(
		mountPoint{"devpts", newRoot + "/dev/pts", "devpts", syscall.MS_NOSUID | syscall.MS_NOEXEC,
			"gid=5,mode=620,ptmxmode=666"},
		mountPoint{"tmpfs", newRoot + "/dev/shm", "tmpfs", quiet, "mode=1777"},
	)
	if err != nil {
		return err
	}
	for link, target := range map[string]string{
		"fd": "/proc/self/fd", "stdin": "fd/0", "stdout": "fd/1", "stderr": "fd/2",
	} {
		if err := os.Symlink(target, newRoot+"/dev/"+link); err != nil && !errors.Is(err, os.ErrExist) {
			return err
		}
	}
	if err := os.Chdir(newRoot); err != nil {
		return err
	}
	// pivot_root does not work on the initramfs. Like every init, move the new root over it and change root.
	if err := syscall.Mount(".", "/", "", syscall.MS_MOVE, ""); err != nil {
		return fmt.Errorf("move the root file system: %w", err)
	}
	if err := syscall.Chroot("."); err != nil {
		return fmt.Errorf("change root: %w", err)
	}
	return os.Chdir("/")
}

// unmountShares reports errors that a lazy flush at the machine's end would hide.
func unmountShares(shares []wire.Share) error {
	if err := os.Chdir("/"); err != nil {
		return err
	}
	for _, share := range slices.Backward(shares) {
		if err := syscall.Unmount(share.Path, 0); err != nil {
			return fmt.Errorf("unmount the share %s: %w", share.Path, err)
		}
	}
	return nil
}
