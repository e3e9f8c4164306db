package udat

import (
	"bytes"
	"net/netip"
	"slices"
	"strings"
	"sync"

	"github.com/goudat/goudat/cgo"
)

// IA is an open interface adapter: a device under a provider. Everything else
// is made on one. Its methods may be called from any goroutine.
type IA struct {
	obj      object
	name     string
	handle   cgo.IAHandle
	async    *EVD
	notifier *notifier

	attr         IAAttr
	providerAttr ProviderAttr

	endpoints endpointTable

	mu   sync.Mutex
	psps map[cgo.PSPHandle]*PSP
}

func (ia *IA) object() *object {
	if ia == nil {
		return nil
	}
	return &ia.obj
}

// asyncQLen is room enough for the errors that come before anybody looks: a
// full asynchronous EVD is dead for good.
const asyncQLen = 256

// Open opens the adapter that the registry knows as name: see Providers.
//
// It fails with ErrProviderNotFound when no such entry or no such library
// exists, and with the provider's error when the device cannot be used; the
// error's Detail says what to look at.
//
// Implements:
//
//	DAT_RETURN dat_ia_open(IN const DAT_NAME_PTR ia_name,
//	                       IN DAT_COUNT async_evd_min_qlen,
//	                       INOUT DAT_EVD_HANDLE *async_evd_handle,
//	                       OUT DAT_IA_HANDLE *ia_handle)
func Open(name string) (*IA, error) {
	const op = "dat_ia_open"
	if name == "" || len(name) >= cgo.NameMaxLength || strings.IndexByte(name, 0) >= 0 {
		return nil, refuse(op, ErrInvalidParameter, InvalidArg1, "the name %q must have 1 to %d bytes, none of them 0", name, cgo.NameMaxLength-1)
	}
	notifier, err := newNotifier()
	if err != nil {
		return nil, &Error{Op: op, Return: cgo.ClassError | Return(ErrInsufficientResources), Err: err}
	}
	registry.Lock()
	handle, asyncHandle, r := cgo.IAOpen(name, asyncQLen)
	registry.Unlock()
	if !r.OK() {
		notifier.close()
		return nil, &Error{Op: op, Return: r, Detail: explainOpenFailure(name, r)}
	}
	ia := &IA{name: name, handle: handle, notifier: notifier, psps: make(map[cgo.PSPHandle]*PSP)}
	if err := ia.complete(asyncHandle); err != nil {
		cgo.IAClose(handle, cgo.CloseAbrupt)
		notifier.close()
		return nil, err
	}
	ia.obj.born("interface adapter", InvalidStateIAInUse, func() error { return ia.Close(CloseAbrupt) })
	return ia, nil
}

// complete reads the attributes and gives the asynchronous EVD its notification.
func (ia *IA) complete(asyncHandle cgo.EVDHandle) error {
	const op = "dat_ia_query"
	var attr cgo.IAAttr
	var providerAttr cgo.ProviderAttr
	if _, r := cgo.IAQuery(ia.handle, cgo.IAFieldAll, &attr, cgo.ProviderFieldAll, &providerAttr); !r.OK() {
		return check(op, r)
	}
	ia.attr, ia.providerAttr = newIAAttr(&attr), newProviderAttr(&providerAttr)
	var err error
	ia.async, err = newAsyncEVD(ia, asyncHandle)
	return err
}

// Name gives the name that the adapter was opened by.
func (ia *IA) Name() string {
	if ia == nil {
		return ""
	}
	return ia.name
}

// AsyncEVD gives the EVD on which the adapter reports asynchronous errors. It
// lives as long as the adapter and cannot be freed.
func (ia *IA) AsyncEVD() *EVD {
	if ia == nil {
		return nil
	}
	return ia.async
}

// IAAttr holds the attributes of an adapter: what it is, and the most that it
// can give of each thing.
type IAAttr struct {
	AdapterName            string
	VendorName             string
	HardwareVersionMajor   uint32
	HardwareVersionMinor   uint32
	FirmwareVersionMajor   uint32
	FirmwareVersionMinor   uint32
	Address                netip.Addr // the address that peers connect to
	MaxEPs                 int
	MaxDTOPerEP            int
	MaxRDMAReadPerEPIn     int
	MaxRDMAReadPerEPOut    int
	MaxEVDs                int
	MaxEVDQLen             int
	MaxIOVSegmentsPerDTO   int
	MaxLMRs                int
	MaxLMRBlockSize        uint32
	MaxPZs                 int
	MaxMessageSize         uint32
	MaxRDMASize            uint32
	MaxIOVSegmentsPerRead  int
	MaxIOVSegmentsPerWrite int
}

// ProviderAttr holds the attributes of the provider of an adapter.
type ProviderAttr struct {
	ProviderName           string
	ProviderVersionMajor   uint32
	ProviderVersionMinor   uint32
	DaplVersionMajor       uint32
	DaplVersionMinor       uint32
	IsThreadSafe           bool
	MaxPrivateDataSize     int // bytes that Connect, Accept and Reject can carry
	OptimalBufferAlignment int
	SRQSupported           bool
}

