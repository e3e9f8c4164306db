//go:build linux && amd64

package main

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// initramfs returns the archive that the kernel starts from: init and the modules.
func (c *cache) initramfs(arch *architecture, k kernel, log *progress) (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	init, err := os.ReadFile(initFile(self, arch))
	if err != nil {
		return "", fmt.Errorf("the machine's init: %w", err)
	}
	// The name of the kernel's folder identifies the modules: the folder never changes.
	key := sha256.New()
	key.Write(init)
	fmt.Fprintln(key, "layout 1", filepath.Base(k.dir))
	return c.entry(fmt.Sprintf("initramfs-%x", key.Sum(nil)[:8]), log, func(path string) error {
		var archive bytes.Buffer
		if err := writeInitramfs(&archive, init, os.DirFS(k.dir)); err != nil {
			return err
		}
		return os.WriteFile(path, archive.Bytes(), 0o644)
	})
}

// writeInitramfs does not compress: unpacking in the machine would take longer than reading more here.
func writeInitramfs(w io.Writer, init []byte, kernel fs.FS) error {
	archive := cpioWriter{w: w}
	for _, dir := range []string{"dev", "modules"} {
		archive.add(dir, fs.ModeDir|0o755, nil)
	}
	archive.add("init", 0o755, init)
	err := fs.WalkDir(kernel, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || path == imageFile || path == releaseFile {
			return err
		}
		content, err := fs.ReadFile(kernel, path)
		if err != nil {
			return err
		}
		archive.add(path, 0o644, content)
		return nil
	})
	return errors.Join(err, archive.close())
}

// cpioWriter writes the "newc" format, which Documentation/driver-api/early-userspace/buffer-format.rst describes. It
// keeps the first error.
type cpioWriter struct {
	w     io.Writer
	inode int
	err   error
}

func (c *cpioWriter) add(name string, mode fs.FileMode, content []byte) {
	c.inode++
	bits := uint32(mode.Perm()) | 0o100000
	if mode.IsDir() {
		bits = uint32(mode.Perm()) | 0o040000
	}
	c.member(name, c.inode, bits, content)
}

func (c *cpioWriter) close() error {
	c.member("TRAILER!!!", 0, 0, nil)
	return c.err
}

func (c *cpioWriter) member(name string, inode int, mode uint32, content []byte) {
	if c.err != nil {
		return
	}
	const links = 1
	// After mode: owner, group, links, time, size, the device's and the node's numbers, the name's size, a sum.
	_, c.err = fmt.Fprintf(c.w, "070701%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X",
		inode, mode, 0, 0, links, 0, len(content), 0, 0, 0, 0, len(name)+1, 0)
	const header = 110
	c.write([]byte(name + "\x00"))
	c.pad(header + len(name) + 1)
	c.write(content)
	c.pad(len(content))
}

func (c *cpioWriter) write(b []byte) {
	if c.err == nil {
		_, c.err = c.w.Write(b)
	}
}

// pad pads to a multiple of four.
func (c *cpioWriter) pad(size int) { c.write(make([]byte, (4-size%4)%4)) }
