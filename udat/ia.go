package udat

import (
	"cmp"
	"fmt"
	"net/netip"
	"runtime"
	"sync"
	"sync/atomic"
	"weak"

	"github.com/goudat/goudat/cgo"
	"github.com/goudat/goudat/udat/device"
	"github.com/goudat/goudat/udat/internal/datconf"
	"github.com/goudat/goudat/udat/internal/life"
	"github.com/goudat/goudat/udat/internal/logging"
	"github.com/goudat/goudat/udat/internal/machine"
	"github.com/goudat/goudat/udat/internal/notify"
	"github.com/goudat/goudat/udat/internal/opening"
)

// IA is an open interface adapter: a device under a provider. Everything else is made
// on one.
type IA struct {
	obj      object
	name     string
	handle   cgo.IAHandle
	provider *provider // nil for an entry of dat.conf
	async    *EVD
	notifier *notify.Notifier

	attr         IAAttr
	providerAttr ProviderAttr
	iwarp        bool
	overTCP      bool // the provider connects over TCP

	epDefaults atomic.Pointer[cgo.EPAttr] // nil until the library was asked
	counters   atomic.Pointer[counters]   // nil until EnableStats is called

	mu      sync.Mutex
	objects map[cgo.Handle]anyObject // those that events name: EVDs, EPs, SRQs, RMRs and service points

	retired retired

	closing sync.Mutex // held by Close, so that a second one comes after it
}

func (ia *IA) object() *object {
	if ia == nil {
		return nil
	}
	return &ia.obj
}

// Open opens the adapter that name means, which is the first of these that fits:
//
//   - an entry of the registry, see Providers. It hides a device of that name.
//   - "cma:eth0", the CMA provider (libdaplofa) on a network interface, or on
//     that with an address of IPv4 or IPv6.
//   - "scm:mlx5_0/1", the socket CM provider (libdaploscm) on a device and a
//     port; without "/1", on the first active port.
//   - "mlx5_0", a device, see device.List: the CMA provider, which connects over
//     the device itself, if an interface of the device has an address, and
//     else the socket CM provider, which connects over any other network. See
//     SetLogHandler for a record of the choice.
//   - "eth0", a network interface: "cma:eth0".
//
// All but the first need no entry in dat.conf. ProviderAttr has the name in
// full. A peer has to use the same provider.
//
// It fails with ErrProviderNotFound for want of the entry or the library, or, with
// device.ProblemWrongLibrary, if libdat2 or the provider is not that of scripts/native,
// see NativeLibrary; with ErrModelNotSupported for the socket CM provider on iWARP;
// with ErrInvalidState if the adapter is open already, and its device was removed
// since; with ErrInvalidAddress if it is open already, and no interface has the
// address any more that it had at first; with ErrPrivilegesViolation for the CMA
// provider in a process that has changed its credentials since it opened the first
// adapter; and with the provider's error. The error's Detail says what a user can
// do, and it matches a Problem.
//
//	Implements: DAT_RETURN dat_ia_open(IN const DAT_NAME_PTR ia_name,
//	    IN DAT_COUNT async_evd_min_qlen, INOUT DAT_EVD_HANDLE *async_evd_handle,
//	    OUT DAT_IA_HANDLE *ia_handle)
func Open(name string) (*IA, error) {
	const op = "dat_ia_open"
	if err := needRevision(op); err != nil {
		return nil, err
	}
	complainOnce.Do(complainOfVariables)
	if err := checkName(op, name); err != nil {
		return nil, err
	}
	ia := &IA{name: name, objects: make(map[cgo.Handle]anyObject)}
	asyncHandle, err := ia.openNative(op)
	if err != nil {
		return nil, err
	}
	if err := ia.complete(op, asyncHandle); err != nil {
		ia.closeNative(cgo.CloseAbrupt)
		return nil, err
	}
	ia.obj.Ledger = life.OpenLedger(name)
	runtime.AddCleanup(ia, dropped, ia.obj.Ledger)
	ia.obj.born(adapterKind, cgo.Handle(ia.handle), InvalidStateIAInUse, func() error { return ia.Close(CloseAbrupt) })
	ia.async.obj.Ledger = ia.obj.Ledger
	ia.async.born("asynchronous event dispatcher", nil) // after the adapter, whose Close frees it
	return ia, nil
}

