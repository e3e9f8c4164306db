//go:build linux && amd64

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// cache is a folder of entries that are made once and never changed. An entry is made under a temporary name and
// renamed, so that one which exists is complete.
type cache struct {
	dir string
}

// workshop is a part of the cache in which one process at a time makes entries.
type workshop struct {
	lock      string // file
	temporary string // marks what is being made
}

var (
	shop = workshop{"lock", ".tmp-"}
	// slowShop is for what takes minutes, so that nobody who needs other entries has to wait.
	slowShop = workshop{"lock-slow", ".slow-"}
)

func openCache(dir string) (*cache, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("make the cache folder (GOUDAT_CACHE names another): %w", err)
	}
	return &cache{dir}, nil
}

func (c *cache) path(name string) string { return filepath.Join(c.dir, name) }

// entry returns the path of an entry, which build makes if it is missing. build gets the path at which to make it, a
// file or a folder.
func (c *cache) entry(name string, log *progress, build func(path string) error) (string, error) {
	return c.entryOf(shop, name, log, build)
}

// slowEntry is entry for what takes minutes to make.
func (c *cache) slowEntry(name string, log *progress, build func(path string) error) (string, error) {
	return c.entryOf(slowShop, name, log, build)
}

func (c *cache) entryOf(w workshop, name string, log *progress, build func(path string) error) (string, error) {
	path := c.path(name)
	if c.touch(path) {
		return path, nil
	}
	unlock, err := c.lock(w.lock, log)
	if err != nil {
		return "", err
	}
	defer unlock()
	if c.touch(path) {
		return path, nil
	}
	c.removeOld(w)
	unfinished := c.path(w.temporary + name)
	if err := build(unfinished); err != nil {
		os.RemoveAll(unfinished)
		return "", err
	}
	return path, os.Rename(unfinished, path)
}

// touch tells whether an entry exists, and that it is still in use.
func (c *cache) touch(path string) bool {
	now := time.Now()
	err := os.Chtimes(path, now, now)
	if err == nil {
		return true
	}
	// A cache that belongs to somebody else can be used as it is.
	_, err = os.Lstat(path)
	return err == nil
}

// lock makes sure that one process at a time is in a workshop. The lock goes with the process that holds it.
func (c *cache) lock(name string, log *progress) (unlock func(), err error) {
	f, err := os.OpenFile(c.path(name), os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fmt.Errorf("lock the cache (GOUDAT_CACHE names another): %w", err)
	}
	// Only a set-up that takes its time is worth a word.
	notice := time.AfterFunc(2*time.Second, func() {
		log.setUp("waiting for the set-up that another test bed is doing in %s", c.dir)
	})
	for err = syscall.EINTR; err == syscall.EINTR; {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX)
	}
	notice.Stop()
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("lock the cache: %w", err)
	}
	return func() { f.Close() }, nil
}

// removeOld clears away what an interrupted set-up has left in a workshop, and what nobody has used for a month. The
// caller holds the workshop's lock, so that nothing temporary of it is in use.
func (c *cache) removeOld(w workshop) {
	const month = 30 * 24 * time.Hour
	entries, err := os.ReadDir(c.dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			continue
		}
		if strings.HasPrefix(e.Name(), w.temporary) || ownEntry(e.Name()) && time.Since(info.ModTime()) > month {
			os.RemoveAll(c.path(e.Name()))
		}
	}
}

// ownEntry tells the test bed's entries from others that share the cache folder.
func ownEntry(name string) bool {
	for _, prefix := range []string{"testbed-", "kernel-", "initramfs-", "kvm-", "root-"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}
