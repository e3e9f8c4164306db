package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// The modules in the order of loading, each after its dependencies. init needs the root list to reach the host and its
// files.
var (
	rootModules = []string{"virtio_pci", "virtio_console", "9p", "9pnet_virtio", "overlay"}
	// rxe refuses to attach without crc32_generic, but does not list it as a dependency. Newer kernels need no such
	// module.
	rdmaModules = []string{"crc32_generic", "ib_core", "ib_uverbs", "rdma_cm", "rdma_ucm", "ib_umad", "dummy", "veth",
		"virtio_net", "sch_netem"}
	rxeModules = []string{"rdma_rxe"}
	// siw needs crc32c_generic in the same way. Debian's kernels lack siw; others have it.
	siwModules = []string{"crc32c_generic", "siw"}

	optionalModules = []string{"crc32_generic", "crc32c_generic", "siw"}
)

// kernelChoice says where a kernel comes from: a suite of Debian's archive, such as trixie-backports, or a package
// file.
type kernelChoice struct {
	suite  string
	file   string // an absolute path; "" for a suite
	arch   *architecture
	mirror string // of Debian's archive; "" for the mirror of the system's apt
}

func (c kernelChoice) String() string {
	if c.file != "" {
		return filepath.Base(c.file)
	}
	if c.arch.foreign {
		return "Debian " + c.suite + " for " + c.arch.name
	}
	return "Debian " + c.suite
}

// kernel is an unpacked kernel package.
type kernel struct {
	dir     string
	image   string
	release string // what uname -r prints, such as 6.12.107+deb13-amd64
}

// The files in a kernel's folder, besides the modules.
const (
	imageFile   = "vmlinux"
	releaseFile = "release"
)

// kernel returns the kernel in the cache. It fetches and unpacks one if there is none. It does not look for a newer
// one, which would cost time, and need a network, in each run.
func (c *cache) kernel(choice kernelChoice, log *progress) (kernel, error) {
	key := sha256.New()
	fmt.Fprintln(key, "layout 4", rootModules, rdmaModules, rxeModules, siwModules)
	var files []string
	if choice.file == "" {
		fmt.Fprintln(key, choice.suite)
		if choice.arch.foreign {
			fmt.Fprintln(key, choice.arch.name)
		}
	} else {
		var err error
		if files, err = packageFiles(choice.file, choice.arch); err != nil {
			return kernel{}, err
		}
		for _, file := range files {
			info, err := os.Stat(file)
			if err != nil {
				return kernel{}, fmt.Errorf("the kernel's package: %w", err)
			}
			fmt.Fprintln(key, file, info.Size(), info.ModTime())
		}
	}
	dir, err := c.entry(fmt.Sprintf("kernel-%x", key.Sum(nil)[:6]), log, func(dir string) error {
		if err := os.Mkdir(dir, 0o755); err != nil {
			return err
		}
		if choice.file != "" {
			return unpackKernel(files, choice.arch, dir, log)
		}
		if err := fetchKernel(choice, dir, log); err != nil {
			return fmt.Errorf("the kernel of Debian %s is not available: %w; TESTBED_KERNEL_PACKAGE can name a file "+
				"linux-image-...-%s.deb of Debian instead, and GOUDAT_CACHE another folder than %s", choice.suite, err, choice.arch.name, c.dir)
		}
		return nil
	})
	if err != nil {
		return kernel{}, err
	}
	release, err := os.ReadFile(filepath.Join(dir, releaseFile))
	return kernel{dir, filepath.Join(dir, imageFile), string(release)}, err
}

// fetchKernel downloads the current kernel of a suite and unpacks it into dir.
func fetchKernel(choice kernelChoice, dir string, log *progress) error {
	folder := filepath.Join(dir, "archive")
	a, err := openArchive(folder, choice.suite, choice.arch, choice.mirror, log)
	if err != nil {
		return err
	}
	names, err := kernelPackages(a)
	if err != nil {
		return err
	}
	files, err := a.download(log, names...)
	if err != nil {
		return err
	}
	if err := unpackKernel(files, choice.arch, dir, log); err != nil {
		return err
	}
	return os.RemoveAll(folder)
}

