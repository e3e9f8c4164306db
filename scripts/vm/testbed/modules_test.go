package main

import (
	"bytes"
	"slices"
	"strings"
	"testing"
)

func module(info string) moduleFile { return moduleFile{content: []byte("\x7fELF\x00" + info)} }

func TestModuleOrder(t *testing.T) {
	set := moduleSet{
		"base":  module("license=GPL\x00depends=\x00"),
		"mid_1": module("depends=base\x00name=mid_1\x00"),
		"mid_2": module("alias=x\x00depends=base,mid-1\x00"),
		"top":   module("depends=mid-2,built-in,mid-1\x00"),
		"other": module("name=other\x00depends=\x00"),
	}
	set.addBuiltIn("kernel/drivers/virtio/built-in.ko\nkernel/lib/other_one.ko\n")
	loaded := map[string]bool{}
	got, err := set.order([]string{"other", "crc32_generic", "built_in", "top", "base"}, loaded)
	if want := []string{"other", "base", "mid_1", "mid_2", "top"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
	if again, err := set.order([]string{"mid_1", "top"}, loaded); err != nil || len(again) > 0 {
		t.Errorf("a module of an earlier list is loaded again: %q, %v", again, err)
	}
}

func TestModuleOrderFailures(t *testing.T) {
	set := moduleSet{
		"alone":   module("depends=absent\x00"),
		"garbage": {content: []byte("not a module")},
	}
	if _, err := set.order([]string{"alone"}, map[string]bool{}); err == nil ||
		!strings.Contains(err.Error(), "no module absent, which alone needs") {
		t.Errorf("absent dependency: %v", err)
	}
	if _, err := set.order([]string{"garbage"}, map[string]bool{}); err == nil {
		t.Error("garbage was accepted")
	}
}

func TestModuleName(t *testing.T) {
	for file, want := range map[string]struct {
		name       string
		compressed bool
		found      bool
	}{
		"ib_core.ko":         {"ib_core", false, true},
		"crc32-pclmul.ko.xz": {"crc32_pclmul", true, true},
		"x.ko.zst":           {"x", true, true},
		"modules.order":      {"", false, false},
		"x.ko.debug":         {"", false, false},
	} {
		name, compressed, found := moduleName(file)
		if name != want.name || compressed != want.compressed || found != want.found {
			t.Errorf("%s: %q, %v, %v", file, name, compressed, found)
		}
	}
}

func TestWantedFolder(t *testing.T) {
	const modules = "/lib/modules/6.1.0/kernel/"
	for file, want := range map[string]bool{
		"drivers/net/veth.ko":                   true,
		"drivers/net/ethernet/intel/e1000.ko":   false,
		"drivers/infiniband/sw/rxe/rdma_rxe.ko": true,
		"drivers/infiniband/hw/mlx5/mlx5_ib.ko": false,
		"net/9p/9pnet.ko":                       true,
		"fs/xfs/xfs.ko":                         false,
	} {
		if got := wantedFolder(amd64, modules+file); got != want {
			t.Errorf("%s: %v, want %v", file, got, want)
		}
	}
}

func TestDecompress(t *testing.T) {
	plain := []byte(strings.Repeat("a kernel module ", 1000))
	for _, tool := range []string{"xz", "zstd", "gzip"} {
		compressed, err := filter(plain, tool, "--stdout")
		if err != nil {
			t.Logf("%s is not tested: %v", tool, err)
			continue
		}
		// The kernel's build appends the size.
		got, err := decompress(append(compressed, 0x80, 0x3e, 0, 0))
		if err != nil || !bytes.Equal(got, plain) {
			t.Errorf("%s: %d bytes, %v", tool, len(got), err)
		}
		if got, err := decompress(compressed[:len(compressed)/2]); err == nil && bytes.Equal(got, plain) {
			t.Errorf("%s: half the data was enough", tool)
		}
	}
	if _, err := decompress([]byte("????")); err == nil {
		t.Error("an unknown format was accepted")
	}
}
