package udat

import (
	"fmt"
	"slices"

	"github.com/goudat/goudat/cgo"
	"github.com/goudat/goudat/udat/device"
)

// explainOpenFailure makes the error of a dat_ia_open that failed: the code, and
// what a user can do. The caller holds registry.
func explainOpenFailure(op, name string, r cgo.Return, p *provider) error {
	if p != nil {
		return explained(op, Return(r), device.WhyNotOpened(p.libraryName, p.instanceData))
	}
	infos, err := configProviders()
	if err != nil {
		return err
	}
	var known []string
	for _, i := range infos {
		known = append(known, i.IAName)
	}
	usable := slices.ContainsFunc(infos, func(i ProviderInfo) bool { return i.IAName == name && i.opens() })
	return explained(op, Return(r), device.WhyEntryNotOpened(name, known, usable))
}

// opens reports whether dat_ia_open takes the entry.
func (i ProviderInfo) opens() bool {
	return i.VersionMajor == cgo.VersionMajor && i.VersionMinor == cgo.VersionMinor && !i.ThreadSafe
}

// checkProvider refuses the socket CM provider on iWARP: it opens, and connects the
// queue pairs in a way that only InfiniBand and RoCE have.
func (ia *IA) checkProvider(op string) error {
	if !ia.iwarp || !ia.overTCP {
		return nil
	}
	return explained(op, classError|Return(ErrModelNotSupported), fmt.Errorf("%w: the socket CM provider cannot connect over iWARP, which the device %s speaks: open %[2]q, which is the CMA provider on it",
		device.ProblemWrongProvider, ia.attr.AdapterName))
}

// explained makes an error with a reason that has a Problem in it.
func explained(op string, r Return, reason error) error {
	return &Error{Op: op, Return: r, Detail: reason.Error(), Err: reason}
}