// openNative opens the native adapter by the adapter's name.
func (ia *IA) openNative(op string) (async cgo.EVDHandle, err error) {
	registry.Lock()
	defer registry.Unlock()
	p, err := providerOf(op, ia.name)
	if err != nil {
		return 0, err
	}
	entry, library := ia.name, ""
	if p != nil {
		// The socket CM provider would leave a device without the port open.
		if err := opening.MissingPort(p.libraryName, p.instanceData); err != nil {
			p.drop()
			return 0, withProblem(op, classError|Return(ErrInvalidParameter)|Return(InvalidArg1), err)
		}
		entry, library = p.name, p.libraryName
	} else if library, err = libraryOfEntry(op, ia.name); err != nil {
		return 0, err
	}
	handle, async, r := cgo.IAOpen(entry, asyncQLen)
	if p != nil {
		if r.OK() {
			p.openAdapters++
		}
		p.drop()
	}
	if !r.OK() {
		return 0, explainOpenFailure(op, ia.name, r, p)
	}
	ia.handle, ia.provider, ia.overTCP = handle, p, datconf.IsSCM(library)
	return async, nil
}

// closeNative closes what openNative has opened.
func (ia *IA) closeNative(flags cgo.CloseFlags) cgo.Return {
	registry.Lock()
	defer registry.Unlock()
	r := cgo.IAClose(ia.handle, flags)
	if ia.provider == nil {
		return r
	}
	// The adapter is closed by then: the library looks for the entry of dat.conf
	// to unload the provider, and there is none.
	if r.Type() == cgo.ProviderNotFound {
		r = cgo.Success.Return()
	}
	if r.OK() {
		ia.provider.openAdapters--
		ia.provider.drop()
	}
	return r
}

// complete reads the attributes, and makes what brings notifications.
func (ia *IA) complete(op string, asyncHandle cgo.EVDHandle) error {
	var err error
	if ia.attr, ia.providerAttr, err = ia.query(); err != nil {
		return err
	}
	switch machine.TransportOf(ia.attr.AdapterName) {
	case cgo.IBVTransportIWARP:
		ia.iwarp = true
	case cgo.IBVTransportUnknown:
		if err := fileLimit(op, machine.FilesOfList); err != nil {
			return err
		}
	}
	if err := ia.checkOpened(op); err != nil {
		return err
	}
	forgettable := weak.Make(ia) // the notifier is no reason to keep it
	notifier, r, err := notify.NewNotifier(ia.handle, func(handle cgo.EVDHandle) *notify.Queue {
		if ia := forgettable.Value(); ia != nil {
			if evd := ia.evdWithHandle(handle); evd != nil {
				return &evd.queue
			}
		}
		return nil
	})
	if err != nil || !r.OK() {
		return cannotNotify(op, r, err)
	}
	ia.notifier = notifier
	ia.async = newEVD(ia, asyncHandle, 0, EVDAsync)
	if err = check(op, cgo.EVDModifyCNO(asyncHandle, notifier.CNO())); err != nil {
		notifier.Close()
	}
	return err
}

// Name returns the name that the adapter was opened by.
func (ia *IA) Name() string {
	if ia == nil {
		return ""
	}
	return ia.name
}

// String returns the name that the adapter was opened by and that of its provider, if it is another.
func (ia *IA) String() string {
	switch name := ia.Name(); {
	case ia == nil || name == ia.providerAttr.ProviderName:
		return name
	default:
		return name + " (" + ia.providerAttr.ProviderName + ")"
	}
}

