//go:build linux && amd64

package main

import (
	"encoding/binary"
	"fmt"
	"syscall"
	"unsafe"
)

// interfaceRequest is struct ifreq of <net/if.h>.
type interfaceRequest struct {
	name  [syscall.IFNAMSIZ]byte
	value [24]byte
}

func interfaceIoctl(name string, request uintptr, fill func(value []byte)) error {
	s, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_DGRAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer syscall.Close(s)
	var r interfaceRequest
	copy(r.name[:len(r.name)-1], name)
	fill(r.value[:])
	_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, uintptr(s), request, uintptr(unsafe.Pointer(&r)))
	if errno != 0 {
		return fmt.Errorf("interface request %#x for %s: %w", request, name, errno)
	}
	return nil
}

func linkUp(name string) error {
	return interfaceIoctl(name, syscall.SIOCSIFFLAGS, func(value []byte) {
		binary.NativeEndian.PutUint16(value, syscall.IFF_UP|syscall.IFF_RUNNING)
	})
}

func setMTU(name string, mtu uint32) error {
	return interfaceIoctl(name, syscall.SIOCSIFMTU, func(value []byte) {
		binary.NativeEndian.PutUint32(value, mtu)
	})
}

func setHardwareAddress(name string, address [6]byte) error {
	return interfaceIoctl(name, syscall.SIOCSIFHWADDR, func(value []byte) {
		binary.NativeEndian.PutUint16(value, syscall.ARPHRD_ETHER)
		copy(value[2:], address[:])
	})
}

func setAddress(name string, address, mask [4]byte) error {
	for _, r := range []struct {
		request uintptr
		value   [4]byte
	}{{syscall.SIOCSIFADDR, address}, {syscall.SIOCSIFNETMASK, mask}} {
		err := interfaceIoctl(name, r.request, func(value []byte) {
			binary.NativeEndian.PutUint16(value, syscall.AF_INET)
			copy(value[4:], r.value[:]) // after the port of struct sockaddr_in
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// The part of <rdma/rdma_netlink.h> that makes a device.
const (
	netlinkRDMA      = 20
	rdmaNewLink      = 5<<10 | 3 // RDMA_NL_NLDEV, RDMA_NLDEV_CMD_NEWLINK
	rdmaDeviceName   = 2
	rdmaNetdevName   = 51
	rdmaLinkType     = 65
	netlinkAlignment = 4
)

// addRDMALink is "rdma link add name type kind netdev netdev".
func addRDMALink(name, kind, netdev string) error {
	s, err := syscall.Socket(syscall.AF_NETLINK, syscall.SOCK_RAW|syscall.SOCK_CLOEXEC, netlinkRDMA)
	if err != nil {
		return err
	}
	defer syscall.Close(s)
	// The kernel answers within the call that sends, so a missing answer must not hold up the boot.
	timeout := syscall.Timeval{Sec: 10}
	if err := syscall.SetsockoptTimeval(s, syscall.SOL_SOCKET, syscall.SO_RCVTIMEO, &timeout); err != nil {
		return err
	}
	message := rdmaNewLinkMessage(name, kind, netdev)
	if err := syscall.Sendto(s, message, 0, &syscall.SockaddrNetlink{Family: syscall.AF_NETLINK}); err != nil {
		return err
	}
	answer := make([]byte, 4096)
	n, _, err := syscall.Recvfrom(s, answer, 0)
	if err != nil {
		return err
	}
	return acknowledged(answer[:n])
}

func rdmaNewLinkMessage(name, kind, netdev string) []byte {
	const flags = syscall.NLM_F_REQUEST | syscall.NLM_F_ACK
	b := make([]byte, syscall.NLMSG_HDRLEN)
	binary.NativeEndian.PutUint16(b[4:], rdmaNewLink)
	binary.NativeEndian.PutUint16(b[6:], flags)
	binary.NativeEndian.PutUint32(b[8:], 1) // sequence number
	b = appendAttribute(b, rdmaDeviceName, name)
	b = appendAttribute(b, rdmaLinkType, kind)
	b = appendAttribute(b, rdmaNetdevName, netdev)
	binary.NativeEndian.PutUint32(b, uint32(len(b)))
	return b
}

func appendAttribute(b []byte, kind uint16, text string) []byte {
	b = binary.NativeEndian.AppendUint16(b, uint16(4+len(text)+1))
	b = binary.NativeEndian.AppendUint16(b, kind)
	b = append(b, text...)
	b = append(b, 0)
	for len(b)%netlinkAlignment != 0 {
		b = append(b, 0)
	}
	return b
}

// acknowledged reads the error number of a netlink answer.
func acknowledged(answer []byte) error {
	if len(answer) < syscall.NLMSG_HDRLEN+4 || binary.NativeEndian.Uint16(answer[4:]) != syscall.NLMSG_ERROR {
		return fmt.Errorf("the kernel's answer is not an acknowledgement: % x", answer)
	}
	if code := int32(binary.NativeEndian.Uint32(answer[syscall.NLMSG_HDRLEN:])); code != 0 {
		return syscall.Errno(-code)
	}
	return nil
}
