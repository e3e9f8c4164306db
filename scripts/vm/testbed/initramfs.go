package main

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
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
		archive, err := newInitramfs(init, os.DirFS(k.dir))
		if err != nil {
			return err
		}
		return os.WriteFile(path, archive, 0o644)
	})
}

// newInitramfs does not compress: unpacking in the machine would take longer than reading more here.
func newInitramfs(init []byte, kernel fs.FS) ([]byte, error) {
	var archive cpio
	for _, dir := range []string{"dev", "modules"} {
		archive.add(dir, syscall.S_IFDIR|0o755, nil)
	}
	archive.add("init", syscall.S_IFREG|0o755, init)
	err := fs.WalkDir(kernel, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || path == imageFile || path == releaseFile {
			return err
		}
		content, err := fs.ReadFile(kernel, path)
		archive.add(path, syscall.S_IFREG|0o644, content)
		return err
	})
	archive.add("TRAILER!!!", 0, nil)
	return archive.Bytes(), err
}

// cpio is an archive in the "newc" format, which Documentation/driver-api/early-userspace/buffer-format.rst describes.
type cpio struct {
	bytes.Buffer
	files int
}

func (c *cpio) add(name string, mode uint32, content []byte) {
	c.files++
	const links = 1
	// After mode: owner, group, links, time, size, the device's and the node's numbers, the name's size, a sum.
	fmt.Fprintf(c, "070701%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%s\x00",
		c.files, mode, 0, 0, links, 0, len(content), 0, 0, 0, 0, len(name)+1, 0, name)
	c.pad()
	c.Write(content)
	c.pad()
}

// pad pads to a multiple of four.
func (c *cpio) pad() { c.Write(make([]byte, -c.Len()&3)) }
