//go:build linux && amd64

package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// The modules in the order in which they are loaded, each after what it depends on. The root list is what init needs
// to reach the host and its files.
var (
	rootModules = []string{"virtio_pci", "virtio_console", "9p", "9pnet_virtio", "overlay"}
	// rxe refuses to attach without crc32_generic, on which it does not depend in the sense of the module format. Newer
	// kernels have neither.
	rdmaModules = []string{"crc32_generic", "ib_core", "ib_uverbs", "rdma_cm", "rdma_ucm", "ib_umad", "dummy", "veth",
		"virtio_net", "sch_netem"}
	rxeModules = []string{"rdma_rxe"}

	optionalModules = []string{"crc32_generic"}
)

// kernel is an unpacked kernel package.
type kernel struct {
	dir   string
	image string
}

// kernel returns the kernel in the cache, which it fetches and unpacks if there is none. A kernel that is there is
// used as it is: looking for a newer one would cost time, and a network, in each run.
func (c *cache) kernel(file string, log *progress) (kernel, error) {
	key := sha256.New()
	fmt.Fprintln(key, "layout 2", rootModules, rdmaModules, rxeModules)
	if file != "" {
		info, err := os.Stat(file)
		if err != nil {
			return kernel{}, fmt.Errorf("TESTBED_KERNEL_PACKAGE: %w", err)
		}
		fmt.Fprintln(key, file, info.Size(), info.ModTime())
	}
	dir, err := c.entry(fmt.Sprintf("kernel-%x", key.Sum(nil)[:6]), log, func(dir string) error {
		if err := os.Mkdir(dir, 0o755); err != nil {
			return err
		}
		if file != "" {
			return unpackKernel(file, dir, log)
		}
		return fetchKernel(dir, log)
	})
	return kernel{dir, filepath.Join(dir, "vmlinux")}, err
}

// fetchKernel downloads Debian's current kernel package and unpacks it into dir.
func fetchKernel(dir string, log *progress) error {
	name, size, err := findKernelPackage()
	if err != nil {
		log.setUp("fetching the package lists, since %v", err)
		if err := asRoot("apt-get", "update", "-q"); err != nil {
			return err
		}
		if name, size, err = findKernelPackage(); err != nil {
			return fmt.Errorf("%w; set TESTBED_KERNEL_PACKAGE to a file linux-image-...-amd64.deb of Debian", err)
		}
	}
	download := filepath.Join(dir, "download")
	if err := os.Mkdir(download, 0o755); err != nil {
		return err
	}
	log.setUp("fetching the kernel package %s (%d MB)", name, size>>20)
	fetch := func() error {
		_, err := output(download, "apt-get", "download", "-q", name)
		return err
	}
	if err := fetch(); err != nil {
		// Lists that are older than the archive name files that are gone.
		log.setUp("fetching the package lists, since %v", err)
		if err := asRoot("apt-get", "update", "-q"); err != nil {
			return err
		}
		if name, _, err = findKernelPackage(); err != nil {
			return err
		}
		if err := fetch(); err != nil {
			return fmt.Errorf("fetch the kernel package: %w", err)
		}
	}
	files, err := filepath.Glob(filepath.Join(download, "*.deb"))
	if err != nil {
		return err
	}
	if len(files) != 1 {
		return fmt.Errorf("apt-get download %s left %d packages, not one", name, len(files))
	}
	if err := unpackKernel(files[0], dir, log); err != nil {
		return err
	}
	return os.RemoveAll(download)
}

// findKernelPackage names the package that the meta-package linux-image-amd64 stands for, and its size.
func findKernelPackage() (name string, size int, err error) {
	const meta = "linux-image-amd64"
	depends, err := output("", "apt-cache", "depends", meta)
	if err != nil {
		return "", 0, fmt.Errorf("the package lists do not have %s", meta)
	}
	for line := range strings.Lines(depends) {
		if f := strings.Fields(line); len(f) == 2 && f[0] == "Depends:" && strings.HasPrefix(f[1], "linux-image-") {
			name = f[1]
			break
		}
	}
	if name == "" {
		return "", 0, fmt.Errorf("%s stands for no package", meta)
	}
	show, err := output("", "apt-cache", "show", "--no-all-versions", name)
	if err != nil {
		return "", 0, fmt.Errorf("the package lists do not have %s", name)
	}
	for line := range strings.Lines(show) {
		if value, found := strings.CutPrefix(line, "Size: "); found {
			size, _ = strconv.Atoi(strings.TrimSpace(value))
		}
	}
	return name, size, nil
}

// unpackKernel takes the kernel's image and the modules of the lists out of a package.
func unpackKernel(file, dir string, log *progress) error {
	log.setUp("unpacking the kernel of %s", filepath.Base(file))
	cmd := command("", "dpkg-deb", "--fsys-tarfile", file)
	var complaints bytes.Buffer
	cmd.Stderr = &complaints
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	image, modules, readErr := readKernelPackage(pipe)
	if readErr != nil {
		cmd.Process.Kill()
	}
	if err := cmd.Wait(); readErr == nil && err != nil {
		readErr = fmt.Errorf("dpkg-deb: %w: %s", err, lastLine(complaints.String()))
	}
	if readErr != nil {
		return fmt.Errorf("unpack %s: %w", filepath.Base(file), readErr)
	}
	if err := modules.write(dir); err != nil {
		return err
	}
	// Started from its uncompressed form, the kernel is up three seconds earlier without KVM.
	if plain, err := uncompressedKernel(image); err == nil {
		image = plain
	} else {
		log.setUp("booting will take longer, as the kernel stays compressed: %v", err)
	}
	return os.WriteFile(filepath.Join(dir, "vmlinux"), image, 0o644)
}