func newIAAttr(a *cgo.IAAttr) IAAttr {
	return IAAttr{
		AdapterName:            cString(a.AdapterName[:]),
		VendorName:             cString(a.VendorName[:]),
		HardwareVersionMajor:   a.HardwareVersionMajor,
		HardwareVersionMinor:   a.HardwareVersionMinor,
		FirmwareVersionMajor:   a.FirmwareVersionMajor,
		FirmwareVersionMinor:   a.FirmwareVersionMinor,
		Address:                cgo.SockAddrAt(a.IAAddressPtr).Addr(),
		MaxEPs:                 int(a.MaxEPs),
		MaxDTOPerEP:            int(a.MaxDTOPerEP),
		MaxRDMAReadPerEPIn:     int(a.MaxRDMAReadPerEPIn),
		MaxRDMAReadPerEPOut:    int(a.MaxRDMAReadPerEPOut),
		MaxEVDs:                int(a.MaxEVDs),
		MaxEVDQLen:             int(a.MaxEVDQLen),
		MaxIOVSegmentsPerDTO:   int(a.MaxIOVSegmentsPerDTO),
		MaxLMRs:                int(a.MaxLMRs),
		MaxLMRBlockSize:        a.MaxLMRBlockSize,
		MaxPZs:                 int(a.MaxPZs),
		MaxMessageSize:         a.MaxMessageSize,
		MaxRDMASize:            a.MaxRDMASize,
		MaxIOVSegmentsPerRead:  int(a.MaxIOVSegmentsPerRDMARead),
		MaxIOVSegmentsPerWrite: int(a.MaxIOVSegmentsPerRDMAWrite),
	}
}

func newProviderAttr(a *cgo.ProviderAttr) ProviderAttr {
	return ProviderAttr{
		ProviderName:           cString(a.ProviderName[:]),
		ProviderVersionMajor:   a.ProviderVersionMajor,
		ProviderVersionMinor:   a.ProviderVersionMinor,
		DaplVersionMajor:       a.DaplVersionMajor,
		DaplVersionMinor:       a.DaplVersionMinor,
		IsThreadSafe:           a.IsThreadSafe != 0,
		MaxPrivateDataSize:     int(a.MaxPrivateDataSize),
		OptimalBufferAlignment: int(a.OptimalBufferAlignment),
		SRQSupported:           a.SRQSupported != 0,
	}
}

func cString(b []byte) string {
	if i := bytes.IndexByte(b, 0); i >= 0 {
		b = b[:i]
	}
	return string(b)
}

// Query gives the attributes of the adapter and of its provider, as they were
// when it was opened: they do not change.
//
// Implements:
//
//	DAT_RETURN dat_ia_query(IN DAT_IA_HANDLE ia_handle,
//	                        OUT DAT_EVD_HANDLE *async_evd_handle,
//	                        IN DAT_IA_ATTR_MASK ia_attr_mask,
//	                        OUT DAT_IA_ATTR *ia_attr,
//	                        IN DAT_PROVIDER_ATTR_MASK provider_attr_mask,
//	                        OUT DAT_PROVIDER_ATTR *provider_attr)
func (ia *IA) Query() (IAAttr, ProviderAttr, error) {
	if err := ia.object().enter("dat_ia_query", InvalidHandleIA); err != nil {
		return IAAttr{}, ProviderAttr{}, err
	}
	defer ia.obj.leave()
	return ia.attr, ia.providerAttr, nil
}

// Close closes the adapter. CloseGraceful fails with ErrInvalidState, and names
// them, while objects are alive on it. CloseAbrupt frees them first, in the
// order that they need; their methods give ErrClosed afterwards. A second
// Close gives ErrClosed.
//
// Implements:
//
//	DAT_RETURN dat_ia_close(IN DAT_IA_HANDLE ia_handle,
//	                        IN DAT_CLOSE_FLAGS ia_flags)
func (ia *IA) Close(flags CloseFlags) error {
	const op = "dat_ia_close"
	if flags != CloseAbrupt && flags != CloseGraceful {
		return refuse(op, ErrInvalidParameter, InvalidArg2, "the flags are %v, they must be %v or %v", flags, CloseAbrupt, CloseGraceful)
	}
	if flags == CloseAbrupt {
		ia.freeChildren()
	}
	return ia.object().seal(op, InvalidHandleIA, func() error {
		if err := ia.async.abandon(op); err != nil {
			return err
		}
		registry.Lock()
		r := cgo.IAClose(ia.handle, cgo.CloseGraceful)
		if !r.OK() {
			// The program has nothing left on the adapter, but the CMA provider
			// keeps a request whose peer vanished before it was answered.
			r = cgo.IAClose(ia.handle, cgo.CloseAbrupt)
		}
		registry.Unlock()
		if err := check(op, r); err != nil {
			return err
		}
		ia.notifier.close()
		return nil
	})
}

// freeChildren frees what is alive on the adapter, users before what they use.
// A child that another goroutine frees meanwhile is none of our business, and
// one that cannot be freed makes the close fail, so that errors say nothing new.
func (ia *IA) freeChildren() {
	if ia == nil {
		return
	}
	for children := ia.obj.living(); len(children) > 0; children = ia.obj.living() {
		leaves := slices.DeleteFunc(children, func(o *object) bool { return len(o.living()) > 0 })
		freed := false
		for _, o := range leaves {
			freed = o.free() == nil || freed
		}
		if !freed {
			return
		}
	}
}
