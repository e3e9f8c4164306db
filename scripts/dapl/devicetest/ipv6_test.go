package devicetest

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"github.com/goudat/goudat/cgo"
	"github.com/goudat/goudat/udat/device"
	"github.com/goudat/goudat/udat/udattest"
)

// netInterface returns the network interface of the adapter's device.
func (a *adapter) netInterface(t *testing.T) *net.Interface {
	t.Helper()
	devices, err := device.List()
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range devices {
		if d.Name == a.device {
			i, err := net.InterfaceByName(d.Ports[0].Interfaces[0])
			if err != nil {
				t.Fatal(err)
			}
			return i
		}
	}
	t.Fatalf("there is no device %s", a.device)
	return nil
}

// linkLocal returns the link-local address of an interface, without a zone.
func linkLocal(t *testing.T, i *net.Interface) netip.Addr {
	t.Helper()
	addrs, err := i.Addrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range addrs {
		if p, err := netip.ParsePrefix(a.String()); err == nil && p.Addr().Is6() && p.Addr().IsLinkLocalUnicast() {
			return p.Addr()
		}
	}
	t.Fatalf("%s has no link-local address", i.Name)
	return netip.Addr{}
}

// addAddress adds an address to an interface, and removes it when the test ends.
func addAddress(t *testing.T, i *net.Interface, prefix string, options ...string) {
	t.Helper()
	ip(t, append([]string{"address", "add", prefix, "dev", i.Name}, options...)...)
	t.Cleanup(func() { ip(t, "address", "delete", prefix, "dev", i.Name) })
}

// setSetting sets one of the interface's settings of IPv6 until the test ends.
func setSetting(t *testing.T, i *net.Interface, name, value string) {
	t.Helper()
	file := "/proc/sys/net/ipv6/conf/" + i.Name + "/" + name
	before, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.WriteFile(file, before, 0) })
	if err := os.WriteFile(file, []byte(value), 0); err != nil {
		t.Fatal(err)
	}
}

// reopened runs a test in a process of its own on an adapter of the same provider with another name, and settings.
func reopened(t *testing.T, a *adapter, name string, test string, environment ...string) {
	t.Helper()
	conf := filepath.Join(t.TempDir(), "dat.conf")
	entry, library, instance := "other-cma", "libdaplofa.so.2", name+" 0"
	if isSocketCM(a) {
		entry, library, instance = "other-scm", "libdaploscm.so.2", a.device+" 1"
	}
	if err := os.WriteFile(conf, fmt.Appendf(nil, "%s u2.0 nonthreadsafe default %s dapl.2.0 %q \"\"\n", entry, library, instance), 0o644); err != nil {
		t.Fatal(err)
	}
	runWith(t, "", test, append(environment, "DAT_OVERRIDE="+conf, "UDAT_TEST_IA="+entry)...)
}

func remoteOfRequest(t *testing.T, request cgo.CRHandle) netip.Addr {
	t.Helper()
	var param cgo.CRParam
	success(t, "CRQuery", cgo.CRQuery(request, cgo.CRFieldAll, &param))
	return cgo.SockAddrAt(param.RemoteIAAddressPtr).Addr()
}

func (e *endpoint) remote(t *testing.T) netip.Addr {
	t.Helper()
	var param cgo.EPParam
	success(t, "EPQuery", cgo.EPQuery(e.EPHandle, cgo.EPFieldAll, &param))
	return cgo.SockAddrAt(param.RemoteIAAddressPtr).Addr()
}

// connectAt connects to an address of the adapter, and expects that both sides report the adapter's own as the peer's.
func (a *adapter) connectAt(t *testing.T, to netip.Addr) {
	t.Helper()
	l, active, passive, own := a.listen(t), a.newEndpoint(t), a.newEndpoint(t), a.address.Addr()
	address := cgo.NewSockAddr(to)
	active.connectTo(t, &address, l.qual, cgo.TimeoutInfinite)
	request := l.request(t)
	if got := remoteOfRequest(t, request); got != own {
		t.Errorf("to %v: the request comes from %v, want %v", to, got, own)
	}
	success(t, "CRAccept", cgo.CRAccept(request, passive.EPHandle, nil))
	active.connect.expect(t, cgo.EventConnectionEstablished)
	passive.connect.expect(t, cgo.EventConnectionEstablished)
	if got, peers := active.remote(t), passive.remote(t); got != own || peers != own {
		t.Errorf("to %v: the endpoints have the peers %v and %v, want %v", to, got, peers, own)
	}
	passive.postPieces(t, passive.memory, 0)
	exchange(t, active, passive, active.memory, passive.memory, active.request, passive.recv, 1)
	disconnect(t, active, passive)
}

// ownVariable has the address that the adapter must have.
const ownVariable = "DEVICETEST_OWN"

