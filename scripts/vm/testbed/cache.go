package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// cache is a folder of entries that are made once and never changed. An entry is made under a temporary name and then
// renamed, so that any existing entry is complete.
type cache struct {
	dir string
}

// workshop is a part of the cache. Only one process at a time makes entries in it.
type workshop struct {
	lock      string // file
	temporary string // prefix of unfinished entries
	goesOn    bool   // with an entry whose making was interrupted
}

var (
	shop = workshop{"lock", ".tmp-", false}
	// slowShop is for entries that take minutes, so that nobody waits for them who needs other entries.
	slowShop = workshop{"lock-slow", ".slow-", true}
)

func openCache(dir string) (*cache, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("make the cache folder (GOUDAT_CACHE names another): %w", err)
	}
	return &cache{dir}, nil
}

func (c *cache) path(name string) string { return filepath.Join(c.dir, name) }

// entry returns the path of an entry. If it is missing, build makes it: a file or a folder, at the path that build
// receives.
func (c *cache) entry(name string, log *progress, build func(path string) error) (string, error) {
	return c.entryOf(shop, name, log, build)
}

// slowEntry is entry for entries that take minutes to make. What an interrupted build has left is there for the next.
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
	unfinished := c.path(w.temporary + name)
	if w.goesOn {
		c.removeOld(w, w.temporary+name)
	} else {
		c.removeOld(w, "")
	}
	if err := build(unfinished); err != nil {
		if !w.goesOn {
			os.RemoveAll(unfinished)
		}
		return "", err
	}
	return path, os.Rename(unfinished, path)
}

// touch reports whether an entry exists, and marks it as used.
func (c *cache) touch(path string) bool {
	now := time.Now()
	err := os.Chtimes(path, now, now)
	if err == nil {
		return true
	}
	// A cache that belongs to another user can be used as it is.
	_, err = os.Lstat(path)
	return err == nil
}

// lock lets only one process at a time into a workshop. The lock ends with the process that holds it.
func (c *cache) lock(name string, log *progress) (unlock func(), err error) {
	f, err := os.OpenFile(c.path(name), os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fmt.Errorf("lock the cache (GOUDAT_CACHE names another): %w", err)
	}
	// Only a long set-up is worth a message.
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

// removeOld removes what interrupted set-ups left in a workshop, except kept, and entries that nobody has used for a
// month. The caller holds the workshop's lock, so that no temporary file is in use.
func (c *cache) removeOld(w workshop, kept string) {
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
		if strings.HasPrefix(e.Name(), w.temporary) && e.Name() != kept || ownEntry(e.Name()) && time.Since(info.ModTime()) > month {
			os.RemoveAll(c.path(e.Name()))
		}
	}
}

// ownEntry reports whether an entry is the test bed's: others may share the cache folder.
func ownEntry(name string) bool {
	for _, prefix := range []string{"testbed-", "kernel-", "initramfs-", "kvm-", "root-"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}
