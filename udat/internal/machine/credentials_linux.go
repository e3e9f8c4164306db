//go:build !(386 || arm || mips || mipsle)

package machine

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/goudat/goudat/udat/internal/problem"
)

// Credentials reports that the process has changed its credentials since it opened one of the
// device files whose paths begin with prefix, nil if all is well. The kernel then refuses calls on
// that: all of the CMA provider's, and those of some drivers. The library's codes mostly do not
// tell. Credentials asks the kernel, with a call that is too short to do anything. A file that is
// open more than once is right if one call is allowed.
func Credentials(prefix string) error {
	const folder = "/proc/self/fd"
	refused := map[string]bool{}
	files, _ := os.ReadDir(folder)
	for _, file := range files {
		path, err := os.Readlink(filepath.Join(folder, file.Name()))
		if err != nil || !strings.HasPrefix(path, prefix) {
			continue
		}
		fd, _ := strconv.Atoi(file.Name())
		// The file may be closed at any time, and its number become that of another.
		own, err := Duplicate(fd)
		if err != nil {
			continue
		}
		if same, _ := os.Readlink(filepath.Join(folder, strconv.Itoa(int(own)))); same == path {
			_, err := syscall.Write(int(own), []byte{0})
			before, seen := refused[path]
			refused[path] = err == syscall.EACCES && (before || !seen)
		}
		syscall.Close(int(own))
	}
	for path, all := range refused {
		if all {
			return fmt.Errorf("%w: its user, group or capabilities are no longer those with which it opened %s, and the kernel refuses calls on that: "+
				"connections fail, and listeners of the CMA provider hear nothing any more; call setuid and the like before the first Open, or open in a new process", problem.Credentials, path)
		}
	}
	return nil
}