// An adapter opens on any address of its interface, by whatever name of that: IPv6, link-local with a zone or without,
// IPv4 that is mapped. It connects to itself there. A link-local peer needs no zone.
func TestNamesOfAddresses(t *testing.T) {
	if want := os.Getenv(ownVariable); want != "" {
		watch(t)
		forEachAdapter(t, func(t *testing.T, a *adapter) {
			own := a.address.Addr()
			if own.String() != want {
				t.Fatalf("the adapter has the address %v, want %s", own, want)
			}
			a.connectAt(t, own)
			a.connectAt(t, own.WithZone(""))
		})
		return
	}
	if !udattest.InTestbed(t) {
		return
	}
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		i := a.netInterface(t)
		addAddress(t, i, "fd00:78::5/64", "nodad")
		addAddress(t, i, "10.78.0.5/24")
		local, usual := linkLocal(t, i), a.address.Addr()
		for name, want := range map[string]string{
			i.Name:                          "", // IPv4 first
			usual.String():                  usual.String(),
			"fd00:78::5":                    "fd00:78::5",
			"::ffff:10.78.0.5":              "10.78.0.5",
			local.String():                  local.WithZone(i.Name).String(),
			local.WithZone(i.Name).String(): local.WithZone(i.Name).String(),
		} {
			if want == "" {
				want = usual.String()
				if usual.Is6() {
					want = "10.78.0.5"
				}
			}
			reopened(t, a, name, "^TestNamesOfAddresses$", ownVariable+"="+want, "DAPL_SCM_NETDEV="+name)
		}
	})
}

// An address that is not one of this machine, or that the kernel still looks for duplicates of, opens no adapter; a name
// of its interface opens one on another.
func TestUnusableAddresses(t *testing.T) {
	const child = "DEVICETEST_UNUSABLE"
	if os.Getenv(child) != "" {
		for _, name := range udattest.Names(t) {
			if _, _, r := cgo.IAOpen(name, 8); r.OK() {
				t.Errorf("%s opens", name)
			}
		}
		return
	}
	if !udattest.InTestbed(t) {
		return
	}
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		i := a.netInterface(t)
		setSetting(t, i, "accept_dad", "1")
		setSetting(t, i, "dad_transmits", "60") // seconds
		addAddress(t, i, "fd00:79::5/64")
		for _, name := range []string{"fd00:79::5", "fd00:99::1", "::1", "::", "fd00:79::5%nowhere"} {
			reopened(t, a, name, "^TestUnusableAddresses$", child+"=1", "DAPL_SCM_NETDEV="+name)
		}
		reopened(t, a, i.Name, "^TestNamesOfAddresses$", ownVariable+"="+a.address.Addr().String(), "DAPL_SCM_NETDEV="+i.Name)
	})
}

// Addresses that nobody can be connected with are refused at once, and harm nobody: after ::1, soft-RoCE would connect
// no one. So are those of the family that an adapter with CMA does not have.
func TestRefusedAddresses(t *testing.T) {
	watch(t)
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		refused := []string{"::1", "::", "ff02::1"}
		if other := "fd00:77::1"; !isSocketCM(a) {
			if a.address.Addr().Is6() {
				other = "10.77.0.1"
			}
			refused = append(refused, other)
		}
		e := a.newEndpoint(t)
		for _, text := range refused {
			address := cgo.NewSockAddr(netip.MustParseAddr(text))
			r := cgo.EPConnect(e.EPHandle, &address, 1, cgo.TimeoutInfinite, nil, cgo.QOSBestEffort, cgo.ConnectDefault)
			outcome(t, "EPConnect to "+text, r, cgo.InvalidAddress, cgo.InvalidAddressUnsupported)
			e.wantState(t, cgo.EPStateUnconnected)
		}
		a.connect(t, a.listen(t), e, a.newEndpoint(t), nil)
		e.connect.empty(t)
	})
}

// An IPv4 address that is mapped to IPv6 means the IPv4 one, also as what an endpoint is connected to.
func TestMappedAddress(t *testing.T) {
	watch(t)
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		own := a.address.Addr()
		if own.Is6() {
			t.Log("nothing to test: the adapter has no IPv4 address")
			return
		}
		var mapped cgo.SockAddr // NewSockAddr makes an IPv4 one of it
		*(*uint16)(unsafe.Pointer(&mapped)) = syscall.AF_INET6
		ip := own.As16()
		copy(mapped[8:], ip[:])
		l, e, passive := a.listen(t), a.newEndpoint(t), a.newEndpoint(t)
		e.connectTo(t, &mapped, l.qual, cgo.TimeoutInfinite)
		success(t, "CRAccept", cgo.CRAccept(l.request(t), passive.EPHandle, nil))
		e.connect.expect(t, cgo.EventConnectionEstablished)
		passive.connect.expect(t, cgo.EventConnectionEstablished)
		if got := e.remote(t); got != own {
			t.Errorf("the endpoint is connected to %v, want %v", got, own)
		}
		disconnect(t, e, passive)
	})
}

