package opening

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/goudat/goudat/cgo"
)

// PassedOver says in which folders the loader looked for a library in vain, before it found it. It
// returns "" for none.
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

// LoadFailure returns why a library was not loaded. Of one for another processor the
// loader says that there is no such file. A sanitizer calls dlopen in the place of its caller, so
// that the loader does not search the run path of libdat2.
func LoadFailure(path, message string) string {
	if folder := filepath.Dir(cgo.FileOf(0, "dat_ia_openv")); !strings.Contains(path, "/") {
		if _, err := os.Stat(filepath.Join(folder, path)); err == nil {
			return fmt.Sprintf("%s; it is in %s, where the loader does not look for it, as in a program built with -asan: set LD_LIBRARY_PATH=%[2]s", message, folder)
		}
	}
	const beside = "goudat's scripts/native builds the providers beside libdat2: deploy the whole folder, or name the file by its path"
	const ident = 20 // class, order of bytes and processor are in the first bytes of an ELF file
	var library, program [ident]byte
	if !strings.Contains(path, "/") || readStart(path, library[:]) != nil || readStart("/proc/self/exe", program[:]) != nil ||
		!bytes.HasPrefix(library[:], program[:4]) || slices.Equal(library[4:6], program[4:6]) && slices.Equal(library[18:], program[18:]) {
		return message + "; " + beside
	}
	return path + ": it is for another processor than this program; " + beside
}

// readStart fills the buffer with the first bytes of a file.
func readStart(path string, buffer []byte) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	_, err = io.ReadFull(file, buffer)
	return err
}

// cause leaves out of an error what the reader knows already.
func cause(err error) string {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err.Error()
	}
	return err.Error()
}

// enumerate lists the first few.
func enumerate[T any](all []T, name func(T) string) string {
	const most = 6
	var names []string
	for i, one := range all {
		if i == most {
			names = append(names, fmt.Sprintf("%d more", len(all)-most))
			break
		}
		names = append(names, name(one))
	}
	return strings.Join(names, ", ")
}
