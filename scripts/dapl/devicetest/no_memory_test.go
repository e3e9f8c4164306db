package devicetest

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/goudat/goudat/cgo"
	"github.com/goudat/goudat/udat/udattest"
)

// countdown counts what the native library asks for, and says when it does not get it. A file has the number of it, which
// counts down.
const countdown = `
static long *left;

__attribute__((constructor)) static void find(void)
{
	int fd = open(told_file(), O_RDWR | O_CLOEXEC);

	if (fd >= 0) {
		void *p = mmap(NULL, sizeof(*left), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

		if (p != MAP_FAILED)
			left = p;
		close(fd);
	}
}

static int fails(void *caller)
{
	Dl_info info;

	if (left == NULL || __atomic_load_n(left, __ATOMIC_SEQ_CST) <= 0 || !dladdr(caller, &info) ||
	    (strstr(info.dli_fname, "/libdapl") == NULL && strstr(info.dli_fname, "/libdat2") == NULL) ||
	    __atomic_sub_fetch(left, 1, __ATOMIC_SEQ_CST) != 0)
		return 0;
	errno = ENOMEM;
	return 1;
}
`

// failingAllocation lets one allocation of the library fail.
const failingAllocation = countdown + `
#define FAILING(call, parameters, arguments)                                                  \
	void *__libc_##call parameters;                                                       \
	void *call parameters                                                                 \
	{                                                                                     \
		return fails(__builtin_return_address(0)) ? NULL : __libc_##call arguments;   \
	}

FAILING(malloc, (size_t size), (size))
FAILING(calloc, (size_t n, size_t size), (n, size))
FAILING(realloc, (void *p, size_t size), (p, size))

char *strdup(const char *s)
{
	char *copy = fails(__builtin_return_address(0)) ? NULL : __libc_malloc(strlen(s) + 1);

	return copy ? strcpy(copy, s) : NULL;
}
`

// failingThread lets one thread of the library not begin.
const failingThread = countdown + `
int pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *), void *data)
{
	return fails(__builtin_return_address(0)) ? EAGAIN : NEXT(pthread_create)(thread, attr, run, data);
}
`