// AsyncEVD returns the EVD on which the adapter reports asynchronous errors. It
// cannot be freed. A program can ignore it: all but the first 4096 are dropped.
//
// EventAsyncErrorIACatastrophic says that the device was removed: close the
// adapter. The other errors concern one object, and the end of a connection is
// reported to the endpoint, too. A port that goes down or comes back is no
// error: connections go on when it is back, or end as broken.
func (ia *IA) AsyncEVD() *EVD {
	if ia == nil {
		return nil
	}
	return ia.async
}

// IAAttr holds the attributes of an adapter: what it is, and the most that it
// has of each thing.
type IAAttr struct {
	AdapterName                   string // the device's, see device.List
	VendorName                    string
	HardwareVersionMajor          uint32
	HardwareVersionMinor          uint32
	Address                       netip.Addr // the address that peers connect to
	MaxEPs                        int
	MaxDTOPerEP                   int // some devices, such as mlx5, have room for fewer requests than they report
	MaxRDMAReadPerEPIn            int
	MaxRDMAReadPerEPOut           int
	MaxEVDs                       int
	MaxEVDQLen                    int
	MaxIOVSegmentsPerDTO          int
	MaxLMRs                       int
	MaxLMRBlockSize               uint32 // bytes; 4 GiB - 1 stands for more; soft-RoCE of Linux 7.3 takes 1 GiB
	MaxLMRVirtualAddress          uint64
	MaxPZs                        int
	MaxMessageSize                uint32 // bytes
	MaxRDMASize                   uint32 // bytes
	MaxRMRs                       int
	MaxRMRTargetAddress           uint64
	MaxSRQs                       int // 0: the device has no shared receive queues
	MaxEPPerSRQ                   int
	MaxRecvPerSRQ                 int
	MaxIOVSegmentsPerRead         int
	MaxIOVSegmentsPerWrite        int
	MaxRDMAReadIn                 int  // of the adapter
	MaxRDMAReadOut                int  // of the adapter
	MaxRDMAReadPerEPInGuaranteed  bool // MaxRDMAReadPerEPIn does not depend on other endpoints
	MaxRDMAReadPerEPOutGuaranteed bool // the same of MaxRDMAReadPerEPOut
	ExtensionSupported            bool // the InfiniBand extension; a device may lack some of its operations: see ProviderAttr.Supports
	TransportAttr                 map[string]string
	VendorAttr                    map[string]string
}

// ProviderAttr holds the attributes of the provider of an adapter.
type ProviderAttr struct {
	ProviderName             string // the adapter's name in the registry
	ProviderVersionMajor     uint32
	ProviderVersionMinor     uint32
	DaplVersionMajor         uint32
	DaplVersionMinor         uint32
	CompletionFlagsSupported CompletionFlags
	IsThreadSafe             bool // of the provider; this package is, whatever it says
	MaxPrivateDataSize       int  // bytes that Connect, Accept and Reject can carry
	OptimalBufferAlignment   int  // bytes
	SRQSupported             bool // the device has shared receive queues
	// ProviderSpecificAttr has attributes by name: the GUID of the device, the GID that connections use, the MTU and the state of its
	// port when the adapter was opened, and which of the extension's operations work.
	ProviderSpecificAttr map[string]string
}

