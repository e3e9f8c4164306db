package device

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/goudat/goudat/cgo"
)

// PassedOver says in which folders the loader looked for a library in vain, before it found it. It returns "" for none.
func PassedOver(library string) string {
	var tried []string
	forbidden := false
	for _, folder := range libraryFolders() {
		file, err := os.Open(filepath.Join(folder, library))
		if err == nil {
			file.Close()
			break
		}
		forbidden = forbidden || errors.Is(err, fs.ErrPermission)
		tried = append(tried, fmt.Sprintf("%s (%s)", folder, cause(err)))
	}
	if tried == nil {
		return ""
	}
	text := ", after it had looked in " + enumerate(tried, func(s string) string { return s })
	if forbidden {
		text += ": let all users enter and read that folder, or use scripts/native --prefix /usr/local"
	}
	return text
}

// libraryFolders are those of the environment and of this program.
func libraryFolders() (folders []string) {
	self, _ := os.Executable()
	for _, path := range []string{os.Getenv("LD_LIBRARY_PATH"), cgo.RunPath()} {
		for _, folder := range strings.FieldsFunc(path, func(r rune) bool { return r == ':' || r == ';' }) {
			folder = strings.NewReplacer("$ORIGIN", filepath.Dir(self), "${ORIGIN}", filepath.Dir(self)).Replace(folder)
			if !strings.Contains(folder, "$") { // the loader has other words, too
				folders = append(folders, folder)
			}
		}
	}
	return folders
}
