package udat

import (
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/goudat/goudat/cgo"
)

// provider is an entry of the library's dynamic registry: a provider library that
// this package has loaded and that has registered itself under a name for one
// device. All of it is guarded by registry.
type provider struct {
	name         string
	library      cgo.Library
	libraryName  string
	instanceData string
	asked        bool // by RegisterProvider, and not only by the name of a device
	open         int  // adapters
}

var providers = map[string]*provider{}

// RegisterProvider adds an entry to the registry of this process, for Open: it
// loads a provider's library, libdaplofa.so.2 for example, which registers
// itself under the name. The instance data are what the entry of dat.conf would
// have as its parameters: "eth0 0" for the CMA provider, "mlx5_0 1" for the
// socket CM provider. Open finds out whether the device exists.
//
// Providers use the C function for that, which takes a table of C functions. It
// fails with ErrProviderAlreadyRegistered for a name that the registry has, and
// with ErrProviderNotFound, and the loader's message, when the library cannot
// be loaded or is no provider. The library then stays in memory: its threads
// may still run when the last adapter is closed.
//
// Stands in for:
//
//	DAT_RETURN dat_registry_add_provider(IN const DAT_PROVIDER *provider,
//	                                     IN const DAT_PROVIDER_INFO *provider_info)
func RegisterProvider(name, library, instanceData string) error {
	const op = "dat_registry_add_provider"
	if err := needRevision(op); err != nil {
		return err
	}
	if err := checkName(op, name); err != nil {
		return err
	}
	device, port := splitInstance(instanceData)
	switch {
	case library == "" || strings.IndexByte(library, 0) >= 0:
		return refuse(op, ErrInvalidParameter, InvalidArg2, "the library %q must be a file name or a path", library)
	case device == "" || port == "" || strings.IndexByte(instanceData, 0) >= 0:
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
	p, err := addProvider(op, name, library, instanceData)
	if err != nil {
		return err
	}
	p.asked = true
	return nil
}

// UnregisterProvider takes back RegisterProvider. It fails with ErrProviderInUse
// while adapters of that name are open, and with ErrProviderNotFound for a name
// that RegisterProvider did not register; the entries of dat.conf stay.
//
// Stands in for:
//
//	DAT_RETURN dat_registry_remove_provider(IN const DAT_PROVIDER *provider,
//	                                        IN const DAT_PROVIDER_INFO *provider_info)
func UnregisterProvider(name string) error {
	const op = "dat_registry_remove_provider"
	registry.Lock()
	defer registry.Unlock()
	p, ok := providers[name]
	switch {
	case !ok || !p.asked:
		return refuse(op, ErrProviderNotFound, NameNotRegistered, "no RegisterProvider added %q, and entries of dat.conf stay: give the name of one that was registered", name)
	case p.open > 0:
		return refuse(op, ErrProviderInUse, NoSubtype, "adapters of %q are still open: %d, close them first", name, p.open)
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

// isInConfig reports whether dat.conf has the name: with that the library would
// mix up two entries. The caller holds registry.
func isInConfig(name string) (bool, error) {
	infos, err := configProviders()
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(infos, func(i ProviderInfo) bool { return i.IAName == name }), nil
}

// addProvider makes an entry, whose name is in neither registry.
func addProvider(op, name, library, instanceData string) (*provider, error) {
	failed := func(format string, args ...any) error {
		return &Error{Op: op, Return: classError | Return(ErrProviderNotFound), Detail: fmt.Sprintf(format, args...), Err: ProblemNoLibrary}
	}
	loaded, message := cgo.DLOpen(library)
	if loaded == 0 {
		return nil, failed("the provider's library cannot be loaded: %s", loadFailure(library, message))
	}
	if !cgo.IsProvider(loaded) {
		cgo.DLClose(loaded)
		return nil, failed("%s is not the library of a provider: it does not export dat_provider_init and dat_provider_fini", library)
	}
	if err := checkProviderLibrary(op, loaded); err != nil {
		cgo.DLClose(loaded)
		return nil, err
	}
	p := &provider{name: name, library: loaded, libraryName: library, instanceData: instanceData}
	cgo.ProviderInit(loaded, p.info(), instanceData)
	if !cgo.RegistryKnows(p.info()) {
		cgo.DLClose(loaded)
		return nil, failed("%s did not register itself for %q", library, instanceData)
	}
	providers[name] = p
	return p, nil
}

func (p *provider) info() *cgo.ProviderInfo {
	info := &cgo.ProviderInfo{DaplVersionMajor: cgo.VersionMajor, DaplVersionMinor: cgo.VersionMinor, IsThreadSafe: cgo.ThreadSafe}
	copy(info.IAName[:], p.name)
	return info
}

func (p *provider) remove() {
	cgo.ProviderFini(p.library, p.info())
	cgo.DLClose(p.library)
	delete(providers, p.name)
}

// opened is called after an attempt to open an adapter of the provider.
func (p *provider) opened(ok bool) {
	switch {
	case ok:
		p.open++
	case p.open == 0 && !p.asked:
		p.remove()
	}
}

// openNative opens the adapter with the given name, and returns the library of its
// provider. If there is no entry in dat.conf, it also returns a provider, which the
// caller passes to closeNative.
func openNative(op, name string) (ia cgo.IAHandle, async cgo.EVDHandle, p *provider, library string, err error) {
	registry.Lock()
	defer registry.Unlock()
	p, err = providerOf(op, name)
	if err != nil {
		return 0, 0, nil, "", err
	}
	entry := name
	if p != nil {
		if err := p.checkPort(op); err != nil {
			p.opened(false)
			return 0, 0, nil, "", err
		}
		entry, library = p.name, p.libraryName
	} else if library, err = libraryOfEntry(op, name); err != nil {
		return 0, 0, nil, "", err
	}
	ia, async, r := cgo.IAOpen(entry, asyncQLen)
	if !r.OK() {
		err = explainOpenFailure(op, name, r, p)
	}
	if p != nil {
		p.opened(r.OK())
	}
	return ia, async, p, library, err
}

// libraryOfEntry returns the library that an entry of dat.conf opens with. It fails if that
// is not one that this package works with. If none loads, libdat2 fails, too.
func libraryOfEntry(op, name string) (string, error) {
	for _, e := range findConfigEntries(name) {
		library, _ := cgo.DLOpen(e.library)
		if library == 0 {
			continue
		}
		defer cgo.DLClose(library)
		if cgo.IsProvider(library) {
			return e.library, checkProviderLibrary(op, library)
		}
	}
	return "", nil
}

// closeNative closes an adapter that openNative opened.
func closeNative(ia cgo.IAHandle, p *provider, flags cgo.CloseFlags) cgo.Return {
	registry.Lock()
	defer registry.Unlock()
	r := cgo.IAClose(ia, flags)
	if p == nil {
		return r
	}
	// The adapter is closed by then: the library looks for the entry of dat.conf
	// to unload the provider, and there is none.
	if r.Type() == cgo.ProviderNotFound {
		r = cgo.Success.Return()
	}
	if r.OK() {
		p.open--
	}
	return r
}

// providerOf finds what a name means, in the order that Open promises: nil is
// the entry of dat.conf, or nothing.
func providerOf(op, name string) (*provider, error) {
	if known, err := isInConfig(name); known || err != nil {
		return nil, err
	}
	if p := providers[name]; p != nil {
		return p, nil
	}
	a, err := parseAdapter(op, name)
	if err != nil || a == nil {
		return nil, err
	}
	if p := providers[a.name()]; p != nil {
		return p, nil
	}
	return addProvider(op, a.name(), a.library, a.instanceData())
}

// adapter is what the name of a device means: the device for a provider.
type adapter struct {
	library string
	device  string // a network interface for the CMA provider
	port    int    // 0 for the CMA provider
}

func (a adapter) name() string {
	if a.library == cmaLibrary {
		return "cma:" + a.device
	}
	return fmt.Sprintf("scm:%s/%d", a.device, a.port)
}

func (a adapter) instanceData() string {
	if a.library == cmaLibrary {
		return cmaInstance(a.device)
	}
	return scmInstance(a.device, a.port)
}

// checkPort refuses a port that the device does not have: the socket CM provider
// would leave the device open.
func (p *provider) checkPort(op string) error {
	if !isSCM(p.libraryName) {
		return nil
	}
	device, port := splitInstance(p.instanceData)
	devices, _ := Devices() // without them the provider will fail, too
	d := findDevice(devices, device)
	if d == nil || d.Err != nil || d.portOf(port) != nil {
		return nil
	}
	return explained(op, classError|Return(ErrInvalidParameter)|Return(InvalidArg1), portMissing(d, port))
}

// portOf finds the port that instance data name.
func (d *Device) portOf(port string) *Port {
	number, err := strconv.ParseInt(port, 0, 32)
	if err != nil || number < 1 || number > int64(len(d.Ports)) {
		return nil
	}
	return &d.Ports[number-1]
}

// parseAdapter reads the name of a device. It is nil for a name that is none.
func parseAdapter(op, name string) (*adapter, error) {
	kind, rest, found := strings.Cut(name, ":")
	switch {
	case found && kind == "cma":
		if rest == "" || strings.ContainsAny(rest, " \t\n/") {
			return nil, refuse(op, ErrInvalidParameter, InvalidArg1, "the name %q must be cma: and a network interface, like cma:eth0", name)
		}
		return &adapter{library: cmaLibrary, device: rest}, nil
	case found && kind == "scm":
		device, port, found := strings.Cut(rest, "/")
		number := 0
		if found {
			number, _ = strconv.Atoi(port)
		}
		if device == "" || strings.ContainsAny(device, " \t\n") || found && (number < 1 || number > maxPort) {
			return nil, refuse(op, ErrInvalidParameter, InvalidArg1, "the name %q must be scm: and a device, with or without a port, like scm:mlx5_0/1", name)
		}
		if !found {
			number = activePort(device)
		}
		return &adapter{library: scmLibrary, device: device, port: number}, nil
	}
	return findAdapter(name)
}

const maxPort = 255

// activePort returns the first active port of a device, or else its first.
func activePort(device string) int {
	devices, _ := Devices()
	if d := findDevice(devices, device); d != nil {
		return d.activePort()
	}
	return 1
}

func (d *Device) activePort() int {
	for _, port := range d.Ports {
		if port.State == PortActive {
			return port.Number
		}
	}
	return 1
}

// findAdapter chooses a provider for a device or a network interface: CMA where
// it can be used.
func findAdapter(name string) (*adapter, error) {
	devices, err := Devices()
	if err != nil {
		return nil, nil // without devices the name is that of an entry
	}
	for _, d := range devices {
		if d.Name == name {
			return d.adapter(), nil
		}
	}
	if _, err := net.InterfaceByName(name); err != nil {
		return nil, nil
	}
	if d, port := portOfInterface(devices, name); d != nil && d.Transport != TransportIWARP && !ipv4(name).IsValid() {
		return &adapter{library: scmLibrary, device: d.Name, port: port.Number}, nil
	}
	return &adapter{library: cmaLibrary, device: name}, nil
}

// adapter chooses a provider for the device.
func (d *Device) adapter() *adapter {
	for _, active := range []bool{true, false} {
		for _, port := range d.Ports {
			for _, name := range port.Interfaces {
				if (port.State == PortActive) == active && ipv4(name).IsValid() {
					return &adapter{library: cmaLibrary, device: name}
				}
			}
		}
	}
	if d.Transport == TransportIWARP && len(d.Ports) > 0 && len(d.Ports[0].Interfaces) > 0 {
		return &adapter{library: cmaLibrary, device: d.Ports[0].Interfaces[0]}
	}
	return &adapter{library: scmLibrary, device: d.Name, port: d.activePort()}
}

// portOfInterface finds the device and the port that a network interface belongs to.
func portOfInterface(devices []Device, name string) (*Device, *Port) {
	for i := range devices {
		for j := range devices[i].Ports {
			if port := &devices[i].Ports[j]; slices.Contains(port.Interfaces, name) {
				return &devices[i], port
			}
		}
	}
	return nil, nil
}
