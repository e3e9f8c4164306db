package devicetest

import (
	"bytes"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/goudat/goudat/cgo"

	"github.com/goudat/goudat/udat/udattest"
)

// netInterface returns the network interface of the adapter's device.
func (a *adapter) netInterface(t *testing.T) *net.Interface {
	t.Helper()
	i, err := net.InterfaceByName(deviceNamed(t, a.device).Ports[0].Interfaces[0])
	do(t, err)
	return i
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
func addAddress(t *testing.T, i *net.Interface, prefix string) {
	t.Helper()
	changeAddress(t, i, "add", prefix)
	t.Cleanup(func() { changeAddress(t, i, "delete", prefix) })
}

// changeAddress has the kernel look for no duplicates of an IPv6 address.
func changeAddress(t *testing.T, i *net.Interface, verb, prefix string) {
	t.Helper()
	line := "ip address " + verb + " " + prefix + " dev " + i.Name
	if strings.Contains(prefix, ":") {
		line += " nodad"
	}
	command(t, line)
}

// setFile writes a setting of the kernel until the test ends.
func setFile(t *testing.T, file, value string) {
	t.Helper()
	before, err := os.ReadFile(file)
	do(t, err)
	t.Cleanup(func() { os.WriteFile(file, before, 0) })
	do(t, os.WriteFile(file, []byte(value), 0))
}

// reopened runs a test in a process of its own on an adapter of the same provider with another name, and settings.
func reopened(t *testing.T, a *adapter, name string, test string, environment ...string) {
	t.Helper()
	entry, library, instance := "other-cma", "libdaplofa.so.2", name+" 0"
	if isSocketCM(a) {
		entry, library, instance = "other-scm", "libdaploscm.so.2", a.device+" 1"
	}
	runWith(t, "", test, append(environment, config(t, [3]string{entry, library, instance}), "UDAT_TEST_IA="+entry)...)
}

// config writes a dat.conf of names, libraries and instance data, and returns the environment with it.
func config(t *testing.T, entries ...[3]string) string {
	t.Helper()
	file, lines := filepath.Join(t.TempDir(), "dat.conf"), []byte(nil)
	for _, e := range entries {
		lines = fmt.Appendf(lines, "%s u2.0 nonthreadsafe default %s dapl.2.0 %q \"\"\n", e[0], e[1], e[2])
	}
	do(t, os.WriteFile(file, lines, 0o644))
	return "DAT_OVERRIDE=" + file
}

func (e *endpoint) remote(t *testing.T) netip.Addr {
	t.Helper()
	return cgo.SockAddrAt(e.query(t).RemoteIAAddressPtr).Addr()
}

// connectAt connects to an address of the adapter, and expects that both sides report the adapter's own as the peer's.
func (a *adapter) connectAt(t *testing.T, to netip.Addr) {
	t.Helper()
	l, active, passive, own := a.listen(t), a.newEndpoint(t), a.newEndpoint(t), a.address.Addr()
	address := cgo.NewSockAddr(to)
	active.connectTo(t, &address, l.qual, cgo.TimeoutInfinite)
	request := l.request(t)
	var param cgo.CRParam
	success(t, "CRQuery", cgo.CRQuery(request, cgo.CRFieldAll, &param))
	same(t, "where the request comes from", cgo.SockAddrAt(param.RemoteIAAddressPtr).Addr(), own)
	accept(t, request, passive.EPHandle, active, passive)
	same(t, "the peer", active.remote(t), own)
	same(t, "the peer's peer", passive.remote(t), own)
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
			check(t, own.String() == want, "the adapter has the address %v, want %s", own, want)
			a.connectAt(t, own)
			a.connectAt(t, own.WithZone(""))
		})
		return
	}
	forEachInTestbed(t, func(t *testing.T, a *adapter) {
		i := a.netInterface(t)
		addAddress(t, i, "fd00:78::5/64")
		addAddress(t, i, "10.78.0.5/24")
		local, usual, first := linkLocal(t, i), a.address.Addr(), a.address.Addr().String()
		if usual.Is6() {
			first = "10.78.0.5"
		}
		for name, want := range map[string]string{
			i.Name:                          first, // of IPv4
			usual.String():                  usual.String(),
			"fd00:78::5":                    "fd00:78::5",
			"::ffff:10.78.0.5":              "10.78.0.5",
			local.String():                  local.WithZone(i.Name).String(),
			local.WithZone(i.Name).String(): local.WithZone(i.Name).String(),
		} {
			reopened(t, a, name, "^TestNamesOfAddresses$", ownVariable+"="+want, "DAPL_SCM_NETDEV="+name)
		}
	})
}

