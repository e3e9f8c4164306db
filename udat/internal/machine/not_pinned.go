package machine

import (
	"cmp"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/goudat/goudat/udat/internal/problem"
)

// WhyNotPinned says why memory could not be registered. writing names the privileges that let
// adapters write there, "" for none. noRoom tells that the kernel had no room, whatever the memory.
func WhyNotPinned(address, size uint64, writing string, noRoom bool) error {
	maps, _ := os.ReadFile("/proc/self/maps")
	if err := mappingProblem(string(maps), address, size, writing); err != nil {
		return err
	}
	if limit := lockableMemory(); size > limit || lockedMemory() > limit-size {
		return lockedTooLittle(limit, fmt.Sprintf(", and %d more were wanted", size))
	}
	if err := groupProblem(); err != nil {
		return err
	}
	if noRoom {
		return fmt.Errorf("%w: the kernel has none for this region of %d bytes: register less, or in pieces, since devices have a limit (soft-RoCE of Linux 7.3: 1 GiB); "+
			"or is there one on the memory of the control group (memory.max)?", problem.NoRoom, size)
	}
	return cmp.Or(fileProblem(string(maps), address, size), fmt.Errorf("%w: the kernel does not pin this memory", problem.Unknown))
}

// mappingProblem finds pages that cannot be read, or written if they must. maps
// is what the kernel says of the process's memory, in the order of addresses.
func mappingProblem(maps string, address, size uint64, writing string) error {
	next, end := address, address+size // the part before next is right
	for line := range strings.Lines(maps) {
		m, ok := parseMapping(line)
		if !ok {
			return nil
		}
		if m.stop <= next {
			continue
		}
		access := m.access
		switch {
		case m.start > next:
			return fmt.Errorf("%w: nothing is mapped at 0x%x, byte %d of the memory", problem.UnmappedMemory, next, next-address)
		case access[0] != 'r':
			return fmt.Errorf("%w: from byte %d on, at 0x%x, the pages (%s) cannot be read", problem.UnreadableMemory, next-address, next, access)
		case access[1] != 'w' && writing != "":
			return fmt.Errorf("%w: from byte %d on, at 0x%x, the pages (%s) cannot be written: leave out the privileges %s",
				problem.ReadOnlyMemory, next-address, next, access, writing)
		}
		if next = m.stop; next >= end {
			return nil
		}
	}
	if maps == "" {
		return nil
	}
	return fmt.Errorf("%w: nothing is mapped at 0x%x, byte %d of the memory", problem.UnmappedMemory, next, next-address)
}

// mapping is a line of /proc/self/maps.
type mapping struct {
	start, stop uint64
	access      string // like "rw-s", for shared
	file        string // "" for none
}

func parseMapping(line string) (m mapping, ok bool) {
	fields := strings.Fields(line)
	if len(fields) < 2 || len(fields[1]) < 4 {
		return m, false
	}
	from, to, _ := strings.Cut(fields[0], "-")
	start, startErr := strconv.ParseUint(from, 16, 64)
	stop, stopErr := strconv.ParseUint(to, 16, 64)
	if i := strings.IndexByte(line, '/'); i >= 0 {
		m.file = strings.TrimSpace(line[i:])
	}
	m.start, m.stop, m.access = start, stop, fields[1]
	return m, startErr == nil && stopErr == nil
}

// fileProblem finds pages of a file that the kernel cannot pin, in memory that is mapped as
// it must be: they are not there, since the file is shorter than the mapping, or the kernel
// does not pin any of that file.
func fileProblem(maps string, address, size uint64) error {
	fault, faults := firstFault(address, size)
	for line := range strings.Lines(maps) {
		m, ok := parseMapping(line)
		switch {
		case !ok || m.file == "" || m.stop <= address || m.start >= address+size:
		case faults && m.start <= fault && fault < m.stop:
			return fmt.Errorf("%w: from byte %d on, at 0x%x, %q has no bytes for the pages: it was truncated, or never was as long as the mapping: lengthen it, or register what lies before",
				problem.FileEnd, fault-address, fault, m.file)
		case !faults && m.access[3] == 's':
			return fmt.Errorf("%w: byte %d is in a shared mapping of %q, and the kernel seems not to pin that: Linux 6.5 and later pin files for writing only if they are memory themselves "+
				"(memfd_create, /dev/shm, hugetlbfs), and none pins a device's memory. Register such a file, or the memory of AllocMemory, and copy; or register for reading only, or map it privately",
				problem.UnpinnableFile, max(m.start, address)-address, m.file)
		}
	}
	return nil
}

// firstFault finds the first byte of mapped, readable memory that cannot be read.
func firstFault(address, size uint64) (fault uint64, found bool) {
	page := uint64(os.Getpagesize())
	start, stop := address/page*page, (address+size+page-1)/page*page
	if !faults(start, stop-start) {
		return 0, false
	}
	for stop-start > page {
		middle := start + (stop-start)/page/2*page
		if faults(start, middle-start) {
			stop = middle
		} else {
			start = middle
		}
	}
	return max(start, address), true
}
