package udat

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/goudat/goudat/cgo"
	"github.com/goudat/goudat/udat/device"
	"github.com/goudat/goudat/udat/internal/datconf"
	"github.com/goudat/goudat/udat/internal/logging"
	"github.com/goudat/goudat/udat/internal/opening"
)

// provider is an entry of the library's dynamic registry: a library that this package has loaded
// and that has registered itself under a name for one device. The lock registry guards it.
type provider struct {
	datconf.Entry
	loaded       cgo.Library
	registered   bool // by RegisterProvider, not only because Open was given a device
	openAdapters int
}

var providers = map[string]*provider{}

// RegisterProvider adds an entry for Open to the registry of this process: it loads a provider's
// library, such as libdaplofa.so.2, which registers itself under the name. instanceData are the
// parameters of an entry in dat.conf: "eth0 0" for CMA, "mlx5_0 1" for socket CM. Only Open checks
// that the device exists. It fails with ErrProviderAlreadyRegistered for a name of the registry. If
// the library cannot be loaded or is no provider, it fails with ErrProviderNotFound and the
// loader's message.
//
//	Stands in for: DAT_RETURN dat_registry_add_provider(IN const DAT_PROVIDER *provider,
//	    IN const DAT_PROVIDER_INFO *provider_info)
func RegisterProvider(name, library, instanceData string) error {
	const op = "dat_registry_add_provider"
	if err := needRevision(op); err != nil {
		return err
	}
	if err := checkName(op, name); err != nil {
		return err
	}
	named, port, _ := strings.Cut(instanceData, " ")
	switch {
	case library == "" || strings.IndexByte(library, 0) >= 0:
		return refuse(op, ErrInvalidParameter, InvalidArg2, "the library %q must be a file name or a path", library)
	case named == "" || port == "" || strings.IndexByte(instanceData, 0) >= 0:
		// The provider would keep an entry without a device, which crashes a later Open.
		return refuse(op, ErrInvalidParameter, InvalidArg3, `the instance data %q must be a device, a blank and a port, like "eth0 0"`, instanceData)
	}
	registry.Lock()
	defer registry.Unlock()
	known, err := isInConfig(name)
	if err != nil {
		return err
	}
	if _, ok := providers[name]; ok || known {
		return refuse(op, ErrProviderAlreadyRegistered, NoSubtype, "there is already an entry %q: choose another name", name)
	}
	p, err := addProvider(op, datconf.Entry{Name: name, Library: library, InstanceData: instanceData})
	if err != nil {
		return err
	}
	p.registered = true
	return nil
}

// UnregisterProvider undoes RegisterProvider. It fails with ErrProviderInUse while adapters of that
// name are open, and with ErrProviderNotFound for other names.
//
//	Stands in for: DAT_RETURN dat_registry_remove_provider(IN const DAT_PROVIDER *provider,
//	    IN const DAT_PROVIDER_INFO *provider_info)
func UnregisterProvider(name string) error {
	const op = "dat_registry_remove_provider"
	registry.Lock()
	defer registry.Unlock()
	p, ok := providers[name]
	switch {
	case !ok || !p.registered:
		return refuse(op, ErrProviderNotFound, NameNotRegistered, "no RegisterProvider added %q, and entries of dat.conf stay: pass the name of one that was registered", name)
	case p.openAdapters > 0:
		return refuse(op, ErrProviderInUse, NoSubtype, "adapters of %q are still open: %d, close them first", name, p.openAdapters)
	}
	p.remove()
	return nil
}

func checkName(op, name string) error {
	if name == "" || len(name) >= cgo.NameMaxLength || strings.IndexByte(name, 0) >= 0 {
		return refuse(op, ErrInvalidParameter, InvalidArg1, "the name is %q, it must be 1 to %d bytes long, without a 0", name, cgo.NameMaxLength-1)
	}
	return nil
}

// isInConfig reports whether dat.conf has the name: with that the library would mix up two entries.
// The caller holds registry.
func isInConfig(name string) (bool, error) {
	infos, err := configProviders()
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(infos, func(i ProviderInfo) bool { return i.IAName == name }), nil
}

// addProvider makes an entry, whose name is in neither registry.
func addProvider(op string, e datconf.Entry) (*provider, error) {
	failed := func(format string, args ...any) error {
		return logged(&Error{Op: op, Return: classError | Return(ErrProviderNotFound), Detail: fmt.Sprintf(format, args...), Err: device.ProblemNoLibrary})
	}
	loaded, message := cgo.DLOpen(e.Library)
	if loaded == 0 {
		if err := fileLimit(op, 1); err != nil {
			return nil, err
		}
		return nil, failed("the provider's library cannot be loaded: %s", opening.LoadFailure(e.Library, message))
	}
	if !cgo.IsProvider(loaded) {
		cgo.DLClose(loaded)
		return nil, failed("%s is not the library of a provider: it does not export dat_provider_init and dat_provider_fini", e.Library)
	}
	if err := checkProviderLibrary(op, loaded); err != nil {
		cgo.DLClose(loaded)
		return nil, err
	}
	p := &provider{Entry: e, loaded: loaded}
	cgo.ProviderInit(loaded, p.info(), e.InstanceData)
	if !cgo.RegistryKnows(p.info()) {
		cgo.DLClose(loaded)
		return nil, failed("%s did not register itself for %q", e.Library, e.InstanceData)
	}
	providers[e.Name] = p
	return p, nil
}