// An address of no interface, or one that may be a duplicate, opens no adapter. The interface's name opens one on another.
func TestUnusableAddresses(t *testing.T) {
	const child = "DEVICETEST_UNUSABLE"
	if os.Getenv(child) != "" {
		for _, name := range udattest.Names(t) {
			_, _, r := cgo.IAOpen(name, 8)
			check(t, !r.OK(), "%s opens", name)
		}
		return
	}
	forEachInTestbed(t, func(t *testing.T, a *adapter) {
		i := a.netInterface(t)
		setFile(t, settings+i.Name+"/accept_dad", "1")
		setFile(t, settings+i.Name+"/dad_transmits", "60") // seconds
		command(t, "ip address add fd00:79::5/64 dev "+i.Name)
		t.Cleanup(func() { changeAddress(t, i, "delete", "fd00:79::5/64") })
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
			return
		}
		var mapped cgo.SockAddr // NewSockAddr makes an IPv4 one of it
		*(*uint16)(unsafe.Pointer(&mapped)) = syscall.AF_INET6
		ip := own.As16()
		copy(mapped[8:], ip[:])
		l, e, passive := a.listen(t), a.newEndpoint(t), a.newEndpoint(t)
		e.connectTo(t, &mapped, l.qual, cgo.TimeoutInfinite)
		accept(t, l.request(t), passive.EPHandle, e, passive)
		same(t, "the endpoint is connected to", e.remote(t), own)
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
		param := e.query(t)
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

const settings = "/proc/sys/net/ipv6/conf/" // of interfaces

func (a *adapter) hasGID(address netip.Addr) bool {
	files, _ := filepath.Glob("/sys/class/infiniband/" + a.device + "/ports/1/gids/*")
	return slices.ContainsFunc(files, func(file string) bool {
		text, _ := os.ReadFile(file)
		return strings.TrimSpace(string(text)) == netip.AddrFrom16(address.As16()).StringExpanded()
	})
}

// An address that is taken away and comes back has its GID at another index.
func TestAddressComesBack(t *testing.T) {
	forEachSocketCMInTestbed(t, func(t *testing.T, a *adapter) {
		own, between, length := a.address.Addr(), netip.MustParseAddr("10.78.0.5"), "/24"
		if own.Is6() {
			between, length = netip.MustParseAddr("fd00:78::5"), "/64"
		}
		i := a.netInterface(t)
		change := func(verb string, address netip.Addr) {
			changeAddress(t, i, verb, address.String()+length)
			eventually(t, verb+" "+address.String(), func() bool { return a.hasGID(address) == (verb == "add") })
		}
		change("delete", own)
		change("add", between)
		change("add", own)
		change("delete", between)
		a.connectedPair(t)
	})
}

// Socket CM connects over IPv6 while the interface has no link-local address, and over IPv4 while it has no IPv6 at all.
// The GID at index 0 is still in the table then, and of no use.
func TestNoLinkLocalAddress(t *testing.T) {
	forEachSocketCMInTestbed(t, func(t *testing.T, a *adapter) {
		i := a.netInterface(t)
		connectFrom := func(t *testing.T, prefix string) {
			addAddress(t, i, prefix)
			own := netip.MustParsePrefix(prefix).Addr()
			eventually(t, "it has its GID", func() bool { return a.hasGID(own) })
			reopened(t, a, "", "^TestNamesOfAddresses$", ownVariable+"="+own.String(), "DAPL_SCM_NETDEV="+own.String())
		}
		t.Run("IPv6", func(t *testing.T) {
			local := linkLocal(t, i).String() + "/64"
			changeAddress(t, i, "delete", local)
			t.Cleanup(func() { changeAddress(t, i, "add", local) })
			connectFrom(t, "fd00:78::5/64")
		})
		t.Run("IPv4", func(t *testing.T) {
			t.Cleanup(func() {
				if usual := a.address.Addr(); usual.Is6() {
					changeAddress(t, i, "add", usual.String()+"/64")
				}
			})
			setFile(t, settings+i.Name+"/disable_ipv6", "1")
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
		right := gid.IsLinkLocalUnicast() && other.Unmap() == own
		if own.IsLinkLocalUnicast() {
			right = gid == own.WithZone("") && other.IsUnspecified()
		}
		check(t, right, "from %v, the request has the GIDs %v and %v", own, gid, other)
		behind := message[otherGIDAt+16 : messageHeader]
		check(t, len(bytes.Trim(behind, "\x00")) == 0, "behind is % x", behind)
	})
}

// A link-local address has that GID alone: the peer may have no route to a global one of the interface.
func TestGIDsOfLinkLocalAddress(t *testing.T) {
	forEachSocketCMInTestbed(t, func(t *testing.T, a *adapter) {
		i := a.netInterface(t)
		addAddress(t, i, "fd00:78::5/64")
		local := linkLocal(t, i).String()
		reopened(t, a, local, "^TestGIDsOfRequest$", "DAPL_SCM_NETDEV="+local)
	})
}

// A connection has the GID of its own address: the peer may have a route to that alone.
func TestGIDOfConnection(t *testing.T) {
	forEachSocketCMInTestbed(t, func(t *testing.T, a *adapter) {
		i, to := a.netInterface(t), netip.MustParseAddr("fd00:79::5")
		addAddress(t, i, "fd00:78::5/64")
		addAddress(t, i, to.String()+"/64")
		_, message := a.oddPeer(t, to).request(t)
		same(t, "the GID of the request", gidAt(message, otherGIDAt), to)
	})
}

// Socket CM connects with a peer that has the GID at index 0, as another dapl has it, in both directions.
func TestPeerWithFirstGID(t *testing.T) {
	const child = "DEVICETEST_FIRST_GID"
	if os.Getenv(child) == "" {
		forEachSocketCMInTestbed(t, func(t *testing.T, a *adapter) {
			const library = "libdaploscm.so.2"
			entries := config(t, [3]string{"first-scm", library, a.device + " 1"}, [3]string{"other-scm", library, a.device + " 1"})
			runWith(t, "", "^TestPeerWithFirstGID$", child+"=1", entries)
		})
		return
	}
	t.Setenv("DAPL_SCM_GID_INDEX", "0")
	first := openAdapter(t, "first-scm")
	do(t, os.Unsetenv("DAPL_SCM_GID_INDEX"))
	other := openAdapter(t, "other-scm")
	for from, to := range map[*adapter]*adapter{first: other, other: first} {
		l, active, passive := to.listen(t), from.newEndpoint(t), to.newEndpoint(t)
		from.connect(t, l, active, passive)
		passive.postPieces(t, passive.memory, 0)
		exchange(t, active, passive, active.memory, passive.memory, active.request, passive.recv, 1)
		disconnect(t, active, passive)
	}
}

// A connection goes on when the hardware address of the peer changes. An attempt may end, but for both sides.
func TestChangedHardwareAddress(t *testing.T) {
	forEachInTestbed(t, func(t *testing.T, a *adapter) {
		l, active, passive, late, answer := a.listen(t), a.newEndpoint(t), a.newEndpoint(t), a.newEndpoint(t), a.newEndpoint(t)
		a.connect(t, l, active, passive)
		request := a.ask(t, l, late)
		// This machine itself does not look for it there.
		neighbor, on := a.address.Addr().String(), " dev "+a.netInterface(t).Name
		command(t, "ip neigh replace "+neighbor+" lladdr 02:00:00:00:00:99"+on)
		command(t, "ip neigh del "+neighbor+on)
		a.connect(t, l, a.newEndpoint(t), a.newEndpoint(t)) // its events come later
		active.connect.empty(t)
		passive.connect.empty(t)
		passive.postRecv(t, 1)
		active.deliver(t, 2)
		passive.recv.completion(t, cgo.EventDTOCompletion, 1)

		success(t, "CRAccept", cgo.CRAccept(request, answer.EPHandle, nil))
		ends, peers := late.connect.next(t).Number, answer.connect.next(t).Number
		check(t, (ends == cgo.EventConnectionEstablished) == (peers == cgo.EventConnectionEstablished),
			"the attempt ends with %v, and with %v for the peer", ends, peers)
	})
}

// An address that no host has is unreachable, whatever earlier attempts with short time-outs have the kernel do.
func TestUnreachableHost(t *testing.T) {
	if !udattest.InTestbed(t) {
		return
	}
	// The kernel looks for a neighbor three times in 0.3 seconds instead of 3, and CMA twice as long.
	files, err := filepath.Glob("/proc/sys/net/ipv[46]/neigh/*/retrans_time_ms")
	do(t, err)
	for _, file := range files {
		setFile(t, file, "100")
	}
	t.Setenv("DAPL_CM_ARP_TIMEOUT_MS", "300")
	t.Setenv("DAPL_CM_ARP_RETRY_COUNT", "2")
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
		for failure, event := range map[syscall.Errno]cgo.EventNumber{
			syscall.EHOSTUNREACH: cgo.EventConnectionUnreachable,
			syscall.ENETUNREACH:  cgo.EventConnectionUnreachable,
			syscall.ETIMEDOUT:    cgo.EventConnectionUnreachable,
			syscall.ECONNREFUSED: cgo.EventConnectionNonPeerRejected,
			syscall.ECONNRESET:   cgo.EventConnectionNonPeerRejected,
			syscall.ENOBUFS:      cgo.EventConnectionBroken,
		} {
			t.Setenv("DEVICETEST_ERROR", strconv.Itoa(int(failure)))
			a.startConnect(t, l, e, cgo.TimeoutInfinite)
			e.connect.expect(t, event)
			reset(t, e)
		}
	})
}

// namespaceVariable says that this process has a network namespace of its own.
const namespaceVariable = "DEVICETEST_NAMESPACE"

// An adapter opens and closes though the loopback interface is down, with an address or, as in a new namespace, with none.
func TestOpenWithoutLoopback(t *testing.T) {
	if os.Getenv(namespaceVariable) == "" {
		if !udattest.InTestbed(t) {
			return
		}
		c := newProcess(t, "", "^TestOpenWithoutLoopback$", namespaceVariable+"=1", "DAPL_SCM_NETDEV=own")
		c.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
		runProcess(t, c)
		return
	}
	watch(t)
	command(t, "ip link add own type dummy")
	command(t, "ip address add 192.0.2.1/24 dev own") // which the adapter takes as its own
	openAll := func() {
		for _, name := range udattest.Names(t) {
			if namesSocketCM(name) {
				ia, _, r := cgo.IAOpen(name, 8)
				success(t, "IAOpen", r)
				success(t, "IAClose", cgo.IAClose(ia, cgo.CloseGraceful))
			}
		}
	}
	openAll()
	command(t, "ip link set lo up") // which adds the address
	command(t, "ip link set lo down")
	openAll()
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
