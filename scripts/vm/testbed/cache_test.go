package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func newCache(t *testing.T) *cache {
	t.Helper()
	c, err := openCache(filepath.Join(t.TempDir(), "cache"))
	check(t, err)
	return c
}

func TestEntryIsMadeOnce(t *testing.T) {
	c := newCache(t)
	var made atomic.Int32
	var all sync.WaitGroup
	for range 8 {
		all.Add(1)
		go func() {
			defer all.Done()
			path, err := c.entry("kernel-1", &progress{out: io.Discard}, func(path string) error {
				made.Add(1)
				return os.WriteFile(path, []byte("content"), 0o644)
			})
			content, readErr := os.ReadFile(path)
			if err != nil || readErr != nil || string(content) != "content" {
				t.Errorf("got %q, %v, %v", content, err, readErr)
			}
		}()
	}
	all.Wait()
	if made.Load() != 1 {
		t.Errorf("made %d times", made.Load())
	}
}

func TestFailedEntryLeavesNothing(t *testing.T) {
	c := newCache(t)
	broken := errors.New("broken")
	_, err := c.entry("kernel-1", &progress{out: io.Discard}, func(path string) error {
		check(t, os.MkdirAll(filepath.Join(path, "half"), 0o755))
		return broken
	})
	if !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
	wantEntries(t, c, "lock")
}

// TestOldEntriesGo includes what a process leaves behind that is killed while it makes an entry.
func TestOldEntriesGo(t *testing.T) {
	c := newCache(t)
	old := time.Now().Add(-40 * 24 * time.Hour)
	for name, age := range map[string]time.Time{shop.temporary + "kernel-1": time.Now(), slowShop.temporary + "kernel-2": time.Now(), "initramfs-old": old,
		"initramfs-used": old, "kvm-new": time.Now(), "not-ours": old} {
		check(t, os.Mkdir(c.path(name), 0o755))
		check(t, os.Chtimes(c.path(name), age, age))
	}
	unneeded := func(string) error { t.Error("an existing entry is made again"); return nil }
	if _, err := c.entry("initramfs-used", &progress{out: io.Discard}, unneeded); err != nil {
		t.Fatal(err)
	}
	make1 := func(path string) error { return os.WriteFile(path, nil, 0o644) }
	if _, err := c.entry("kernel-1", &progress{out: io.Discard}, make1); err != nil {
		t.Fatal(err)
	}
	wantEntries(t, c, slowShop.temporary+"kernel-2", "initramfs-used", "kernel-1", "kvm-new", "lock", "not-ours")
}

// Other entries do not wait for one that takes minutes.
func TestEntryBesideSlowEntry(t *testing.T) {
	c := newCache(t)
	log := &progress{out: io.Discard}
	_, err := c.slowEntry("kernel-slow", log, func(path string) error {
		if err := os.Mkdir(path, 0o755); err != nil {
			return err
		}
		done := make(chan error, 1)
		go func() {
			_, err := c.entry("kernel-quick", log, func(path string) error { return os.Mkdir(path, 0o755) })
			done <- err
		}()
		select {
		case err := <-done:
			return err
		case <-time.After(time.Minute):
			return errors.New("the other entry waits")
		}
	})
	check(t, err)
	wantEntries(t, c, "kernel-quick", "kernel-slow", "lock", "lock-slow")
}

// An entry that takes minutes is not begun anew after an interruption. What was begun for another one goes.
func TestSlowEntryGoesOn(t *testing.T) {
	c := newCache(t)
	log := &progress{out: io.Discard}
	check(t, os.Mkdir(c.path(slowShop.temporary+"kernel-other"), 0o755))
	interrupted := errors.New("interrupted")
	for _, want := range []error{interrupted, nil} {
		_, err := c.slowEntry("kernel-slow", log, func(path string) error {
			begun := filepath.Join(path, "begun")
			if want != nil {
				return errors.Join(os.MkdirAll(begun, 0o755), want)
			}
			return os.Remove(begun)
		})
		if !errors.Is(err, want) {
			t.Fatal(err)
		}
	}
	wantEntries(t, c, "kernel-slow", "lock-slow")
}

func wantEntries(t *testing.T, c *cache, want ...string) {
	t.Helper()
	entries, err := os.ReadDir(c.dir)
	check(t, err)
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	if !slices.Equal(got, want) {
		t.Fatalf("the cache has %q, want %q", got, want)
	}
}
