package device

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// The libraries of the providers that this package is for.
const (
	cmaLibrary = "libdaplofa.so.2"
	scmLibrary = "libdaploscm.so.2"
)

// isCMA and IsSCM tell which provider a library has, whatever its folder and its
// version.
func isCMA(library string) bool { return strings.HasPrefix(filepath.Base(library), "libdaplofa.") }
func IsSCM(library string) bool { return strings.HasPrefix(filepath.Base(library), "libdaploscm.") }

// WriteConfig writes entries for the devices in the format of dat.conf: one of
// the CMA provider for each network interface, "ofa-v2-cma-eth0", and one of the
// socket CM provider for each port, "ofa-v2-scm-mlx5_0-1". What comes from
// List makes a file that DAT_OVERRIDE can name, or lines for /etc/dat.conf.
//
// Devices with an Err have no ports and get a comment that says why. The socket
// CM provider cannot drive iWARP devices, which get no entry for it.
func WriteConfig(w io.Writer, devices []Device) error {
	var text strings.Builder
	for _, d := range devices {
		if d.Err != nil {
			fmt.Fprintf(&text, "# %s\n", strings.ReplaceAll(d.Err.Error(), "\n", " "))
			continue
		}
		for _, port := range d.Ports {
			for _, name := range port.Interfaces {
				text.WriteString(newConfigEntry("ofa-v2-cma-"+name, cmaLibrary, cmaInstance(name)).line())
			}
			if d.Transport != TransportIWARP {
				name := fmt.Sprintf("ofa-v2-scm-%s-%d", d.Name, port.Number)
				text.WriteString(newConfigEntry(name, scmLibrary, scmInstance(d.Name, port.Number)).line())
			}
		}
	}
	_, err := io.WriteString(w, text.String())
	return err
}

// The instance data, which entries call parameters, name the device to a provider.
func cmaInstance(netInterface string) string     { return netInterface + " 0" }
func scmInstance(device string, port int) string { return device + " " + strconv.Itoa(port) }
func splitInstance(data string) (device, port string) {
	device, port, _ = strings.Cut(data, " ")
	return
}

// configEntry is a line of dat.conf, field by field.
type configEntry struct {
	name            string
	api             string
	threadSafety    string
	section         string
	library         string
	providerVersion string
	parameters      string
	platform        string
}

func newConfigEntry(name, library, parameters string) configEntry {
	return configEntry{name, "u2.0", "nonthreadsafe", "default", library, "dapl.2.0", parameters, ""}
}

func (e configEntry) line() string {
	return strings.Join([]string{plainField(e.name), e.api, e.threadSafety, e.section, plainField(e.library), e.providerVersion,
		quotedField(e.parameters), quotedField(e.platform)}, " ") + "\n"
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

// configFile returns the path of the registry's file, as long as the program has
// not changed its environment since it started.
func configFile() string {
	if file, set := os.LookupEnv("DAT_OVERRIDE"); set {
		return file
	}
	return "/etc/dat.conf"
}

// LibrariesOf lists the libraries of the entries that the registry's file has for a name. The first
// that loads counts.
func LibrariesOf(name string) (libraries []string) {
	for _, e := range findConfigEntries(name) {
		libraries = append(libraries, e.library)
	}
	return libraries
}

// findConfigEntries reads the entries of a name from the registry's file, to
// explain what the library made of them. The first whose library loads counts.
func findConfigEntries(name string) (entries []configEntry) {
	text, err := os.ReadFile(configFile())
	if err != nil {
		return nil
	}
	for line := range strings.Lines(string(text)) {
		if e, ok := parseConfigEntry(line); ok && e.name == name && e.section == "default" {
			entries = append(entries, e)
		}
	}
	return entries
}

// badConfigLine finds the first line of the registry's file that is neither an entry nor empty nor a comment. The library
// silently ignores such lines.
func badConfigLine(text string) (number int, line string) {
	for line := range strings.Lines(text) {
		number++
		line = strings.TrimSpace(line)
		if _, ok := parseConfigEntry(line); !ok && line != "" && line[0] != '#' {
			return number, line
		}
	}
	return 0, ""
}

// parseConfigEntry reads a line. It is not one where a field is missing.
func parseConfigEntry(line string) (configEntry, bool) {
	var fields []string
	for len(fields) < 8 {
		field, rest, ok := nextField(line)
		if !ok {
			return configEntry{}, false
		}
		fields, line = append(fields, field), rest
	}
	return configEntry{fields[0], fields[1], fields[2], fields[3], fields[4], fields[5], fields[6], fields[7]}, true
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