// mapCountdown maps the file with the countdown, which is 0 once something has failed.
func mapCountdown(t *testing.T) *atomic.Int64 {
	t.Helper()
	f, err := os.OpenFile(os.Getenv(fileVariable), os.O_RDWR, 0)
	do(t, err)
	defer f.Close()
	page, err := syscall.Mmap(int(f.Fd()), 0, memorySize, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	do(t, err)
	return (*atomic.Int64)(unsafe.Pointer(&page[0]))
}

// refused is the call that has failed in a life.
type refused string

// life opens an adapter, connects two endpoints and closes it. It returns the call that has failed, or "". Whatever was
// made before can be freed.
func life(t *testing.T, name string) (failed refused) {
	t.Helper()
	ia, _, r := cgo.IAOpen(name, 8)
	if !r.OK() {
		if r.Type() != cgo.InsufficientResources && r.Type() != cgo.ProviderNotFound {
			t.Errorf("IAOpen returned %v", r)
		}
		return "IAOpen"
	}
	undo := []func() cgo.Return{func() cgo.Return { return cgo.IAClose(ia, cgo.CloseGraceful) }}
	defer func() {
		switch end := recover().(type) {
		case nil:
		case refused:
			failed = end
		default:
			panic(end)
		}
		for _, free := range slices.Backward(undo) {
			success(t, "freeing what was made", free())
		}
	}()
	// did ends the life if a call has failed. What it has made is freed at the end.
	did := func(call refused, r cgo.Return, free func() cgo.Return) {
		if !r.OK() {
			panic(call)
		}
		if free != nil {
			undo = append(undo, free)
		}
	}

	var attr cgo.IAAttr
	_, r = cgo.IAQuery(ia, cgo.IAFieldAll, &attr, cgo.ProviderFieldNone, nil)
	did("IAQuery", r, nil)
	address := cgo.SockAddrAt(attr.IAAddressPtr)
	pz, r := cgo.PZCreate(ia)
	did("PZCreate", r, func() cgo.Return { return cgo.PZFree(pz) })
	another, _, r := cgo.IAOpen(name, 8)
	did("IAOpen of an open device", r, func() cgo.Return { return cgo.IAClose(another, cgo.CloseGraceful) })
	cno, r := cgo.CNOCreate(ia, 0, 0)
	did("CNOCreate", r, func() cgo.Return { return cgo.CNOFree(cno) })
	queues := make([]queue, 0, 6)
	for _, flags := range []cgo.EVDFlags{cgo.EVDCR, cgo.EVDConnection, cgo.EVDConnection, cgo.EVDDTO, cgo.EVDDTO, cgo.EVDSoftware} {
		evd, r := cgo.EVDCreate(ia, 16, cno, flags)
		did("EVDCreate", r, func() cgo.Return { return cgo.EVDFree(evd) })
		queues = append(queues, queue{evd, cno})
	}
	requests, connects, completions := queues[0], queues[1:3], queues[3:5]
	page, start := newPage(t)
	lmr, lmrContext, _, _, r := cgo.LMRCreateVirtual(ia, start, uint64(len(page)), pz, memoryPrivileges, cgo.VATypeVA)
	did("LMRCreate", r, func() cgo.Return { return cgo.LMRFree(lmr) })
	psp, qual, r := cgo.PSPCreateAny(ia, requests.EVDHandle, cgo.PSPConsumer)
	did("PSPCreateAny", r, func() cgo.Return { return cgo.PSPFree(psp) })
	srq, r := cgo.SRQCreate(ia, pz, &cgo.SRQAttr{MaxRecvDTOs: 4, MaxRecvIOV: 1})
	did("SRQCreate", r, func() cgo.Return { return cgo.SRQFree(srq) })
	shared, r := cgo.EPCreateWithSRQ(ia, pz, completions[0].EVDHandle, completions[0].EVDHandle, connects[0].EVDHandle, srq, endpointAttr())
	did("EPCreateWithSRQ", r, func() cgo.Return { return cgo.EPFree(shared) })
	bare, r := cgo.EPCreate(ia, pz, 0, 0, 0, bareAttr())
	did("EPCreate without EVDs", r, func() cgo.Return { return cgo.EPFree(bare) })
	var ends [2]cgo.EPHandle
	for i := range ends {
		ends[i], r = cgo.EPCreate(ia, pz, completions[i].EVDHandle, completions[i].EVDHandle, connects[i].EVDHandle, endpointAttr())
		did("EPCreate", r, func() cgo.Return { return cgo.EPFree(ends[i]) })
		segments := []cgo.LMRTriplet{{VirtualAddress: uint64(start), SegmentLength: 64, LMRContext: lmrContext}}
		did("EPPostRecv", cgo.EPPostRecv(ends[i], segments, 1, cgo.CompletionDefault), nil)
		longer := cgo.EPParam{EPAttr: *endpointAttr()}
		longer.EPAttr.MaxRecvDTOs++
		did("EPModify", cgo.EPModify(ends[i], cgo.EPFieldMaxRecvDTOs, &longer), nil)
	}

	timeout := uint32(udattest.Patience / 2 / time.Microsecond)
	did("EPConnect", cgo.EPConnect(ends[0], &address, qual, timeout, nil, cgo.QOSBestEffort, cgo.ConnectDefault), nil)
	var event cgo.Event
	asked := false
	eventually(t, "a request comes, or the end of the attempt", func() bool {
		asked = cgo.EVDDequeue(requests.EVDHandle, &event).OK()
		return asked || cgo.EVDDequeue(connects[0].EVDHandle, &event).OK()
	})
	if asked {
		cr := event.CRArrival().CRHandle
		if !cgo.CRAccept(cr, ends[1], nil).OK() {
			cgo.CRReject(cr, nil) // unless the failed accept has ended the request
			failed = "CRAccept"
		}
		event = connects[0].next(t)
	}
	if event.Number != cgo.EventConnectionEstablished {
		return "the connection"
	}
	if failed != "" || connects[1].next(t).Number != cgo.EventConnectionEstablished {
		t.Errorf("the connection of an endpoint is established, that of its peer not")
		return "the peer's connection"
	}
	did("EPDisconnect", cgo.EPDisconnect(ends[0], cgo.CloseAbrupt), nil)
	for _, q := range connects {
		q.expect(t, cgo.EventConnectionDisconnected)
	}
	return ""
}

// inChildWithFile is inChild with a file that is there from the beginning, and that the caller looks at in the end.
func inChildWithFile(t *testing.T, source string, content []byte, look func(t *testing.T, content []byte)) bool {
	t.Helper()
	if os.Getenv(childVariable) != "" {
		return true
	}
	library, test := buildPreload(t, source), "^"+t.Name()+"$"
	for _, name := range udattest.Names(t) {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "content")
			do(t, os.WriteFile(file, content, 0o600))
			runWith(t, library, test, fileVariable+"="+file, "UDAT_TEST_IA="+name)
			content, err := os.ReadFile(file)
			do(t, err)
			look(t, content)
		})
	}
	return false
}

func openFiles(t *testing.T) int {
	t.Helper()
	files, err := os.ReadDir("/proc/self/fd")
	do(t, err)
	return len(files)
}

// Whichever allocation of the library fails, a call says so, or nothing is missing.
func TestNoMemory(t *testing.T) { failEach(t, failingAllocation, 40) }

// The same if a thread does not begin.
func TestNoThread(t *testing.T) { failEach(t, failingThread, 2) }

