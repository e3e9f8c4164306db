package udat

import (
	"fmt"
	"runtime"
	"weak"

	"github.com/goudat/goudat/cgo"
	"github.com/goudat/goudat/udat/device"
	"github.com/goudat/goudat/udat/internal/datconf"
	"github.com/goudat/goudat/udat/internal/life"
	"github.com/goudat/goudat/udat/internal/machine"
	"github.com/goudat/goudat/udat/internal/notify"
	"github.com/goudat/goudat/udat/internal/opening"
)

// Open opens the adapter that name means, the first of these that fits:
//
//   - an entry of the registry, see Providers; it hides a device of that name
//   - "cma:eth0" or "cma:192.0.2.1": the CMA provider (libdaplofa) on a network interface, named or
//     with that address
//   - "scm:mlx5_0/1": the socket CM provider (libdaploscm) on a port of a device; without "/1", on
//     the first active port
//   - "mlx5_0", a device, see device.List: CMA, if an interface of the device has an address;
//     otherwise socket CM, which connects over any other network. SetLogHandler logs the choice.
//   - "eth0", a network interface: "cma:eth0"
//
// Only the first needs dat.conf. A peer must use the same provider. Open fails with
//
//   - ErrProviderNotFound without the entry or the library, or with another libdat2 or provider
//     than that of scripts/native: see NativeLibrary
//   - ErrModelNotSupported for socket CM on iWARP
//   - ErrInvalidState if the adapter is already open and its device was removed since
//   - ErrInvalidAddress if the adapter is already open and no interface has its first address now
//   - ErrPrivilegesViolation for CMA if the process changed its credentials after it opened an
//     adapter
//
// or the provider's error. It matches a Problem; its Detail says what to do.
//
//	Implements: DAT_RETURN dat_ia_open(IN const DAT_NAME_PTR ia_name,
//	    IN DAT_COUNT async_evd_min_qlen, INOUT DAT_EVD_HANDLE *async_evd_handle,
//	    OUT DAT_IA_HANDLE *ia_handle)
func Open(name string) (*IA, error) {
	const op = "dat_ia_open"
	if err := needRevision(op); err != nil {
		return nil, err
	}
	complain()
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
		if err := opening.MissingPort(p.Library, p.InstanceData); err != nil {
			p.drop()
			return 0, withProblem(op, classError|Return(ErrInvalidParameter)|Return(InvalidArg1), err)
		}
		entry, library = p.Name, p.Library
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

// complete reads the attributes, and makes what brings notifications.
func (ia *IA) complete(op string, asyncHandle cgo.EVDHandle) error {
	var err error
	if ia.attr, ia.providerAttr, err = ia.query(); err != nil {
		return err
	}
	transport := machine.TransportOf(ia.attr.AdapterName)
	if transport == cgo.IBVTransportUnknown {
		if err := fileLimit(op, machine.FilesOfList); err != nil {
			return err
		}
	}
	if err := ia.checkOpened(op, transport); err != nil {
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

// checkOpened refuses an adapter that can neither listen nor connect: socket CM connects queue
// pairs in a way that iWARP lacks, and the library may have opened the device before.
func (ia *IA) checkOpened(op string, transport cgo.IBVTransportType) error {
	if transport == cgo.IBVTransportIWARP && ia.overTCP {
		return withProblem(op, classError|Return(ErrModelNotSupported), fmt.Errorf("%w: the socket CM provider cannot connect over iWARP, which the device %s speaks: open %[2]q, which is the CMA provider on it",
			device.ProblemWrongProvider, ia.attr.AdapterName))
	}
	if err := ia.addressGone(op); err != nil || ia.overTCP {
		return err
	}
	return withProblem(op, classError|Return(ErrPrivilegesViolation), machine.Credentials(machine.ConnectionManagerNode))
}

// asyncQLen is how many errors are kept for a program that does not look.
const asyncQLen = 4096
