package main

import (
	"net"
	"net/netip"
	"os"
	"regexp"
	"slices"
	"strings"
)

// cleaner removes what identifies a host, a network or a user from the output of other programs.
type cleaner struct{ names, addresses []string }

// hidden are the names and addresses of a host that the report must not have.
type hidden struct{ Names, Addresses []string }

// ownHidden are those of this host.
func ownHidden() hidden {
	var h hidden
	name := func(names ...string) {
		for _, n := range names {
			// A name this short is more likely an ordinary word.
			if len(n) > 2 && !slices.Contains(h.Names, n) && n != "localhost" && n != "root" {
				h.Names = append(h.Names, n)
			}
		}
	}
	if host, err := os.Hostname(); err == nil {
		short, domain, _ := strings.Cut(host, ".")
		name(host, domain, short)
	}
	if domain, err := os.ReadFile("/proc/sys/kernel/domainname"); err == nil && !strings.HasPrefix(string(domain), "(") {
		name(strings.TrimSpace(string(domain)))
	}
	name(os.Getenv("USER"), os.Getenv("SUDO_USER"))
	if home, err := os.UserHomeDir(); err == nil && home != "/" {
		name(home)
	}
	addresses, _ := net.InterfaceAddrs()
	for _, a := range addresses {
		if prefix, err := netip.ParsePrefix(a.String()); err == nil && !prefix.Addr().IsLoopback() {
			h.Addresses = append(h.Addresses, prefix.Addr().String())
		}
	}
	return h
}

func newCleaner(hosts ...hidden) *cleaner {
	c := &cleaner{}
	for _, h := range hosts {
		c.names = append(c.names, h.Names...)
		c.addresses = append(c.addresses, h.Addresses...)
	}
	// A name can be a part of another.
	longest := func(a, b string) int { return len(b) - len(a) }
	slices.SortStableFunc(c.names, longest)
	slices.SortStableFunc(c.addresses, longest)
	return c
}

const (
	anAddress = "(address)"
	aName     = "(name)"
)

var (
	dotted = regexp.MustCompile(`\d{1,3}(\.\d{1,3}){3}`)
	colons = regexp.MustCompile(`[0-9A-Fa-f]*(:[0-9A-Fa-f.]*){2,}(%\w+)?`)
	guid   = regexp.MustCompile(`(?i)\b[0-9a-f]{4}(:[0-9a-f]{4}){3}\b|\b0x[0-9a-f]{16}\b`)
	// Hardware addresses of 6 to 20 bytes, and GIDs of bytes in decimal numbers, as perftest prints them.
	octets    = regexp.MustCompile(`(?i)\b[0-9a-f]{2,3}([:-][0-9a-f]{2,3}){5,19}\b`)
	namedByID = regexp.MustCompile(`\b(enx|ibx|iwx|rocex|opax)[0-9a-f]{12,16}`)
)

// text cleans free text. Whatever looks like an address counts as one.
func (c *cleaner) text(s string) string {
	s = c.known(s)
	s = namedByID.ReplaceAllString(s, "$1"+anAddress)
	s = octets.ReplaceAllString(s, anAddress)
	s = colons.ReplaceAllStringFunc(s, func(found string) string {
		address, err := netip.ParseAddr(strings.TrimRight(found, ".:"))
		if err != nil || address.IsUnspecified() || address.IsLoopback() {
			return found
		}
		return anAddress
	})
	s = guid.ReplaceAllString(s, anAddress)
	return dotted.ReplaceAllStringFunc(s, func(found string) string {
		address, err := netip.ParseAddr(found)
		if err != nil || address.IsUnspecified() || address.IsLoopback() {
			return found
		}
		return anAddress
	})
}

// known cleans text in which other numbers, such as versions, can look like addresses.
func (c *cleaner) known(s string) string {
	for _, address := range c.addresses {
		s = replaceWord(s, address, anAddress)
	}
	for _, name := range c.names {
		s = replaceWord(s, name, aName)
	}
	return s
}

// replaceWord replaces a word that has no letter or digit next to it.
func replaceWord(s, word, by string) string {
	var b strings.Builder
	lower, find := strings.ToLower(s), strings.ToLower(word)
	if len(lower) != len(s) {
		lower, find = s, word
	}
	rest := 0
	for {
		i := strings.Index(lower[rest:], find)
		if i < 0 {
			return b.String() + s[rest:]
		}
		i += rest
		end := i + len(word)
		b.WriteString(s[rest:i])
		if i > 0 && wordByte(s[i-1]) && wordByte(word[0]) || end < len(s) && wordByte(s[end]) && wordByte(word[len(word)-1]) {
			b.WriteString(s[i:end])
		} else {
			b.WriteString(by)
		}
		rest = end
	}
}

func wordByte(b byte) bool {
	return b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b == '_'
}
