//go:build linux

package device_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/goudat/goudat/udat/device"
	"github.com/goudat/goudat/udat/internal/datconf"
	"github.com/goudat/goudat/udat/udattest"
)

// The entries that WriteConfig writes for the devices of this machine open.
func TestWriteConfig(t *testing.T) {
	p := testPlace(t)
	devices, err := device.List()
	want(t, err)
	var config strings.Builder
	want(t, device.WriteConfig(&config, devices))
	text := config.String()
	task := childTask{Open: []string{"ofa-v2-cma-" + p.netInterface}, List: true}
	if p.bySCM() != "" {
		task.Open = append(task.Open, "ofa-v2-scm-"+p.device.Name+"-1")
	}
	result := child{task: task, config: &text}.run(t)
	for i, o := range result.Opened {
		if o.Provider != task.Open[i] || o.PrivateData != []int{56, 68}[i] {
			t.Errorf("%s is opened as %+v, with the file\n%s", task.Open[i], o, text)
		}
	}
	for _, name := range task.Open {
		if !slices.Contains(result.Providers, name) {
			t.Errorf("the registry is %q, with the file\n%s", result.Providers, text)
		}
	}
}

func TestWriteConfigOfDevices(t *testing.T) {
	devices := []device.Device{
		{Name: "mlx5_0", Ports: []device.Port{{Number: 1, Interfaces: []string{"eth0", "eth0.7"}}, {Number: 2}}},
		{Name: "siw0", Transport: device.TransportIWARP, Ports: []device.Port{{Number: 1, Interfaces: []string{"eth1"}}}},
		{Name: "broken", Err: errors.New("no\nuse")},
		{Name: "odd", Ports: []device.Port{{Number: 1, Interfaces: []string{`a"b\c`, "#d"}}}},
	}
	const text = `ofa-v2-cma-eth0 u2.0 nonthreadsafe default libdaplofa.so.2 dapl.2.0 "eth0 0" ""
ofa-v2-cma-eth0.7 u2.0 nonthreadsafe default libdaplofa.so.2 dapl.2.0 "eth0.7 0" ""
ofa-v2-scm-mlx5_0-1 u2.0 nonthreadsafe default libdaploscm.so.2 dapl.2.0 "mlx5_0 1" ""
ofa-v2-scm-mlx5_0-2 u2.0 nonthreadsafe default libdaploscm.so.2 dapl.2.0 "mlx5_0 2" ""
ofa-v2-cma-eth1 u2.0 nonthreadsafe default libdaplofa.so.2 dapl.2.0 "eth1 0" ""
# no use
"ofa-v2-cma-a\"b\\c" u2.0 nonthreadsafe default libdaplofa.so.2 dapl.2.0 "a\"b\\c 0" ""
"ofa-v2-cma-#d" u2.0 nonthreadsafe default libdaplofa.so.2 dapl.2.0 "#d 0" ""
ofa-v2-scm-odd-1 u2.0 nonthreadsafe default libdaploscm.so.2 dapl.2.0 "odd 1" ""
`
	var got bytes.Buffer
	want(t, device.WriteConfig(&got, devices))
	if diff := cmp.Diff(text, got.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	failure := errors.New("disk full")
	want(t, device.WriteConfig(failingWriter{failure}, devices), failure)

	// The library reads back the names.
	udattest.Names(t)
	content := got.String()
	list := child{task: childTask{List: true}, config: &content}.run(t).Providers
	names := []string{"ofa-v2-cma-eth0", "ofa-v2-cma-eth0.7", "ofa-v2-scm-mlx5_0-1", "ofa-v2-scm-mlx5_0-2", "ofa-v2-cma-eth1", `ofa-v2-cma-a"b\c`, "ofa-v2-cma-#d", "ofa-v2-scm-odd-1"}
	if diff := cmp.Diff(names, list); diff != "" {
		t.Errorf("the library reads (-want +got):\n%s", diff)
	}
}

type failingWriter struct{ err error }

func (w failingWriter) Write([]byte) (int, error) { return 0, w.err }

// What explains the library's failures reads its file as the library does.
func TestConfigReadAsLibraryDoes(t *testing.T) {
	udattest.Names(t)
	const text = `# a comment
  # another
plain u2.0 nonthreadsafe default libx.so dapl.2.0 "eth0 0" ""
	tabs	u2.0	nonthreadsafe	default	libx.so	dapl.2.0	"eth0 0"	""
"with blank" u2.0 nonthreadsafe default libx.so dapl.2.0 "eth0 0" ""
"quo\"te\\" u2.0 nonthreadsafe default libx.so dapl.2.0 "eth0 0" ""
bare u2.0 nonthreadsafe default libx.so dapl.2.0 eth0 none
trailing u2.0 nonthreadsafe default libx.so dapl.2.0 "eth0 0" "" # comment

hidden u2.0 nonthreadsafe nondefault libx.so dapl.2.0 "eth0 0" ""
short u2.0 nonthreadsafe default libx.so dapl.2.0
threads u2.0 threadsafe default libx.so dapl.2.0 "eth0 0" ""
plain u2.0 nonthreadsafe default liby.so dapl.2.0 "eth1 0" ""
last u2.0 nonthreadsafe default libx.so dapl.2.0 "eth0 0" ""`
	config := text
	list := child{task: childTask{List: true}, config: &config}.run(t).Providers
	t.Setenv("DAT_OVERRIDE", writeConfigFile(t, text))
	for _, name := range []string{"plain", "tabs", "with blank", `quo"te\`, "bare", "trailing", "hidden", "short", "threads", "last", "#", "none"} {
		read, listed := datconf.Find(name), slices.Contains(list, name)
		if (len(read) > 0) != listed {
			t.Errorf("of %q the binding reads %q, and the library lists it: %v", name, read, listed)
		}
	}
	if got := fmt.Sprint(datconf.Find("plain")); got != "[{plain libx.so eth0 0} {plain liby.so eth1 0}]" {
		t.Errorf("got %s", got)
	}
}
