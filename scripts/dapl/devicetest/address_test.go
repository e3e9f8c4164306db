package devicetest

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/goudat/goudat/cgo"
	"github.com/goudat/goudat/udat/device"
	"github.com/goudat/goudat/udat/udattest"
)

// netInterface returns the network interface of the adapter's device.
func (a *adapter) netInterface(t *testing.T) *net.Interface {
	t.Helper()
	devices, err := device.List()
	do(t, err)
	for _, d := range devices {
		if d.Name == a.device {
			i, err := net.InterfaceByName(d.Ports[0].Interfaces[0])
			do(t, err)
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
	do(t, err)
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
	do(t, err)
	t.Cleanup(func() { os.WriteFile(file, before, 0) })
	do(t, os.WriteFile(file, []byte(value), 0))
}

// reopened runs a test in a process of its own on an adapter of the same provider with another name, and settings.
func reopened(t *testing.T, a *adapter, name string, test string, environment ...string) {
	t.Helper()
	conf := filepath.Join(t.TempDir(), "dat.conf")
	entry, library, instance := "other-cma", "libdaplofa.so.2", name+" 0"
	if isSocketCM(a) {
		entry, library, instance = "other-scm", "libdaploscm.so.2", a.device+" 1"
	}
	do(t, os.WriteFile(conf, fmt.Appendf(nil, "%s u2.0 nonthreadsafe default %s dapl.2.0 %q \"\"\n", entry, library, instance), 0o644))
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
	accept(t, request, passive.EPHandle, active, passive)
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
	forEachInTestbed(t, func(t *testing.T, a *adapter) {
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
	forEachInTestbed(t, func(t *testing.T, a *adapter) {
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
		a.connect(t, a.listen(t), e, a.newEndpoint(t))
		e.connect.empty(t)
	})
}

// An IPv4 address that is mapped to IPv6 means the IPv4 one, also as what an endpoint is connected to.
func TestMappedAddress(t *testing.T) {
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
		accept(t, l.request(t), passive.EPHandle, e, passive)
		if got := e.remote(t); got != own {
			t.Errorf("the endpoint is connected to %v, want %v", got, own)
		}
		disconnect(t, e, passive)
	})
}

// An address has the bytes that its family needs, and no more, and may be that which the endpoint has reported.
func TestLengthOfAddress(t *testing.T) {
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		pages, _ := newPages(t, 2*syscall.Getpagesize())
		do(t, syscall.Mprotect(pages[len(pages)/2:], syscall.PROT_NONE))
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
			accept(t, l.request(t), passive.EPHandle, e, passive)
		}
		connect((*cgo.SockAddr)(unsafe.Pointer(&pages[end])))
		var param cgo.EPParam
		success(t, "EPQuery", cgo.EPQuery(e.EPHandle, cgo.EPFieldAll, &param))
		disconnect(t, e, passive)

		reset(t, e, passive)
		connect(*(**cgo.SockAddr)(unsafe.Pointer(&param.RemoteIAAddressPtr)))
		disconnect(t, e, passive)
	})
}

// nullAddress puts an interface without an address first in the list of interfaces. Tunnels have none.
const nullAddress = `
int getifaddrs(struct ifaddrs **list)
{
	int ret = NEXT(getifaddrs)(list);

	if (ret == 0)
		(*list)->ifa_addr = NULL; /* that of the loopback interface */
	return ret;
}
`