// noThread refuses threads of the library while the file exists. Those of Go have attributes.
const noThread = `
int pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *), void *data)
{
	return attr == NULL && told() ? EAGAIN : NEXT(pthread_create)(thread, attr, run, data);
}
`

// A provider that stays loaded opens an adapter when it gets the thread that it did not get before.
func TestOpenAfterNoThread(t *testing.T) {
	if !inChild(t, noThread) {
		return
	}
	watch(t)
	for _, name := range udattest.Names(t) {
		library, _ := configEntry(t, name)
		load(t, library)
		tell(t, "")
		_, _, r := cgo.IAOpen(name, 8)
		outcome(t, "IAOpen without a thread", r, cgo.InsufficientResources, cgo.NoSubtype)
		untell(t)
		openAdapter(t, name)
	}
}

// failEach lets each that the library asks for fail once. What was made can be freed, and the next life of an adapter is
// complete. The library asks for at least so many.
func failEach(t *testing.T, shim string, least int64) {
	if !inChildWithFile(t, shim, make([]byte, memorySize), func(*testing.T, []byte) {}) {
		return
	}
	// It keeps two files whenever it is unloaded with the provider that uses it.
	load(t, "librdmacm.so.1")
	left := mapCountdown(t)
	for _, name := range udattest.Names(t) {
		lifeWatched := func() refused {
			watchdog := time.AfterFunc(2*udattest.Patience, func() { panic("a call does not return") })
			defer watchdog.Stop()
			return life(t, name)
		}
		if failed := lifeWatched(); failed != "" {
			t.Fatalf("%s fails", failed)
		}
		files := openFiles(t)
		n := int64(1)
		for ; ; n++ {
			left.Store(n)
			failed := lifeWatched()
			if left.Swap(0) != 0 {
				if failed != "" {
					t.Errorf("%s has failed, and nothing else", failed)
				}
				break
			}
			if failed != "" {
				t.Logf("without number %d, %s fails", n, failed)
			}
			if failed := lifeWatched(); failed != "" {
				t.Fatalf("after number %d has failed, %s fails", n, failed)
			}
		}
		if more := openFiles(t) - files; more > 0 {
			t.Errorf("%d files stay open", more)
		}
		if n <= least {
			t.Errorf("the library asked %d times, want %d at least", n-1, least)
		}
	}
}

// busyKernel makes the kernel refuse to destroy each queue for a while, as it does
// while another thread has a command for the queue under way.
const busyKernel = `
static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

#define DESTROY(name, type)                                                   \
	int name(struct type *queue)                                          \
	{                                                                     \
		static __thread void *last; /* librdmacm tries some only once */ \
		static __thread double since;                                 \
                                                                              \
		if (queue != last)                                            \
			since = now();                                        \
		last = queue;                                                 \
		if (now() < since + 30 * THREAD_DELAY_US / 1e6)               \
			return errno = EBUSY;                                 \
		last = NULL;                                                  \
		return NEXT(name)(queue);                                     \
	}

DESTROY(ibv_destroy_qp, ibv_qp)
DESTROY(ibv_destroy_cq, ibv_cq)
`

// busyFor is long for a command, as if its thread did not run.
const busyFor = 30 * threadDelay

// The published library gives up if a queue cannot be destroyed at once: it loses a queue pair, and fails to free an
// EVD. Other endpoints continue meanwhile.
func TestBusyQueues(t *testing.T) {
	preloaded(t, busyKernel, func(t *testing.T, a *adapter) {
		other := a.newEndpoint(t)
		r := a.newRacer(t, 1)
		ep := r.newEndpoint(t)
		start, freed := time.Now(), make(chan time.Duration)
		go func() {
			if ret := cgo.EPFree(ep); !ret.OK() {
				t.Errorf("EPFree returned %v", ret)
			}
			freed <- time.Since(start)
		}()
		var longest time.Duration
		for {
			start := time.Now()
			success(t, "EPReset", cgo.EPReset(other.EPHandle)) // takes the lock of connections
			longest = max(longest, time.Since(start))
			select {
			case all := <-freed:
				if all < busyFor {
					t.Errorf("an endpoint with a busy queue pair was freed in %v", all)
				}
				if longest > busyFor*9/10 {
					t.Errorf("another call took %v", longest)
				}
				return
			case <-time.After(time.Millisecond):
			}
		}
	})
}

// busyOnce makes the kernel refuse once to free each zone and shared queue.
const busyOnce = `
#define REFUSE(name, type)                      \
	int name(struct type *object)           \
	{                                       \
		static void *refused;           \
                                                \
		if (object != refused) {        \
			refused = object;       \
			return errno = EBUSY;   \
		}                               \
		refused = NULL;                 \
		return NEXT(name)(object);      \
	}

REFUSE(ibv_dealloc_pd, ibv_pd)
REFUSE(ibv_destroy_srq, ibv_srq)
`

