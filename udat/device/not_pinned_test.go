package device

import (
	"errors"
	"strings"
	"testing"
)

func TestMappingProblem(t *testing.T) {
	const maps = `10000-12000 r--p 00000000 08:01 131 /usr/bin/program
12000-14000 rw-p 00002000 08:01 131 /usr/bin/program
14000-15000 ---p 00000000 00:00 0
20000-30000 rw-p 00000000 00:00 0 [heap]
ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0 [vsyscall]
`
	const read, write = "", "to write"
	for _, c := range []struct {
		address, size uint64
		writing       string
		want          error
		words         string
	}{
		{0x10000, 0x2000, read, nil, ""},
		{0x10000, 0x4000, read, nil, ""},
		{0x12000, 0x2000, write, nil, ""},
		{0x20001, 0xffff, write, nil, ""},
		{0x10010, 1, write, ProblemReadOnlyMemory, "from byte 0 on"},
		{0x11000, 0x2000, write, ProblemReadOnlyMemory, "0x11000"},
		{0x12000, 0x2001, read, ProblemUnreadableMemory, "from byte 8192 on"},
		{0x15000, 1, read, ProblemUnmappedMemory, "0x15000"},
		{0x20000, 0x10001, read, ProblemUnmappedMemory, "byte 65536 "},
		{0x1000, 0x10000, read, ProblemUnmappedMemory, "0x1000,"},
		{0xffffffffffff0000, 0x1000, read, ProblemUnmappedMemory, "0xffffffffffff0000"},
	} {
		err := mappingProblem(maps, c.address, c.size, c.writing)
		switch {
		case c.want == nil && err != nil, c.want != nil && !errors.Is(err, c.want):
			t.Errorf("%d bytes at 0x%x with the privileges %q: %v, want %v", c.size, c.address, c.writing, err, c.want)
		case err != nil && !strings.Contains(err.Error(), c.words):
			t.Errorf("%d bytes at 0x%x with the privileges %q: %q does not say %q", c.size, c.address, c.writing, err, c.words)
		}
	}
	for _, maps := range []string{"", "nonsense\n", "x-y rw-p\n"} {
		if err := mappingProblem(maps, 0x10000, 1, read); err != nil { // nothing is known
			t.Errorf("of %q: %v", maps, err)
		}
	}
}
