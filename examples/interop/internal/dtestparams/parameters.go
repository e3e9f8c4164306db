// Package dtestparams exchanges connection parameters over TCP, for the ports of the native stack's programs dtest and
// dtestx. The layouts are those of the C programs.
package dtestparams

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"strings"
)

const (
	// size is the number of bytes of a message.
	size = 128
	// maxProvider is the longest name for which the C programs have room, without the final zero.
	maxProvider = 63
)

// Parameters are what a side must know about the other side.
type Parameters struct {
	Address  netip.Addr // of the adapter
	Provider string     // the adapter's name
}

// ValidProvider reports whether a name can be sent to a peer.
func ValidProvider(name string) bool {
	return name != "" && len(name) <= maxProvider && !strings.ContainsAny(name, " \t\r\n\x00")
}

// marshal returns the text for TCP. The port's LID, a queue pair's number and the scope come first; they are zero if
// there is an IP address. An IPv4 address is printed as a number in the host's byte order: hosts with different byte
// orders do not understand each other. An IPv6 address follows the provider, without a zone, which is of one host.
func (p Parameters) marshal() ([]byte, error) {
	var four uint32
	six := ""
	if p.Address.Is4() {
		four = binary.NativeEndian.Uint32(p.Address.AsSlice())
	} else {
		six = " " + p.Address.WithZone("").String()
	}
	text := fmt.Sprintf("%04x:%08x:%08x:%08x:%s%s", 0, 0, 0, four, p.Provider, six)
	if len(text) >= size {
		return nil, fmt.Errorf("the provider's name and the address take %d bytes, and there is room for %d: use a provider with a shorter name", len(text), size-1)
	}
	return append([]byte(text), make([]byte, size-len(text))...), nil
}

var errNotUnderstood = errors.New("its message is not understood: it is another program")

func parse(b []byte) (Parameters, error) {
	var p Parameters
	text, _, _ := bytes.Cut(b, []byte{0})
	fields := strings.SplitN(string(text), ":", 5)
	if len(fields) < 5 {
		return p, errNotUnderstood
	}
	provider, six, hasSix := strings.Cut(fields[4], " ")
	if !ValidProvider(provider) {
		return p, errNotUnderstood
	}
	p.Provider = provider
	var numbers [4]uint32
	for i := range numbers {
		if _, err := fmt.Sscanf(fields[i], "%x", &numbers[i]); err != nil {
			return p, errNotUnderstood
		}
	}
	if hasSix {
		address, err := netip.ParseAddr(six)
		if err != nil || !address.Is6() || numbers[3] != 0 {
			return p, errNotUnderstood
		}
		p.Address = address
		return p, nil
	}
	if numbers[3] == 0 {
		return p, fmt.Errorf("its provider %s has no IP address: only the UCM provider does without, which package udat does not serve", p.Provider)
	}
	var four [4]byte
	binary.NativeEndian.PutUint32(four[:], numbers[3])
	p.Address = netip.AddrFrom4(four)
	return p, nil
}