// What the kernel has refused to free can be freed later.
func TestFreeAfterRefusal(t *testing.T) {
	preloaded(t, busyOnce, func(t *testing.T, a *adapter) {
		pz := a.createPZ(t)
		srq := a.createSRQ(t, pz, 8)
		wantRefused(t, "SRQFree", cgo.SRQFree(srq))
		success(t, "SRQFree", cgo.SRQFree(srq))
		wantRefused(t, "PZFree", cgo.PZFree(pz))
		success(t, "PZFree", cgo.PZFree(pz))
	})
}

// watchedOpens appends to a file what the native stack opens in a way that a child may inherit. What becomes
// close-on-exec a moment later counts, too.
const watchedOpens = `
static void check(int closes, const char *call, void *caller)
{
	static const char *const names[] = { "/libdat2", "/libdapl", "/libibverbs", "/librdmacm", "-rdmav", "/libnl" };
	Dl_info info;
	size_t i;

	if (closes || !dladdr(caller, &info))
		return;
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strstr(info.dli_fname, names[i]) != NULL) {
			int fd = NEXT(open)(told_file(), O_WRONLY | O_APPEND | O_CLOEXEC);

			if (dprintf(fd, "%s in %s\n", call, info.dli_fname) < 0)
				abort();
			close(fd);
			return;
		}
}

#define CHECK(closes, call) check((closes) != 0, call, __builtin_return_address(0))

#define WATCH(call, parameters, arguments, closes) \
	int call parameters                        \
	{                                          \
		CHECK(closes, #call);              \
		return NEXT(call) arguments;       \
	}

WATCH(socket, (int domain, int type, int protocol), (domain, type, protocol), type & SOCK_CLOEXEC)
WATCH(accept, (int fd, struct sockaddr *address, socklen_t *length), (fd, address, length), 0)
WATCH(accept4, (int fd, struct sockaddr *address, socklen_t *length, int flags), (fd, address, length, flags), flags & SOCK_CLOEXEC)
WATCH(pipe, (int fds[2]), (fds), 0)
WATCH(pipe2, (int fds[2], int flags), (fds, flags), flags & O_CLOEXEC)
WATCH(dup, (int fd), (fd), 0)

FILE *fopen(const char *path, const char *mode)
{
	CHECK(strchr(mode, 'e') != NULL, path);
	return NEXT(fopen)(path, mode);
}

/* The mode is there if the flags say so; else it is of no use. */
#define MODE(flags) ({ \
	va_list rest; \
	va_start(rest, flags); \
	int mode = va_arg(rest, int); \
	va_end(rest); \
	mode; \
})

int open(const char *path, int flags, ...)
{
	CHECK(flags & O_CLOEXEC, path);
	return NEXT(open)(path, flags, MODE(flags));
}

int openat(int folder, const char *path, int flags, ...)
{
	CHECK(flags & O_CLOEXEC, path);
	return NEXT(openat)(folder, path, flags, MODE(flags));
}
`

var fileFlags = regexp.MustCompile(`(?m)^flags:\s*([0-7]+)$`)

// inherited lists the open files that a child inherits that runs another program.
func inherited(t *testing.T) map[string]bool {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fdinfo")
	do(t, err)
	files := map[string]bool{}
	for _, entry := range entries {
		text, err := os.ReadFile("/proc/self/fdinfo/" + entry.Name())
		if err != nil {
			continue // that of the folder
		}
		m := fileFlags.FindSubmatch(text)
		if m == nil {
			t.Fatalf("%s has no flags", text)
		}
		flags, err := strconv.ParseUint(string(m[1]), 8, 64)
		do(t, err)
		if flags&syscall.O_CLOEXEC == 0 {
			target, _ := os.Readlink("/proc/self/fd/" + entry.Name())
			files[fmt.Sprintf("%s (%s)", entry.Name(), target)] = true
		}
	}
	return files
}

// A child that runs another program inherits none of the native stack's files, whenever it starts.
func TestCloseOnExec(t *testing.T) {
	if !inChildWithFile(t, watchedOpens, nil, func(t *testing.T, opens []byte) {
		if len(opens) > 0 {
			t.Errorf("a child may inherit\n%s", opens)
		}
	}) {
		return
	}
	before := inherited(t)
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		l, active, passive := a.listen(t), a.newEndpoint(t), a.newEndpoint(t)
		a.newBare(t, active.pz, 0, 0, 0, bareAttr())
		a.connect(t, l, active, passive)
		a.newEVD(t, queueLength, 0, cgo.EVDDTO) // which has a channel of its own
		files, err := os.ReadDir("/proc/self/fd")
		do(t, err)
		for f := range inherited(t) {
			if !before[f] {
				t.Errorf("a child inherits %s of %d open files", f, len(files))
			}
		}
	})
}
