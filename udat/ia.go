package udat

import (
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/goudat/goudat/cgo"
	"github.com/goudat/goudat/udat/device"
	"github.com/goudat/goudat/udat/internal/machine"
	"github.com/goudat/goudat/udat/internal/notify"
)

// IA is an open interface adapter: a device with a provider.
type IA struct {
	obj      object
	name     string
	handle   cgo.IAHandle
	provider *provider // nil for an entry of dat.conf
	async    *EVD
	notifier *notify.Notifier

	attr         IAAttr
	providerAttr ProviderAttr
	overTCP      bool // the provider connects over TCP

	epDefaults atomic.Pointer[cgo.EPAttr] // nil until the library was asked
	counters   atomic.Pointer[counters]   // nil until EnableStats is called

	mu      sync.Mutex
	objects map[cgo.Handle]anyObject // those that events name: EVDs, EPs, SRQs, RMRs and service points

	retired retired

	closing sync.Mutex // held by Close, so that a second one comes after it
}

func (ia *IA) object() *object { return &ia.obj }

// Name returns the name that was given to Open.
func (ia *IA) Name() string {
	if ia == nil {
		return ""
	}
	return ia.name
}

// String returns the Name and, if it differs, the ProviderName.
func (ia *IA) String() string {
	if ia == nil || ia.name == ia.providerAttr.ProviderName {
		return ia.Name()
	}
	return ia.name + " (" + ia.providerAttr.ProviderName + ")"
}

// AsyncEVD returns the EVD of the adapter's asynchronous errors. It cannot be freed. A program may
// ignore it: it keeps the first 4096 events. EventAsyncErrorIACatastrophic reports that the device
// was removed: close the adapter. Other errors concern one object; the end of a connection is also
// reported to its endpoint. A port that goes down is no error: connections continue when it is
// back, or break.
func (ia *IA) AsyncEVD() *EVD {
	if ia == nil {
		return nil
	}
	return ia.async
}

// Query returns the attributes of adapter and provider. It fails with ErrInternalError if the
// device is gone.
//
//	Implements: DAT_RETURN dat_ia_query(IN DAT_IA_HANDLE ia_handle,
//	    OUT DAT_EVD_HANDLE *async_evd_handle, IN DAT_IA_ATTR_MASK ia_attr_mask,
//	    OUT DAT_IA_ATTR *ia_attr, IN DAT_PROVIDER_ATTR_MASK provider_attr_mask,
//	    OUT DAT_PROVIDER_ATTR *provider_attr)
func (ia *IA) Query() (IAAttr, ProviderAttr, error) {
	if err := objectOf(ia).enter(queryIAOp, InvalidHandleIA); err != nil {
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

// addressGone is the error of a call that fails because the address of the adapter has gone. The
// library reads the address when it opens the device, and keeps both for all adapters of a name.
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

// checkPrivateData refuses what the library would write beyond its buffers for.
func (ia *IA) checkPrivateData(op string, privateData []byte, arg ReturnSubtype) error {
	if most := ia.providerAttr.MaxPrivateDataSize; len(privateData) > most {
		return refuse(op, ErrInvalidParameter, arg, "the private data has %d bytes, this provider carries at most %d: send the rest as a message", len(privateData), most)
	}
	return nil
}