func newIAAttr(a *cgo.IAAttr) IAAttr {
	return IAAttr{
		AdapterName:                   cString(a.AdapterName[:]),
		VendorName:                    cString(a.VendorName[:]),
		HardwareVersionMajor:          a.HardwareVersionMajor,
		HardwareVersionMinor:          a.HardwareVersionMinor,
		Address:                       cgo.SockAddrAt(a.IAAddressPtr).Addr(),
		MaxEPs:                        int(a.MaxEPs),
		MaxDTOPerEP:                   int(a.MaxDTOPerEP),
		MaxRDMAReadPerEPIn:            int(a.MaxRDMAReadPerEPIn),
		MaxRDMAReadPerEPOut:           int(a.MaxRDMAReadPerEPOut),
		MaxEVDs:                       int(a.MaxEVDs),
		MaxEVDQLen:                    int(a.MaxEVDQLen),
		MaxIOVSegmentsPerDTO:          int(a.MaxIOVSegmentsPerDTO),
		MaxLMRs:                       int(a.MaxLMRs),
		MaxLMRBlockSize:               a.MaxLMRBlockSize,
		MaxLMRVirtualAddress:          a.MaxLMRVirtualAddress,
		MaxPZs:                        int(a.MaxPZs),
		MaxMessageSize:                a.MaxMessageSize,
		MaxRDMASize:                   a.MaxRDMASize,
		MaxRMRs:                       int(a.MaxRMRs),
		MaxRMRTargetAddress:           a.MaxRMRTargetAddress,
		MaxSRQs:                       int(a.MaxSRQs),
		MaxEPPerSRQ:                   int(a.MaxEPPerSRQ),
		MaxRecvPerSRQ:                 int(a.MaxRecvPerSRQ),
		MaxIOVSegmentsPerRead:         int(a.MaxIOVSegmentsPerRDMARead),
		MaxIOVSegmentsPerWrite:        int(a.MaxIOVSegmentsPerRDMAWrite),
		MaxRDMAReadIn:                 int(a.MaxRDMAReadIn),
		MaxRDMAReadOut:                int(a.MaxRDMAReadOut),
		MaxRDMAReadPerEPInGuaranteed:  a.MaxRDMAReadPerEPInGuaranteed != 0,
		MaxRDMAReadPerEPOutGuaranteed: a.MaxRDMAReadPerEPOutGuaranteed != 0,
		ExtensionSupported:            a.ExtensionSupported == cgo.ExtensionIB,
		TransportAttr:                 cgo.NamedAttrs(a.TransportAttr, a.NumTransportAttr),
		VendorAttr:                    cgo.NamedAttrs(a.VendorAttr, a.NumVendorAttr),
	}
}

// newProviderAttr leaves out the fields that no provider fills.
func newProviderAttr(a *cgo.ProviderAttr) ProviderAttr {
	return ProviderAttr{
		ProviderName:             cString(a.ProviderName[:]),
		ProviderVersionMajor:     a.ProviderVersionMajor,
		ProviderVersionMinor:     a.ProviderVersionMinor,
		DaplVersionMajor:         a.DaplVersionMajor,
		DaplVersionMinor:         a.DaplVersionMinor,
		CompletionFlagsSupported: CompletionFlags(a.CompletionFlagsSupported),
		IsThreadSafe:             a.IsThreadSafe != 0,
		MaxPrivateDataSize:       int(a.MaxPrivateDataSize),
		OptimalBufferAlignment:   int(a.OptimalBufferAlignment),
		SRQSupported:             a.SRQSupported != 0,
		ProviderSpecificAttr:     cgo.NamedAttrs(a.ProviderSpecificAttr, a.NumProviderSpecificAttr),
	}
}

// Query returns the attributes of the adapter and of its provider. It fails with
// ErrInternalError if the device has gone.
//
//	Implements: DAT_RETURN dat_ia_query(IN DAT_IA_HANDLE ia_handle,
//	    OUT DAT_EVD_HANDLE *async_evd_handle, IN DAT_IA_ATTR_MASK ia_attr_mask,
//	    OUT DAT_IA_ATTR *ia_attr, IN DAT_PROVIDER_ATTR_MASK provider_attr_mask,
//	    OUT DAT_PROVIDER_ATTR *provider_attr)
func (ia *IA) Query() (IAAttr, ProviderAttr, error) {
	if err := ia.object().enter(queryIAOp, InvalidHandleIA); err != nil {
		return IAAttr{}, ProviderAttr{}, err
	}
	defer ia.obj.Leave()
	return ia.query()
}

const queryIAOp = "dat_ia_query"

// query is Query without the gate.
func (ia *IA) query() (IAAttr, ProviderAttr, error) {
	var attr cgo.IAAttr
	var providerAttr cgo.ProviderAttr
	_, r := cgo.IAQuery(ia.handle, cgo.IAFieldAll, &attr, cgo.ProviderFieldAll, &providerAttr)
	if err := check(queryIAOp, r); err != nil {
		return IAAttr{}, ProviderAttr{}, err
	}
	return newIAAttr(&attr), newProviderAttr(&providerAttr), nil
}