func (p *provider) info() *cgo.ProviderInfo {
	info := &cgo.ProviderInfo{DaplVersionMajor: cgo.VersionMajor, DaplVersionMinor: cgo.VersionMinor, IsThreadSafe: cgo.ThreadSafe}
	copy(info.IAName[:], p.Name)
	return info
}

func (p *provider) remove() {
	cgo.ProviderFini(p.loaded, p.info())
	cgo.DLClose(p.loaded)
	delete(providers, p.Name)
}

// drop removes an entry that Open has made, unless adapters of it are open.
func (p *provider) drop() {
	if p.openAdapters == 0 && !p.registered {
		p.remove()
	}
}

// libraryOfEntry returns the library that an entry of dat.conf opens with. It fails if that
// is not one that this package works with. If none loads, libdat2 fails, too.
func libraryOfEntry(op, name string) (string, error) {
	for _, e := range datconf.Find(name) {
		library, _ := cgo.DLOpen(e.Library)
		if library == 0 {
			continue
		}
		defer cgo.DLClose(library)
		if cgo.IsProvider(library) {
			return e.Library, checkProviderLibrary(op, library)
		}
	}
	return "", nil
}

// providerOf finds what a name means, in the order that Open promises. It returns nil for an entry
// of dat.conf, and for an unknown name.
func providerOf(op, name string) (*provider, error) {
	if known, err := isInConfig(name); known || err != nil {
		return nil, err
	}
	if p := providers[name]; p != nil {
		return p, nil
	}
	a, err := opening.FindAdapter(name)
	if err != nil {
		return nil, logged(&Error{Op: op, Return: classError | Return(ErrInvalidParameter) | Return(InvalidArg1), Detail: err.Error()})
	}
	if a == nil {
		return nil, nil
	}
	if a.Reason != "" {
		logging.Chosen(name, a.Name, a.Reason)
	}
	if p := providers[a.Name]; p != nil {
		return p, nil
	}
	return addProvider(op, a.Entry)
}

// explainOpenFailure adds to the code what a user can do. The caller holds registry.
func explainOpenFailure(op, name string, r cgo.Return, p *provider) error {
	if r.Subtype() == cgo.InvalidStateIAInUse {
		if p != nil {
			name = p.Name
		}
		return withProblem(op, Return(r), fmt.Errorf("%w: that of %q was removed while adapters of this program had it open: close all of them, and open again", device.ProblemNoDevice, name))
	}
	if p != nil {
		return notOpened(op, r, opening.WhyNotOpened(p.Library, p.InstanceData))
	}
	infos, err := configProviders()
	if err != nil {
		return err
	}
	var known []string
	for _, i := range infos {
		known = append(known, i.IAName)
	}
	usable := slices.Contains(infos, ProviderInfo{name, cgo.VersionMajor, cgo.VersionMinor, false})
	return notOpened(op, r, opening.WhyEntryNotOpened(name, known, usable))
}

// notOpened returns the error of Open. For want of files the libraries say all sorts of things.
func notOpened(op string, r cgo.Return, reason error) error {
	if errors.Is(reason, device.ProblemFileLimit) {
		return withProblem(op, classError|Return(ErrInsufficientResources), reason)
	}
	return withProblem(op, Return(r), reason)
}

// registry guards providers, and opening and closing, which load and unload their libraries.
var registry sync.Mutex

// ProviderInfo describes an entry of the registry.
type ProviderInfo struct {
	IAName                     string
	VersionMajor, VersionMinor uint32
	ThreadSafe                 bool
}

// Providers lists the entries of the registry, whether or not their devices exist: those of
// dat.conf (the file in the environment variable DAT_OVERRIDE, else /etc/dat.conf) when the program
// started, then those of RegisterProvider.
//
//	Implements: DAT_RETURN dat_registry_list_providers(IN DAT_COUNT max_to_return,
//	    OUT DAT_COUNT *entries_returned, OUT DAT_PROVIDER_INFO *(dat_provider_list[]))
func Providers() ([]ProviderInfo, error) {
	if err := needRevision("dat_registry_list_providers"); err != nil {
		return nil, err
	}
	registry.Lock()
	defer registry.Unlock()
	infos, err := configProviders()
	if err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(providers)) {
		if p := providers[name]; p.registered {
			infos = append(infos, newProviderInfo(p.info()))
		}
	}
	return infos, nil
}

// configProviders lists the entries of dat.conf. The caller holds registry.
func configProviders() ([]ProviderInfo, error) {
	const op = "dat_registry_list_providers"
	// With room for none, the library says how many there are.
	count, _ := cgo.RegistryListProviders(nil)
	if count == 0 {
		return nil, nil
	}
	raw := make([]cgo.ProviderInfo, count)
	count, r := cgo.RegistryListProviders(raw)
	if err := check(op, r); err != nil {
		return nil, err
	}
	infos := make([]ProviderInfo, count)
	for i := range infos {
		infos[i] = newProviderInfo(&raw[i])
	}
	return infos, nil
}

func newProviderInfo(p *cgo.ProviderInfo) ProviderInfo {
	return ProviderInfo{
		IAName:       cString(p.IAName[:]),
		VersionMajor: p.DaplVersionMajor,
		VersionMinor: p.DaplVersionMinor,
		ThreadSafe:   p.IsThreadSafe != 0,
	}
}
