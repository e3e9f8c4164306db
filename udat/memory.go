package udat

import (
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"unsafe"
)

// AllocMemory allocates size bytes of zeroed, page-aligned memory outside the
// Go heap and registers it. Free returns the memory to the system: do not touch
// the slice that Bytes returned after that.
//
//	Implements: DAT_RETURN dat_lmr_create(...), see RegisterMemory
func AllocMemory(pz *PZ, size int, privileges MemPriv) (*LMR, error) {
	const op = "dat_lmr_create"
	if err := needLibrary(op); err != nil {
		return nil, err
	}
	if err := checkSize(op, size); err != nil {
		return nil, err
	}
	mapping, err := mapMemory(size)
	if err != nil {
		return nil, noMemory(op, err, fmt.Sprintf("the system has no %d bytes for the process: ask for less, or look at its limits (ulimit -v) and those of its control group", size))
	}
	return registerMapping(pz, mapping, size, privileges)
}

// AllocHugeMemory is AllocMemory in huge pages of pageSize bytes, 2 MiB (1<<21) or 1
// GiB (1<<30) for example, so that the adapter has fewer pages to keep track of. Pages
// are taken whole. It fails with ErrInvalidParameter if the kernel has no pages of that
// size, and with ErrInsufficientResources if not enough are free: reserve them, in
// /proc/sys/vm/nr_hugepages for example.
//
//	Implements: DAT_RETURN dat_lmr_create(...), see RegisterMemory
func AllocHugeMemory(pz *PZ, size, pageSize int, privileges MemPriv) (*LMR, error) {
	const op = "dat_lmr_create"
	if err := needLibrary(op); err != nil {
		return nil, err
	}
	if err := checkSize(op, size); err != nil {
		return nil, err
	}
	mapping, err := mapHugePages(size, pageSize)
	if errors.Is(err, syscall.EINVAL) {
		sizes := hugePageSizes()
		if len(sizes) == 0 {
			return nil, refuse(op, ErrInvalidParameter, InvalidArg3, "the size of a page is %d, the kernel has no huge pages", pageSize)
		}
		return nil, refuse(op, ErrInvalidParameter, InvalidArg3, "the size of a page is %d, the kernel has huge pages of %v bytes", pageSize, sizes)
	}
	if err != nil {
		return nil, noMemory(op, err, fmt.Sprintf("%d huge pages of %d bytes are needed, and not as many are free: reserve them in %s/nr_hugepages",
			pagesFor(size, pageSize), pageSize, hugePageFolder(pageSize)))
	}
	return registerMapping(pz, mapping, size, privileges)
}

func checkSize(op string, size int) error {
	if size <= 0 {
		return refuse(op, ErrInvalidParameter, InvalidArg4, "the size is %d, it must be positive", size)
	}
	return nil
}

func noMemory(op string, cause error, detail string) error {
	return logged(&Error{Op: op, Return: classError | Return(ErrInsufficientResources) | Return(ResourceMemory), Detail: detail, Err: cause})
}

// registerMapping registers the first size bytes of a mapping and makes it the region's own.
func registerMapping(pz *PZ, mapping []byte, size int, privileges MemPriv) (*LMR, error) {
	lmr := &LMR{memory: mapping[:size:size], mapping: mapping}
	if err := lmr.register(pz, privileges); err != nil {
		lmr.release()
		return nil, err
	}
	return lmr, nil
}

func pagesFor(size, pageSize int) int { return (size-1)/pageSize + 1 }

const hugePageFolders = "/sys/kernel/mm/hugepages/hugepages-"

func hugePageFolder(pageSize int) string {
	return fmt.Sprintf("%s%dkB", hugePageFolders, pageSize>>10)
}

// hugePageSizes returns the sizes that the kernel has, in bytes.
func hugePageSizes() (sizes []int) {
	folders, _ := filepath.Glob(hugePageFolders + "*kB")
	for _, folder := range folders {
		kilobytes := strings.TrimSuffix(strings.TrimPrefix(folder, hugePageFolders), "kB")
		if n, err := strconv.Atoi(kilobytes); err == nil {
			sizes = append(sizes, n<<10)
		}
	}
	slices.Sort(sizes)
	return sizes
}

// pins holds the pins of all registered memory. The adapter reaches that until
// it is deregistered, even when the program has dropped the region, and the
// runtime ends a program that drops a pin.
var pins sync.Map

func newPin(memory []byte) *runtime.Pinner {
	pin := new(runtime.Pinner)
	pin.Pin(unsafe.SliceData(memory))
	pins.Store(pin, nil)
	return pin
}

func (lmr *LMR) release() {
	if lmr.pin != nil {
		lmr.pin.Unpin()
		pins.Delete(lmr.pin)
	}
	switch {
	case lmr.mapping == nil:
	case lmr.looked.Load() || lmr.pz != nil && lmr.pz.ia.postsRequests():
		runtime.AddCleanup(lmr, giveBack, lmr.mapping)
	default:
		giveBack(lmr.mapping)
	}
}

var giveBack = unmapMemory // counted in tests

// Pages returns the pages that the memory of AllocMemory or AllocHugeMemory lies in. They
// stay mapped as long as the region can be reached, also after Free: for those that look
// at memory which may be freed meanwhile. It returns nil for other memory, and for a
// region that is freed.
func (lmr *LMR) Pages() []byte {
	if lmr.object().enter(pieceOp, InvalidHandleLMR) != nil {
		return nil
	}
	defer lmr.obj.Leave()
	lmr.looked.Store(true)
	return lmr.mapping
}