// readKernelPackage reads the files of a package from its tar stream.
func readKernelPackage(r io.Reader) (image []byte, modules moduleSet, err error) {
	modules = moduleSet{}
	files := tar.NewReader(r)
	for {
		header, err := files.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, nil, err
		}
		name := path.Clean("/" + header.Name)
		switch {
		case header.Typeflag != tar.TypeReg:
		case strings.HasPrefix(name, "/boot/vmlinuz-"):
			if image, err = io.ReadAll(files); err != nil {
				return nil, nil, err
			}
		case path.Base(name) == "modules.builtin":
			list, err := io.ReadAll(files)
			if err != nil {
				return nil, nil, err
			}
			modules.addBuiltIn(string(list))
		case strings.Contains(name, "/kernel/"):
			module, compressed, found := moduleName(path.Base(name))
			if !found || !wantedFolder(name) {
				continue
			}
			content, err := io.ReadAll(files)
			if err != nil {
				return nil, nil, err
			}
			modules[module] = moduleFile{content: content, compressed: compressed}
		}
	}
	if image == nil {
		return nil, nil, errors.New("it has no /boot/vmlinuz")
	}
	return image, modules, nil
}

// moduleFolders has the lists' modules and all that these can depend on.
var moduleFolders = []string{"arch/x86/crypto/", "crypto/", "lib/", "fs/9p/", "fs/netfs/", "fs/fscache/", "fs/overlayfs/",
	"fs/configfs/", "fs/exportfs/", "net/", "drivers/virtio/", "drivers/char/", "drivers/infiniband/core/",
	"drivers/infiniband/sw/"}

// wantedFolder tells whether to read a module: a kernel has some hundred megabytes of others.
func wantedFolder(name string) bool {
	_, inKernel, _ := strings.Cut(name, "/kernel/")
	if path.Dir(inKernel) == "drivers/net" { // but not the network cards in the folders below
		return true
	}
	return slices.ContainsFunc(moduleFolders, func(folder string) bool { return strings.HasPrefix(inKernel, folder) })
}

// uncompressedKernel takes the kernel out of a bzImage, whose layout is in Documentation/arch/x86/boot.rst. It must
// be one that can be entered directly, which a note in it says.
func uncompressedKernel(image []byte) ([]byte, error) {
	const headerEnd = 0x250
	if len(image) < headerEnd || string(image[0x202:0x206]) != "HdrS" {
		return nil, errors.New("it is not a bzImage")
	}
	setupSectors := int(image[0x1f1])
	if setupSectors == 0 {
		setupSectors = 4
	}
	offset := (setupSectors+1)*512 + int(binary.LittleEndian.Uint32(image[0x248:]))
	length := int(binary.LittleEndian.Uint32(image[0x24c:]))
	if offset+length > len(image) || length < 8 {
		return nil, errors.New("the bzImage is cut off")
	}
	plain, err := decompress(image[offset : offset+length])
	if err != nil {
		return nil, err
	}
	file, err := elf.NewFile(bytes.NewReader(plain))
	if err != nil {
		return nil, err
	}
	if !hasDirectEntry(file) {
		return nil, errors.New("it has no PVH entry")
	}
	return plain, nil
}

// hasDirectEntry looks for the note XEN_ELFNOTE_PHYS32_ENTRY.
func hasDirectEntry(file *elf.File) bool {
	const physicalEntry = 18
	for _, program := range file.Progs {
		if program.Type != elf.PT_NOTE {
			continue
		}
		notes, err := io.ReadAll(program.Open())
		if err != nil {
			return false
		}
		for len(notes) >= 12 {
			nameSize, size := file.ByteOrder.Uint32(notes), file.ByteOrder.Uint32(notes[4:])
			kind := file.ByteOrder.Uint32(notes[8:])
			total := 12 + (uint64(nameSize)+3)&^3 + (uint64(size)+3)&^3
			if total > uint64(len(notes)) {
				return false
			}
			if kind == physicalEntry && bytes.HasPrefix(notes[12:], []byte("Xen\x00")) {
				return true
			}
			notes = notes[total:]
		}
	}
	return false
}

// decompress recognizes a format by its first bytes. The kernel's build appends to the stream, so what follows it is
// not looked at.
func decompress(data []byte) ([]byte, error) {
	switch {
	case bytes.HasPrefix(data, []byte("\xfd7zXZ\x00")):
		return filter(data, "xz", "--decompress", "--stdout", "--single-stream")
	case bytes.HasPrefix(data, []byte("\x28\xb5\x2f\xfd")):
		// The appended size makes zstd complain after it has written everything.
		plain, err := filter(data, "zstd", "--decompress", "--stdout", "--quiet")
		if len(plain) > 0 && !errors.Is(err, exec.ErrNotFound) {
			return plain, nil
		}
		return plain, err
	case bytes.HasPrefix(data, []byte("\x1f\x8b")):
		r, err := gzip.NewReader(bytes.NewReader(data))
		if err != nil {
			return nil, err
		}
		r.Multistream(false)
		return io.ReadAll(r)
	case bytes.HasPrefix(data, []byte("\x7fELF")):
		return data, nil
	}
	return nil, fmt.Errorf("the compression that begins with % x is not known", data[:min(4, len(data))])
}