// Close closes the adapter. While objects are alive on it, CloseGraceful fails with
// ErrInvalidState, names them, and changes nothing. CloseAbrupt frees them first, in
// the right order; once it has begun, calls that create objects fail with ErrClosed. A
// second Close waits for the first and returns ErrClosed.
//
// If the library fails to close the adapter, Close returns its error, and the native
// adapter stays open until the process ends.
//
//	Implements: DAT_RETURN dat_ia_close(IN DAT_IA_HANDLE ia_handle, IN DAT_CLOSE_FLAGS ia_flags)
func (ia *IA) Close(flags CloseFlags) error {
	const op = "dat_ia_close"
	switch {
	case flags != CloseAbrupt && flags != CloseGraceful:
		return refuse(op, ErrInvalidParameter, InvalidArg2, "the flags are %v, they must be CloseAbrupt or CloseGraceful", flags)
	case ia == nil:
		return ia.object().enter(op, InvalidHandleIA)
	}
	ia.closing.Lock()
	defer ia.closing.Unlock()
	var empty func()
	if flags == CloseAbrupt {
		empty = func() {
			logging.Quiet(func() {
				_ = ia.async.ModifyCNO(nil)
				ia.abortAttempts()
				ia.freeChildren()
			})
		}
	}
	var failure error
	err := ia.obj.Close(empty, func() error {
		failure = ia.release(op)
		return nil
	})
	return cmp.Or(ia.obj.notSealed(op, InvalidHandleIA, err), failure)
}

// release closes the native adapter, on which the program has nothing left.
func (ia *IA) release(op string) error {
	ia.giveBackRetired()
	err := ia.async.object().seal(op, InvalidHandleEVDAsync, func() error {
		return ia.async.release(op, func(handle cgo.EVDHandle) cgo.Return { return cgo.EVDModifyCNO(handle, 0) })
	})
	if err == nil {
		err = check(op, ia.notifier.Close())
	}
	if err == nil {
		err = check(op, ia.closeNative(cgo.CloseGraceful))
	}
	return err
}

// abortAttempts aborts all connections that are being made, so that the waiting
// for the library, which freeing the endpoints takes, is over for all at once.
func (ia *IA) abortAttempts() {
	for _, ep := range ia.endpoints() {
		if status, err := ep.GetStatus(); err == nil && inAttempt(status.State) {
			_ = ep.Disconnect(CloseAbrupt)
		}
	}
}

func (ia *IA) endpoints() (endpoints []*EP) {
	ia.mu.Lock()
	defer ia.mu.Unlock()
	for _, o := range ia.objects {
		if ep, isEP := o.(*EP); isEP {
			endpoints = append(endpoints, ep)
		}
	}
	return endpoints
}

// countObjects returns how many objects events may name.
func (ia *IA) countObjects() int {
	ia.mu.Lock()
	defer ia.mu.Unlock()
	return len(ia.objects)
}

// addObject makes events that name the object's handle find it.
func (ia *IA) addObject(o anyObject) {
	ia.mu.Lock()
	defer ia.mu.Unlock()
	ia.objects[o.object().handle] = o
}

// removeObject forgets a freed object. The library may have given its handle to a new one already.
func (ia *IA) removeObject(o anyObject) {
	ia.mu.Lock()
	defer ia.mu.Unlock()
	if handle := o.object().handle; ia.objects[handle] == o {
		delete(ia.objects, handle)
	}
}

// objectWithHandle returns nil if there is none.
func (ia *IA) objectWithHandle(handle cgo.Handle) anyObject {
	ia.mu.Lock()
	defer ia.mu.Unlock()
	return ia.objects[handle]
}

func (ia *IA) serviceWithHandle(handle cgo.Handle) *service {
	switch o := ia.objectWithHandle(handle).(type) {
	case *PSP:
		return &o.service
	case *RSP:
		return &o.service
	}
	return nil
}

