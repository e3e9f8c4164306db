package device

import (
	"fmt"
	"io"
	"strings"

	"github.com/goudat/goudat/udat/internal/datconf"
)

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
				text.WriteString(datconf.CMA(name).Line("ofa-v2-cma-" + name))
			}
			if d.Transport != TransportIWARP {
				text.WriteString(datconf.SCM(d.Name, port.Number).Line(fmt.Sprintf("ofa-v2-scm-%s-%d", d.Name, port.Number)))
			}
		}
	}
	_, err := io.WriteString(w, text.String())
	return err
}
