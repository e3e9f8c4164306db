// Udatinfo shows what uDAPL can do on this machine: the RDMA devices, the adapters that open, their attributes, and why
// the others do not open. See README.md.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"syscall"

	"github.com/goudat/goudat/udat/device"
)

const usage = `Usage: udatinfo [flags] [NAME...]

Prints the RDMA devices of this machine with their ports and GIDs, the adapters of uDAPL and whether they open, the
attributes of those that do, the counters after a message to itself on each, the native libraries, the limits of this
process, and findings: one line for each thing that is in the way, with what to do about it.

NAME is that of an adapter, as programs open it: an entry of dat.conf, a device (mlx5_0), a network interface (eth0), or
either with its provider (scm:mlx5_0/1, cma:eth0). Without any, all entries and all devices are tried.

Flags:
  -json            print the same as JSON
  -config          print entries for dat.conf, for the devices of this machine, and nothing else
  -report          print the limits of each device, for a report to the authors of goudat: a file of the form of
                   scripts/dapl/devicetest/shapes, with all else that udatinfo prints as comments
  -register BYTES  memory to register on each adapter that opens, to try the limit on locked memory, besides what the
                   message needs (default 1048576)

It exits with 0 when an adapter opens, or -config has found a device, else with 1; with 2 for wrong arguments.
`

var errNothing = errors.New("no adapter opens")

func main() {
	out, err := ownStdout()
	if err == nil {
		err = run(os.Args[1:], out)
	}
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
		os.Exit(0)
	case errors.Is(err, errUsage):
		fmt.Fprintf(os.Stderr, "udatinfo: %v\n%s", err, usage)
		os.Exit(2)
	}
	fmt.Fprintln(os.Stderr, "udatinfo:", err)
	os.Exit(1)
}

var errUsage = errors.New("wrong arguments")

// ownStdout redirects the providers' messages, which would go to standard output, into the middle of any JSON. Their
// causes are findings.
func ownStdout() (*os.File, error) {
	fd, err := syscall.Dup(syscall.Stdout)
	if err != nil {
		return nil, os.NewSyscallError("dup", err)
	}
	syscall.CloseOnExec(fd)
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		return nil, err
	}
	defer null.Close()
	err = syscall.Dup3(int(null.Fd()), syscall.Stdout, 0)
	return os.NewFile(uintptr(fd), "standard output"), os.NewSyscallError("dup3", err)
}

func run(args []string, out io.Writer) error {
	flags := flag.NewFlagSet("udatinfo", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	asJSON := flags.Bool("json", false, "")
	config := flags.Bool("config", false, "")
	limits := flags.Bool("report", false, "")
	register := flags.Int("register", 1<<20, "")
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprint(out, usage)
		return err
	case err != nil:
		return fmt.Errorf("%w: %w", errUsage, err)
	case *register < 0:
		return fmt.Errorf("%w: -register %d is negative", errUsage, *register)
	case *config && (*asJSON || flags.NArg() > 0):
		return fmt.Errorf("%w: -config takes neither -json nor names", errUsage)
	case *limits && (*config || *asJSON):
		return fmt.Errorf("%w: -report takes neither -config nor -json", errUsage)
	}
	buffered := bufio.NewWriter(out)
	err := show(buffered, *config, *asJSON, *limits, flags.Args(), *register)
	if flushErr := buffered.Flush(); flushErr != nil {
		return flushErr
	}
	return err
}

func show(out io.Writer, config, asJSON, limits bool, names []string, register int) error {
	if config {
		return showConfig(out)
	}
	r, err := newReport(names, register)
	if err != nil {
		return err
	}
	if asJSON {
		encoder := json.NewEncoder(out)
		encoder.SetIndent("", "  ")
		err = encoder.Encode(r)
	} else if limits {
		err = r.printShapes(out)
	} else {
		err = r.print(out)
	}
	if err == nil && !r.anyOpens() {
		err = errNothing
	}
	return err
}

func showConfig(out io.Writer) error {
	devices, err := device.List()
	if err != nil {
		return err
	}
	if err := device.WriteConfig(out, devices); err != nil {
		return err
	}
	for _, d := range devices {
		if d.Err == nil {
			return nil
		}
	}
	if len(devices) > 0 {
		return errors.New("there is no RDMA device that can be used: udatinfo without -config says why")
	}
	return errors.New("there is no RDMA device: " + withoutDevice)
}
