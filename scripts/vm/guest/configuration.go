//go:build linux && amd64

package main

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// datConf has one provider of each kind over the one device.
const datConf = `ofa-v2-cma-` + device + ` u2.0 nonthreadsafe default libdaplofa.so.2 dapl.2.0 "` + netdev + ` 0" ""
ofa-v2-scm-` + device + ` u2.0 nonthreadsafe default libdaploscm.so.2 dapl.2.0 "` + device + ` 1" ""
`

// writeConfiguration writes the files that programs expect, into the layer in memory.
func writeConfiguration(attached bool) error {
	if err := syscall.Sethostname([]byte(hostname)); err != nil {
		return fmt.Errorf("set the host name: %w", err)
	}
	hosts, err := os.ReadFile("/etc/hosts")
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	// In front, since the first match counts: the socket provider takes its own address from here.
	hosts = append([]byte(address+" "+hostname+"\n127.0.0.1 localhost\n"), hosts...)
	if err := replaceFile("/etc/hosts", hosts); err != nil {
		return err
	}
	if err := replaceFile("/etc/hostname", []byte(hostname+"\n")); err != nil {
		return err
	}
	if !attached {
		return nil
	}
	if err := os.MkdirAll("/run/goudat", 0o755); err != nil {
		return err
	}
	for _, path := range []string{"/run/goudat/dat.conf", "/etc/dat.conf"} {
		if err := replaceFile(path, []byte(datConf)); err != nil {
			return err
		}
	}
	return nil
}

// replaceFile does not write through a symbolic link, which may lead out of what the machine has.
func replaceFile(path string, content []byte) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return os.WriteFile(path, content, 0o644)
}