// kernelPackages lists the packages with the files of a suite's current kernel.
func kernelPackages(a *archive) ([]string, error) {
	meta := "linux-image-" + a.arch.name
	names, err := a.depends(meta)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if !strings.HasPrefix(name, "linux-image-") {
			continue
		}
		parts, err := a.depends(name)
		if err != nil {
			return nil, err
		}
		return append([]string{name}, slices.DeleteFunc(parts, func(part string) bool { return !kernelPart.MatchString(part) })...), nil
	}
	return nil, fmt.Errorf("%s of %s names no package", meta, a.suite)
}

// kernelPart matches the packages on which linux-image depends for parts of the kernel: newer kernels have the image,
// the modules and the list of built-in modules in separate packages.
var kernelPart = regexp.MustCompile(`^linux-(base|binary|modules)-[0-9]`)

// packageFiles lists a package's file, and the files of packages with other parts of its kernel, which must be in the
// same folder.
func packageFiles(file string, arch *architecture) ([]string, error) {
	if info, err := os.Stat(file); err != nil {
		return nil, fmt.Errorf("the kernel's package: %w", err)
	} else if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("the kernel's package %s is not a file", file)
	}
	fields, err := output("", "dpkg-deb", "--field", file, "Depends", "Version")
	if err != nil {
		return nil, fmt.Errorf("%s is not a kernel package: %w", file, err)
	}
	parts, version := kernelParts(fields)
	files := []string{file}
	for _, part := range parts {
		// A version may begin with an epoch, which the file's name lacks.
		beside := filepath.Join(filepath.Dir(file), part+"_"+version[strings.Index(version, ":")+1:]+"_"+arch.name+".deb")
		if _, err := os.Stat(beside); err != nil {
			return nil, fmt.Errorf("%s has only a part of its kernel, and needs %s beside it: %w", filepath.Base(file), part, err)
		}
		files = append(files, beside)
	}
	return files, nil
}

// kernelParts reads the fields Depends and Version of a package.
func kernelParts(fields string) (parts []string, version string) {
	for line := range strings.Lines(fields) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		switch name {
		case "Version":
			version = strings.TrimSpace(value)
		case "Depends":
			for dependency := range strings.SplitSeq(value, ",") {
				if words := strings.Fields(dependency); len(words) > 0 && kernelPart.MatchString(words[0]) {
					parts = append(parts, words[0])
				}
			}
		}
	}
	return parts, version
}

// unpackKernel extracts the kernel's image and the modules in the lists from packages.
func unpackKernel(files []string, arch *architecture, dir string, log *progress) error {
	content := kernelContent{arch: arch, modules: moduleSet{}}
	for _, file := range files {
		log.setUp("unpacking %s", filepath.Base(file))
		if err := readPackage(file, content.addFiles); err != nil {
			return fmt.Errorf("unpack %s: %w", filepath.Base(file), err)
		}
	}
	if content.image == nil {
		return fmt.Errorf("%s has no kernel", filepath.Base(files[0]))
	}
	if err := content.modules.write(dir); err != nil {
		return err
	}
	// Without KVM, an uncompressed kernel is up three seconds earlier.
	image := content.image
	if arch.uncompressed != nil {
		if plain, err := arch.uncompressed(image); err == nil {
			image = plain
		} else {
			log.setUp("booting will take longer, as the kernel stays compressed: %v", err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, releaseFile), []byte(content.release), 0o644); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, imageFile), image, 0o644)
}

// kernelContent is what was read from a kernel's packages.
type kernelContent struct {
	arch    *architecture
	image   []byte
	release string
	modules moduleSet
}