func (ia *IA) evdWithHandle(handle cgo.EVDHandle) *EVD {
	evd, _ := ia.objectWithHandle(cgo.Handle(handle)).(*EVD)
	return evd
}

// freeChildren frees what is alive on the adapter, endpoints after the requests of others,
// which are answered with that. What is in use still is freed in the next round. A service
// point need not wait for its requests, of which others may take more.
// The errors do not matter: another goroutine may have freed a child meanwhile, and a
// child that cannot be freed makes the close fail.
func (ia *IA) freeChildren() {
	for children := ia.obj.Users(); len(children) > 0; children = ia.obj.Users() {
		freed := false
		for _, endpoints := range []bool{false, true} {
			for _, o := range children {
				if (o.Kind == endpointKind) == endpoints {
					_ = o.Free() // a request is answered even if that fails
					freed = freed || o.State() == life.Freed
				}
			}
		}
		if !freed {
			return
		}
	}
}

// addressGone is the error of a call that fails because the address of the adapter has gone.
// The library reads the address when it opens the device, and keeps both for all adapters of
// a name.
func (ia *IA) addressGone(op string) error {
	address := ia.attr.Address
	with, err := machine.InterfacesWith(address)
	if err != nil || !address.IsValid() {
		return nil
	}
	for _, i := range with {
		if err = machine.AddressProblem(&i, address.WithZone("")); err == nil {
			return nil
		}
	}
	if err != nil {
		return withProblem(op, classError|Return(ErrInvalidAddress), err)
	}
	return withProblem(op, classError|Return(ErrInvalidAddress), fmt.Errorf("%w: the adapter uses %v, its address when it was first opened, and no network interface has that any more: set the interface up, or add it again (ip link set, ip address add), "+
		"or close all adapters of this program whose provider is %q, and open again", device.ProblemAddressGone, address, ia.providerAttr.ProviderName))
}

// checkOpened refuses an adapter that opens and can neither listen nor connect: over iWARP with the
// socket CM provider, which connects queue pairs in a way that only InfiniBand and RoCE have, or
// since the library has opened its device before.
func (ia *IA) checkOpened(op string) error {
	if ia.iwarp && ia.overTCP {
		return withProblem(op, classError|Return(ErrModelNotSupported), fmt.Errorf("%w: the socket CM provider cannot connect over iWARP, which the device %s speaks: open %[2]q, which is the CMA provider on it",
			device.ProblemWrongProvider, ia.attr.AdapterName))
	}
	if err := ia.addressGone(op); err != nil || ia.overTCP {
		return err
	}
	if err := machine.Credentials(machine.ConnectionManagerNode); err != nil {
		return withProblem(op, classError|Return(ErrPrivilegesViolation), err)
	}
	return nil
}

// Supports reports whether the adapter's device has an operation. It may lack those
// of the InfiniBand extension, DTOIBRDMAWriteImmed, DTOIBFetchAdd and DTOIBCmpSwap,
// and does on iWARP. Posting one that it lacks fails with ErrNotImplemented.
func (a ProviderAttr) Supports(op DTO) bool {
	attribute := map[DTO]string{DTOIBRDMAWriteImmed: "DAT_IB_IMMED_DATA", DTOIBFetchAdd: "DAT_IB_FETCH_AND_ADD", DTOIBCmpSwap: "DAT_IB_CMP_AND_SWAP"}[op]
	return a.ProviderSpecificAttr[attribute] != "FALSE"
}

// checkPrivateData refuses what the library would write beyond its buffers for.
func (ia *IA) checkPrivateData(op string, privateData []byte, arg ReturnSubtype) error {
	if most := ia.providerAttr.MaxPrivateDataSize; len(privateData) > most {
		return refuse(op, ErrInvalidParameter, arg, "the private data has %d bytes, this provider carries at most %d: send the rest as a message", len(privateData), most)
	}
	return nil
}