// An address has the bytes that its family needs, and no more, and may be that which the endpoint has reported.
func TestLengthOfAddress(t *testing.T) {
	watch(t)
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		pages, _ := newPages(t, 2*syscall.Getpagesize())
		if err := syscall.Mprotect(pages[len(pages)/2:], syscall.PROT_NONE); err != nil {
			t.Fatal(err)
		}
		size := int(syscall.SizeofSockaddrInet4)
		if a.address.Addr().Is6() {
			size = syscall.SizeofSockaddrInet6
		}
		end := len(pages)/2 - size
		copy(pages[end:][:size], a.address[:size])
		l, e, passive := a.listen(t), a.newEndpoint(t), a.newEndpoint(t)
		connect := func(to *cgo.SockAddr) {
			t.Helper()
			e.connectTo(t, to, l.qual, cgo.TimeoutInfinite)
			success(t, "CRAccept", cgo.CRAccept(l.request(t), passive.EPHandle, nil))
			e.connect.expect(t, cgo.EventConnectionEstablished)
			passive.connect.expect(t, cgo.EventConnectionEstablished)
		}
		connect((*cgo.SockAddr)(unsafe.Pointer(&pages[end])))
		var param cgo.EPParam
		success(t, "EPQuery", cgo.EPQuery(e.EPHandle, cgo.EPFieldAll, &param))
		disconnect(t, e, passive)

		success(t, "EPReset", cgo.EPReset(e.EPHandle))
		success(t, "EPReset", cgo.EPReset(passive.EPHandle))
		connect(*(**cgo.SockAddr)(unsafe.Pointer(&param.RemoteIAAddressPtr)))
		disconnect(t, e, passive)
	})
}

// nullAddress puts an interface without an address first in the list of interfaces. Tunnels have none.
const nullAddress = `
#define _GNU_SOURCE
#include <dlfcn.h>
#include <ifaddrs.h>
#include <stddef.h>

int getifaddrs(struct ifaddrs **list)
{
	int (*get)(struct ifaddrs **) = (int (*)(struct ifaddrs **))dlsym(RTLD_NEXT, "getifaddrs");
	int ret = get(list);

	if (ret == 0)
		(*list)->ifa_addr = NULL; /* that of the loopback interface */
	return ret;
}
`

// An interface without an address, such as that of a tunnel, is no reason to crash.
func TestInterfaceWithoutAddress(t *testing.T) {
	if !isSlow(t, nullAddress) {
		return
	}
	forEachAdapter(t, func(*testing.T, *adapter) {})
}

func (a *adapter) hasGID(address netip.Addr) bool {
	files, _ := filepath.Glob("/sys/class/infiniband/" + a.device + "/ports/1/gids/*")
	return slices.ContainsFunc(files, func(file string) bool {
		text, _ := os.ReadFile(file)
		return strings.TrimSpace(string(text)) == netip.AddrFrom16(address.As16()).StringExpanded()
	})
}

// An address that is taken away and comes back has its GID at another index.
func TestAddressComesBack(t *testing.T) {
	if !udattest.InTestbed(t) {
		return
	}
	forEachSocketCM(t, func(t *testing.T, a *adapter) {
		own, between, length, options := a.address.Addr(), netip.MustParseAddr("10.78.0.5"), "/24", []string(nil)
		if own.Is6() {
			between, length, options = netip.MustParseAddr("fd00:78::5"), "/64", []string{"nodad"}
		}
		change := func(verb string, address netip.Addr) {
			ip(t, append([]string{"address", verb, address.String() + length, "dev", a.netInterface(t).Name}, options...)...)
			eventually(t, verb+" "+address.String(), func() bool { return a.hasGID(address) == (verb == "add") })
		}
		change("delete", own)
		change("add", between)
		change("add", own)
		change("delete", between)
		a.connect(t, a.listen(t), a.newEndpoint(t), a.newEndpoint(t), nil)
	})
}

// Socket CM connects over IPv6 while the interface has no link-local address, and over IPv4 while it has no IPv6 at all.
// The GID at index 0 is still in the table then, and of no use.
func TestNoLinkLocalAddress(t *testing.T) {
	if !udattest.InTestbed(t) {
		return
	}
	forEachSocketCM(t, func(t *testing.T, a *adapter) {
		i := a.netInterface(t)
		connectFrom := func(t *testing.T, prefix string, options ...string) {
			addAddress(t, i, prefix, options...)
			own := netip.MustParsePrefix(prefix).Addr()
			eventually(t, "it has its GID", func() bool { return a.hasGID(own) })
			reopened(t, a, "", "^TestNamesOfAddresses$", ownVariable+"="+own.String(), "DAPL_SCM_NETDEV="+own.String())
		}
		t.Run("IPv6", func(t *testing.T) {
			local := linkLocal(t, i).String() + "/64"
			ip(t, "address", "delete", local, "dev", i.Name)
			t.Cleanup(func() { ip(t, "address", "add", local, "dev", i.Name, "nodad") })
			connectFrom(t, "fd00:78::5/64", "nodad")
		})
		t.Run("IPv4", func(t *testing.T) {
			t.Cleanup(func() {
				if usual := a.address.Addr(); usual.Is6() {
					ip(t, "address", "add", usual.String()+"/64", "dev", i.Name, "nodad")
				}
			})
			setSetting(t, i, "disable_ipv6", "1")
			connectFrom(t, "10.78.0.5/24")
		})
	})
}