// readPackage reads the files of a package as a tar stream.
func readPackage(file string, read func(io.Reader) error) error {
	cmd := command("", "dpkg-deb", "--fsys-tarfile", file)
	var complaints bytes.Buffer
	cmd.Stderr = &complaints
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return toolError("dpkg-deb", err, "")
	}
	readErr := read(pipe)
	if readErr != nil {
		cmd.Process.Kill()
	}
	if err := cmd.Wait(); readErr == nil && err != nil {
		readErr = toolError("dpkg-deb", err, complaints.String())
	}
	return readErr
}

// addFiles reads the files of a package from its tar stream.
func (k *kernelContent) addFiles(r io.Reader) error {
	files := tar.NewReader(r)
	for {
		header, err := files.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if header.Typeflag != tar.TypeReg {
			continue
		}
		name := path.Clean("/" + header.Name)
		if release, found := imageRelease(name); found {
			k.release = release
			if k.image, err = io.ReadAll(files); err != nil {
				return err
			}
			continue
		}
		switch {
		case path.Base(name) == "modules.builtin":
			list, err := io.ReadAll(files)
			if err != nil {
				return err
			}
			k.modules.addBuiltIn(string(list))
		case strings.Contains(name, "/kernel/"):
			module, compressed, found := moduleName(path.Base(name))
			if !found || !wantedFolder(k.arch, name) {
				continue
			}
			content, err := io.ReadAll(files)
			if err != nil {
				return err
			}
			k.modules[module] = moduleFile{content: content, compressed: compressed}
		}
	}
}

// imageRelease reports whether a file is a kernel's image, and returns the release in its name. Newer packages have the
// image beside the modules.
func imageRelease(name string) (release string, found bool) {
	if release, found := strings.CutPrefix(name, "/boot/vmlinuz-"); found {
		return release, true
	}
	folder, file := path.Split(name)
	return path.Base(folder), file == "vmlinuz" && path.Base(path.Dir(path.Clean(folder))) == "modules"
}

// moduleFolders are the folders with the lists' modules and all possible dependencies, besides those for the processor.
var moduleFolders = []string{"crypto/", "lib/", "fs/9p/", "fs/netfs/", "fs/fscache/", "fs/overlayfs/",
	"fs/configfs/", "fs/exportfs/", "net/", "drivers/virtio/", "drivers/char/", "drivers/infiniband/core/",
	"drivers/infiniband/sw/"}

// wantedFolder reports whether to read a module: the others of a kernel are some hundred megabytes.
func wantedFolder(arch *architecture, name string) bool {
	_, inKernel, _ := strings.Cut(name, "/kernel/")
	if path.Dir(inKernel) == "drivers/net" { // not the network cards in the folders below
		return true
	}
	return strings.HasPrefix(inKernel, arch.modules) || slices.ContainsFunc(moduleFolders, func(folder string) bool { return strings.HasPrefix(inKernel, folder) })
}

// uncompressedKernel extracts the kernel from a bzImage, whose layout is in Documentation/arch/x86/boot.rst. qemu
// enters it directly, by the note for PVH that Debian's kernels have.
func uncompressedKernel(image []byte) ([]byte, error) {
	const headerEnd = 0x250
	if len(image) < headerEnd || string(image[0x202:0x206]) != "HdrS" {
		return nil, errors.New("it is not a bzImage")
	}
	offset := (int(image[0x1f1])+1)*512 + int(binary.LittleEndian.Uint32(image[0x248:]))
	length := int(binary.LittleEndian.Uint32(image[0x24c:]))
	if offset+length > len(image) || length < 8 {
		return nil, errors.New("the bzImage is truncated")
	}
	return decompress(image[offset : offset+length])
}

// decompress recognizes a format by its first bytes. It ignores what follows the stream, as the kernel's build appends
// to it.
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
	return nil, fmt.Errorf("unknown compression, beginning with % x", data[:min(4, len(data))])
}
