package main

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"syscall"
	"unsafe"
)

// loadModules loads the modules in a list, which has one file name per line, in the right order. User-Mode Linux has
// them built in.
func loadModules(list string) error {
	if userMode {
		return nil
	}
	f, err := os.Open(list)
	if err != nil {
		return err
	}
	defer f.Close()
	names := bufio.NewScanner(f)
	for names.Scan() {
		if err := loadModule(names.Text()); err != nil {
			return err
		}
	}
	return names.Err()
}

// finitModule is the number of the system call, which package syscall lacks on amd64.
var finitModule = map[string]uintptr{"amd64": 313, "arm64": 273}

func loadModule(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	noParameters := [1]byte{0}
	_, _, errno := syscall.Syscall(finitModule[runtime.GOARCH], f.Fd(), uintptr(unsafe.Pointer(&noParameters)), 0)
	if errno != 0 && errno != syscall.EEXIST {
		return fmt.Errorf("load %s: %w", path, errno)
	}
	return nil
}