// An interface without an address, such as that of a tunnel, is no reason to crash.
func TestInterfaceWithoutAddress(t *testing.T) {
	preloaded(t, nullAddress, func(*testing.T, *adapter) {})
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
		a.connect(t, a.listen(t), a.newEndpoint(t), a.newEndpoint(t))
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

const otherGIDAt = 100 // 16 bytes of a message of socket CM, after the addresses of the sender

func gidAt(message []byte, at int) netip.Addr { return netip.AddrFrom16([16]byte(message[at:][:16])) }

// A request has the link-local GID, with which a peer with another dapl connects, and that of the adapter's address beside.
func TestGIDsOfRequest(t *testing.T) {
	forEachOddPeer(t, func(t *testing.T, a *adapter, p oddPeer) {
		_, message := p.request(t)
		gid, other := gidAt(message, senderGIDAt), gidAt(message, otherGIDAt)
		own := a.address.Addr()
		if own.IsLinkLocalUnicast() {
			if gid != own.WithZone("") || !other.IsUnspecified() {
				t.Errorf("from %v, the request has the GIDs %v and %v", own, gid, other)
			}
		} else if !gid.IsLinkLocalUnicast() || other.Unmap() != own {
			t.Errorf("from %v, the request has the GIDs %v and %v", own, gid, other)
		}
		message = message[otherGIDAt+16 : messageHeader]
		for _, b := range message {
			if b != 0 {
				t.Fatalf("behind is % x", message)
			}
		}
	})
}

// A link-local address has that GID alone: the peer may have no route to a global one of the interface.
func TestGIDsOfLinkLocalAddress(t *testing.T) {
	if !udattest.InTestbed(t) {
		return
	}
	forEachSocketCM(t, func(t *testing.T, a *adapter) {
		i := a.netInterface(t)
		addAddress(t, i, "fd00:78::5/64", "nodad")
		local := linkLocal(t, i).String()
		reopened(t, a, local, "^TestGIDsOfRequest$", "DAPL_SCM_NETDEV="+local)
	})
}

// A connection has the GID of its own address, not that of the adapter's, or the first of the interface: the peer may have a
// route to that alone.
func TestGIDOfConnection(t *testing.T) {
	if !udattest.InTestbed(t) {
		return
	}
	forEachSocketCM(t, func(t *testing.T, a *adapter) {
		i, to := a.netInterface(t), netip.MustParseAddr("fd00:79::5")
		addAddress(t, i, "fd00:78::5/64", "nodad")
		addAddress(t, i, to.String()+"/64", "nodad")
		_, message := a.oddPeer(t, to).request(t)
		if gid := gidAt(message, otherGIDAt); gid != to {
			t.Errorf("from %v, the request has the GID %v", to, gid)
		}
	})
}

// Socket CM connects with a peer that has the GID at index 0, as another dapl has it, in both directions.
func TestPeerWithFirstGID(t *testing.T) {
	const child = "DEVICETEST_FIRST_GID"
	if !udattest.InTestbed(t) {
		return
	}
	if os.Getenv(child) == "" {
		forEachSocketCM(t, func(t *testing.T, a *adapter) {
			conf := filepath.Join(t.TempDir(), "dat.conf")
			var entries []byte
			for _, name := range []string{"first-scm", "other-scm"} {
				entries = fmt.Appendf(entries, "%s u2.0 nonthreadsafe default libdaploscm.so.2 dapl.2.0 \"%s 1\" \"\"\n", name, a.device)
			}
			do(t, os.WriteFile(conf, entries, 0o644))
			runWith(t, "", "^TestPeerWithFirstGID$", child+"=1", "DAT_OVERRIDE="+conf)
		})
		return
	}
	t.Setenv("DAPL_SCM_GID_INDEX", "0")
	first := openAdapter(t, "first-scm")
	do(t, os.Unsetenv("DAPL_SCM_GID_INDEX"))
	other := openAdapter(t, "other-scm")
	for _, from := range []*adapter{first, other} {
		to := first
		if from == first {
			to = other
		}
		l, active, passive := to.listen(t), from.newEndpoint(t), to.newEndpoint(t)
		from.connect(t, l, active, passive)
		passive.postPieces(t, passive.memory, 0)
		exchange(t, active, passive, active.memory, passive.memory, active.request, passive.recv, 1)
		disconnect(t, active, passive)
	}
}

// changeHardwareAddress has the neighbor table say that the adapter's address has another hardware address. This machine
// itself does not look for it there.
func (a *adapter) changeHardwareAddress(t *testing.T) {
	t.Helper()
	devices, err := device.List()
	do(t, err)
	for _, d := range devices {
		if d.Name == a.device {
			address, netdev := a.address.Addr().String(), d.Ports[0].Interfaces[0]
			ip(t, "neigh", "replace", address, "lladdr", "02:00:00:00:00:99", "dev", netdev)
			ip(t, "neigh", "del", address, "dev", netdev)
		}
	}
}

// A connection goes on when the hardware address of the peer changes. An attempt may end, but for both sides.
func TestChangedHardwareAddress(t *testing.T) {
	forEachInTestbed(t, func(t *testing.T, a *adapter) {
		l, active, passive, late, answer := a.listen(t), a.newEndpoint(t), a.newEndpoint(t), a.newEndpoint(t), a.newEndpoint(t)
		a.connect(t, l, active, passive)
		request := a.ask(t, l, late)
		a.changeHardwareAddress(t)
		a.connect(t, l, a.newEndpoint(t), a.newEndpoint(t)) // its events come later
		active.connect.empty(t)
		passive.connect.empty(t)
		passive.postRecv(t, 1)
		active.deliver(t, 2)
		passive.recv.completion(t, cgo.EventDTOCompletion, 1)

		success(t, "CRAccept", cgo.CRAccept(request, answer.EPHandle, nil))
		ends, peers := late.connect.next(t).Number, answer.connect.next(t).Number
		if (ends == cgo.EventConnectionEstablished) != (peers == cgo.EventConnectionEstablished) {
			t.Errorf("the attempt ends with %v, and with %v for the peer", ends, peers)
		}
	})
}

// quickNeighbours has the kernel look for a neighbor three times in 0.3 seconds instead of 3, and CMA look twice as long.
func quickNeighbours(t *testing.T) {
	t.Helper()
	files, err := filepath.Glob("/proc/sys/net/ipv[46]/neigh/*/retrans_time_ms")
	do(t, err)
	for _, file := range files {
		before, err := os.ReadFile(file)
		do(t, err)
		do(t, os.WriteFile(file, []byte("100"), 0))
		t.Cleanup(func() { os.WriteFile(file, before, 0) })
	}
	t.Setenv("DAPL_CM_ARP_TIMEOUT_MS", "300")
	t.Setenv("DAPL_CM_ARP_RETRY_COUNT", "2")
}

// An address that no host has is unreachable. An attempt with a short time-out does not learn that, whatever earlier ones
// have the kernel do.
func TestUnreachableHost(t *testing.T) {
	if !udattest.InTestbed(t) {
		return
	}
	quickNeighbours(t)
	forEachAdapter(t, func(t *testing.T, a *adapter) {
		address := a.noHost()
		for range 10 {
			e := a.newEndpoint(t)
			e.connectTo(t, address, 1, uint32(70*time.Millisecond/time.Microsecond))
			e.connect.expect(t, cgo.EventConnectionTimedOut)
		}
		e := a.newEndpoint(t)
		e.connectTo(t, address, 1, cgo.TimeoutInfinite)
		e.connect.expect(t, cgo.EventConnectionUnreachable)
		e.wantState(t, cgo.EPStateDisconnected)
		e.connect.empty(t)
	})
}

// failedSocket makes sockets fail with the error that a variable has.
const failedSocket = `
int getsockopt(int fd, int level, int name, void *value, socklen_t *size)
{
	const char *error = getenv("DEVICETEST_ERROR");
	int result = NEXT(getsockopt)(fd, level, name, value, size);

	if (error != NULL && name == SO_ERROR)
		*(int *)value = atoi(error);
	return result;
}
`

// The error of the socket decides what the event is.
func TestErrorsOfSocket(t *testing.T) {
	preloadedSocketCM(t, failedSocket, func(t *testing.T, a *adapter) {
		l, e := a.listen(t), a.newEndpoint(t)
		for _, failure := range []struct {
			error syscall.Errno
			event cgo.EventNumber
		}{
			{syscall.EHOSTUNREACH, cgo.EventConnectionUnreachable},
			{syscall.ENETUNREACH, cgo.EventConnectionUnreachable},
			{syscall.ETIMEDOUT, cgo.EventConnectionUnreachable},
			{syscall.ECONNREFUSED, cgo.EventConnectionNonPeerRejected},
			{syscall.ECONNRESET, cgo.EventConnectionNonPeerRejected},
			{syscall.ENOBUFS, cgo.EventConnectionBroken},
		} {
			t.Setenv("DEVICETEST_ERROR", strconv.Itoa(int(failure.error)))
			a.startConnect(t, l, e, cgo.TimeoutInfinite)
			e.connect.expect(t, failure.event)
			reset(t, e)
		}
	})
}

// namespaceVariable says that this process has a network namespace of its own.
const namespaceVariable = "DEVICETEST_NAMESPACE"

// An adapter opens and closes though the loopback interface is down, with an address or, as in a new network namespace,
// with none.
func TestOpenWithoutLoopback(t *testing.T) {
	if os.Getenv(namespaceVariable) == "" {
		if !udattest.InTestbed(t) {
			return
		}
		self, err := os.Executable()
		do(t, err)
		c := exec.CommandContext(udattest.Context(t), self, "-test.v", "-test.run", "^TestOpenWithoutLoopback$")
		c.Env = append(os.Environ(), namespaceVariable+"=1", "DAPL_SCM_NETDEV=own")
		c.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
		out, err := c.CombinedOutput()
		t.Logf("%s", out)
		if err != nil {
			t.Errorf("a process of its own: %v", err)
		}
		return
	}
	watch(t)
	ip(t, "link", "add", "own", "type", "dummy")
	ip(t, "address", "add", "192.0.2.1/24", "dev", "own") // which the adapter takes as its own
	openAll := func() {
		for _, name := range udattest.Names(t) {
			if strings.Contains(name, "scm") {
				ia, _, r := cgo.IAOpen(name, 8)
				success(t, "IAOpen", r)
				success(t, "IAClose", cgo.IAClose(ia, cgo.CloseGraceful))
			}
		}
	}
	openAll()
	ip(t, "link", "set", "lo", "up") // which adds the address
	ip(t, "link", "set", "lo", "down")
	openAll()
}

func ip(t *testing.T, arguments ...string) {
	t.Helper()
	if out, err := exec.Command("ip", arguments...).CombinedOutput(); err != nil {
		t.Fatalf("ip: %v: %s", err, out)
	}
}

// failedSend makes the next send of what wakes the thread fail once the file exists, as if there were no memory.
const failedSend = `
ssize_t send(int fd, const void *message, size_t size, int flags)
{
	if (size == 2 && unlink(told_file()) == 0) {
		errno = ENOMEM;
		return -1;
	}
	return NEXT(send)(fd, message, size, flags);
}
`

// The thread is woken for an attempt though the first send to it fails.
func TestFailedWake(t *testing.T) {
	preloadedSocketCM(t, failedSend, func(t *testing.T, a *adapter) {
		time.Sleep(100 * time.Millisecond) // the thread has nothing to do any more
		tell(t, "")
		a.oddPeer(t, a.address.Addr()).request(t)
	})
}
