// Package machine says what is in the way on this machine, of which it knows the devices by name
// alone.
package machine

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/goudat/goudat/cgo"
	"github.com/goudat/goudat/udat/internal/problem"
)

// SysDevices is where the kernel describes the devices, and NodesFolder has their files.
const (
	SysDevices  = "/sys/class/infiniband"
	NodesFolder = "/dev/infiniband"
	// ConnectionManagerNode is the device file of the CMA provider's connection manager.
	ConnectionManagerNode = NodesFolder + "/rdma_cm"
)

// FilesOfList is how many files a look at all devices takes at a time.
const FilesOfList = 4

// NodeProblem says why a device file cannot be used, nil if it can.
func NodeProblem(path string) error {
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	switch {
	case err == nil:
		file.Close()
		return nil
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%w: you may not read and write %s: change its mode or its group, or be root", problem.NoPermission, path)
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%w: there is no %s: load the kernel modules ib_uverbs and rdma_ucm; pass %s into a container", problem.NoNode, path, NodesFolder)
	}
	return cmp.Or(TooManyFiles(err, "it cannot open "+path), fmt.Errorf("%w: %w", problem.Unknown, err))
}

// TooManyFiles tells the errors of a full table of files, the process's or the system's, from
// others, for which it returns nil.
func TooManyFiles(err error, need string) error {
	switch {
	case errors.Is(err, syscall.EMFILE):
		return fmt.Errorf("%w: %s: %w: raise the limit (ulimit -n), or close files", problem.FileLimit, need, err)
	case errors.Is(err, syscall.ENFILE):
		return fmt.Errorf("%w: %s: %w: all processes together have as many as the system may: raise the limit (sysctl fs.file-max), or close files", problem.FileLimit, need, err)
	}
	return nil
}

// TransportOf returns the transport of a device, which it does not open.
func TransportOf(name string) cgo.IBVTransportType {
	list, count, errno := cgo.IBVGetDeviceList()
	if errno == 0 {
		defer cgo.IBVFreeDeviceList(list)
	}
	for i := range count {
		if d := list.Device(i); d.Name == name {
			return d.TransportType
		}
	}
	return cgo.IBVTransportUnknown
}

// IsSoftware reports whether a device is a program of the kernel, without hardware.
func IsSoftware(name string) bool {
	folder := filepath.Join(SysDevices, name)
	_, absent := os.Stat(folder)
	_, err := os.Stat(filepath.Join(folder, "device"))
	return absent == nil && errors.Is(err, os.ErrNotExist)
}

// LoadedFiles returns the files with code in this process whose names, without symbolic links,
// begin so.
func LoadedFiles(prefix string) (paths []string) {
	maps, _ := os.ReadFile("/proc/self/maps")
	for line := range strings.Lines(string(maps)) {
		m, _ := parseMapping(line)
		if strings.Contains(m.access, "x") && strings.HasPrefix(filepath.Base(m.file), prefix) && !slices.Contains(paths, m.file) {
			paths = append(paths, m.file)
		}
	}
	return paths
}

func processStatus(field string) string {
	status, _ := os.ReadFile("/proc/self/status")
	for line := range strings.Lines(string(status)) {
		if value, ok := strings.CutPrefix(line, field+":"); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
