package udat

import (
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"syscall"

	"github.com/goudat/goudat/udat/internal/pages"
)

// AllocMemory allocates size bytes of zeroed, page-aligned memory outside the Go heap and registers
// it. Free returns the memory to the system: do not use the slice of Bytes after that. The adapter
// may keep freed memory for a while, at most 256 bytes for each of its objects.
//
//	Implements: DAT_RETURN dat_lmr_create(...), see RegisterMemory
func AllocMemory(pz *PZ, size int, privileges MemPriv) (*LMR, error) {
	return allocate(pz, size, privileges, func() ([]byte, error) {
		mapping, err := mapMemory(size)
		if err != nil {
			return nil, noMemory(err, "the system has no %d bytes for the process: ask for less, or look at its limits (ulimit -v) and those of its control group", size)
		}
		return mapping, nil
	})
}

// AllocHugeMemory is AllocMemory in whole huge pages of pageSize bytes, such as 2 MiB (1<<21) or 1
// GiB (1<<30), so that the adapter tracks fewer. It fails with ErrInvalidParameter if the kernel
// has no pages of that size, and with ErrInsufficientResources if too few are free: reserve them,
// for example in /proc/sys/vm/nr_hugepages.
//
//	Implements: DAT_RETURN dat_lmr_create(...), see RegisterMemory
func AllocHugeMemory(pz *PZ, size, pageSize int, privileges MemPriv) (*LMR, error) {
	return allocate(pz, size, privileges, func() ([]byte, error) {
		mapping, err := mapHugePages(size, pageSize)
		switch {
		case errors.Is(err, syscall.EINVAL):
			return nil, refusePageSize(pageSize)
		case err != nil:
			return nil, noMemory(err, "%d huge pages of %d bytes are needed, and not as many are free: reserve them in %s/nr_hugepages",
				(size-1)/pageSize+1, pageSize, fmt.Sprintf(hugePageFolder, strconv.Itoa(pageSize>>10)))
		}
		return mapping, nil
	})
}

func noMemory(cause error, format string, args ...any) error {
	return logged(&Error{Op: registerOp, Return: classError | Return(ErrInsufficientResources) | Return(ResourceMemory), Detail: fmt.Sprintf(format, args...), Err: cause})
}

// allocate registers the first size bytes of a mapping, which becomes the region's own.
func allocate(pz *PZ, size int, privileges MemPriv, mapPages func() ([]byte, error)) (*LMR, error) {
	if err := needLibrary(registerOp); err != nil {
		return nil, err
	}
	if size <= 0 {
		return nil, refuse(registerOp, ErrInvalidParameter, InvalidArg4, "the size is %d, it must be positive", size)
	}
	mapping, err := mapPages()
	if err != nil {
		return nil, err
	}
	lmr := &LMR{memory: mapping[:size:size], mapping: mapping}
	return lmr.register(pz, privileges)
}

// hugePageFolder has the number of kilobytes, or a * for any.
const hugePageFolder = "/sys/kernel/mm/hugepages/hugepages-%skB"

// refusePageSize says which sizes the kernel has.
func refusePageSize(pageSize int) error {
	var sizes []int
	folders, _ := filepath.Glob(fmt.Sprintf(hugePageFolder, "*"))
	for _, folder := range folders {
		var kilobytes int
		if n, _ := fmt.Sscanf(filepath.Base(folder), "hugepages-%dkB", &kilobytes); n == 1 {
			sizes = append(sizes, kilobytes<<10)
		}
	}
	if len(sizes) == 0 {
		return refuse(registerOp, ErrInvalidParameter, InvalidArg3, "the size of a page is %d, the kernel has no huge pages", pageSize)
	}
	slices.Sort(sizes)
	return refuse(registerOp, ErrInvalidParameter, InvalidArg3, "the size of a page is %d, the kernel has huge pages of %v bytes", pageSize, sizes)
}

// pins holds the pins of all registered memory. The adapter reaches that until it is deregistered,
// even when the program has dropped the region, and the runtime ends a program that drops a pin.
var pins sync.Map

func (lmr *LMR) release() {
	if lmr.pin != nil {
		lmr.pin.Unpin()
		pins.Delete(lmr.pin)
	}
	switch {
	case lmr.mapping == nil:
	case lmr.pz == nil: // it was never registered
		giveBack(lmr.mapping)
	default:
		lmr.pz.ia.retire(lmr)
	}
}

var giveBack = unmapMemory // counted in tests

// retired has freed regions that a request may still be about to read.
type retired struct {
	mu      sync.Mutex
	regions []*LMR
	bytes   int
}

// keptPerObject is how many bytes of freed regions an adapter keeps at most for each of its
// objects, so that a free does not take longer for each endpoint that there is.
const keptPerObject = 256

// retire gives the memory of a freed region back, now or with that of later ones.
func (ia *IA) retire(lmr *LMR) {
	ia.mu.Lock()
	most := keptPerObject * len(ia.objects)
	ia.mu.Unlock()
	r := &ia.retired
	r.mu.Lock()
	r.regions, r.bytes = append(r.regions, lmr), r.bytes+len(lmr.mapping)
	enough := r.bytes > most
	r.mu.Unlock()
	if enough {
		ia.giveBackRetired()
	}
}

// giveBackRetired returns the memory of all freed regions to the system. It first waits for the
// requests that are in the library: they may name a region that was freed since, and the library
// copies the bytes of short ones.
func (ia *IA) giveBackRetired() {
	r := &ia.retired
	r.mu.Lock()
	regions := r.regions
	r.regions, r.bytes = nil, 0
	r.mu.Unlock()
	for _, ep := range ia.endpoints() {
		ep.awaitPosts()
	}
	for _, lmr := range regions {
		if lmr.pagesTaken.Load() {
			runtime.AddCleanup(lmr, giveBack, lmr.mapping)
		} else {
			giveBack(lmr.mapping)
		}
	}
}

func init() { pages.Of = func(lmr any) []byte { return lmr.(*LMR).pages() } }

// pages is pages.Of.
func (lmr *LMR) pages() []byte {
	if objectOf(lmr).enter("LMR.Bytes", InvalidHandleLMR) != nil {
		return nil
	}
	defer lmr.obj.Leave()
	lmr.pagesTaken.Store(true)
	return lmr.mapping
}
