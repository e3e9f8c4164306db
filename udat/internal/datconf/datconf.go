// Package datconf reads and writes entries of dat.conf, which is the text of the library's
// registry.
package datconf

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// IsCMA and IsSCM tell which provider a library has, whatever its folder and its version.
func IsCMA(library string) bool { return strings.HasPrefix(filepath.Base(library), "libdaplofa.") }
func IsSCM(library string) bool { return strings.HasPrefix(filepath.Base(library), "libdaploscm.") }

// Entry is what makes a difference in an entry of the registry.
type Entry struct {
	Name         string
	Library      string // of the provider
	InstanceData string // the device, for the provider; called parameters by dat.conf
}

// CMA is the entry of the CMA provider for a network interface, with the name by which Open takes
// it.
func CMA(netInterface string) Entry {
	return Entry{"cma:" + netInterface, "libdaplofa.so.2", netInterface + " 0"}
}

// SCM is the entry of the socket CM provider for a port, with the name by which Open takes it.
func SCM(device string, port int) Entry {
	return Entry{fmt.Sprintf("scm:%s/%d", device, port), "libdaploscm.so.2", device + " " + strconv.Itoa(port)}
}

// Line returns the line of dat.conf for the entry under that name.
func (e Entry) Line(name string) string {
	return fmt.Sprintf("%s u2.0 nonthreadsafe default %s dapl.2.0 %s \"\"\n", plainField(name), plainField(e.Library), quotedField(e.InstanceData))
}

// plainField quotes only what would not be read back as it is.
func plainField(s string) string {
	if s == "" || strings.ContainsAny(s, " \t\"\\#") {
		return quotedField(s)
	}
	return s
}

func quotedField(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}

// File returns the path of the registry's file, as long as the program has
// not changed its environment since it started.
func File() string {
	if file, set := os.LookupEnv("DAT_OVERRIDE"); set {
		return file
	}
	return "/etc/dat.conf"
}

// Find reads the entries of a name from the registry's file, to
// explain what the library made of them. The first whose library loads counts.
func Find(name string) (entries []Entry) {
	text, err := os.ReadFile(File())
	if err != nil {
		return nil
	}
	for line := range strings.Lines(string(text)) {
		if f := fieldsOf(line); f != nil && f[0] == name && f[3] == "default" {
			entries = append(entries, Entry{Name: name, Library: f[4], InstanceData: f[6]})
		}
	}
	return entries
}

// BadLine finds the first line of the registry's file that is neither an entry nor empty nor a
// comment. The library silently ignores such lines.
func BadLine(text string) (number int, line string) {
	for line := range strings.Lines(text) {
		number++
		line = strings.TrimSpace(line)
		if fieldsOf(line) == nil && line != "" && line[0] != '#' {
			return number, line
		}
	}
	return 0, ""
}

// fieldsOf reads an entry: name, version of the API, thread safety, section, library, version of
// the provider, parameters and platform. It returns nil for a line in which one is missing.
func fieldsOf(line string) (fields []string) {
	for len(fields) < 8 {
		field, rest, ok := nextField(line)
		if !ok {
			return nil
		}
		fields, line = append(fields, field), rest
	}
	return fields
}

// nextField takes a field off a line. Fields in quotation marks may have blanks,
// and a backslash takes its meaning from the next character.
func nextField(line string) (field, rest string, ok bool) {
	line = strings.TrimLeft(line, " \t\r\n")
	if line == "" || line[0] == '#' {
		return "", "", false
	}
	if line[0] != '"' {
		end := strings.IndexAny(line+"\n", " \t\r\n")
		return line[:end], line[end:], true
	}
	var text strings.Builder
	for i := 1; i < len(line); i++ {
		switch line[i] {
		case '"':
			return text.String(), line[i+1:], true
		case '\\':
			if i++; i == len(line) {
				return "", "", false
			}
		}
		text.WriteByte(line[i])
	}
	return "", "", false // without its end
}
