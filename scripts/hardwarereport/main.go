// Command hardwarereport tries goudat on an RDMA device, on one host or between two. It writes its findings into one
// Markdown file that names no host and no address. It is a part of scripts/report, which builds the programs that it
// runs.
//
// Each step runs other programs: the native library can end or hang the process that uses it, and a device can go away.
// Whatever happens to these programs, the report is written.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

func main() {
	if os.Getenv(peerVariable) != "" {
		os.Exit(runRemote(os.Args[1:]))
	}
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "report:", err)
		os.Exit(1)
	}
}

// settings are the flags.
type settings struct {
	tools    toolbox
	device   string // "" for the first that can be used
	file     string
	server   bool
	connect  string // the server's host
	port     uint
	key      string
	quick    bool
	limit    time.Duration
	patience int
	version  string // of goudat
	stack    string // the native libraries
	compiler string
}

func run(args []string, out io.Writer) error {
	flags := flag.NewFlagSet("hardwarereport", flag.ContinueOnError)
	var s settings
	flags.StringVar(&s.tools.built, "programs", "", "the `folder` of the programs that scripts/report has built")
	flags.StringVar(&s.tools.native, "native", "", "the `folder` of the native stack's programs, if they are not on PATH")
	flags.StringVar(&s.device, "device", "", "the RDMA device, as mlx5_0, or mlx5_0/2 for its port 2")
	flags.StringVar(&s.file, "out", "", "the `file` to write")
	flags.BoolVar(&s.server, "server", false, "answer a client on another host")
	flags.StringVar(&s.connect, "connect", "", "also try everything with the server on this `host`")
	flags.UintVar(&s.port, "port", 7480, "the server's TCP port")
	flags.StringVar(&s.key, "key", os.Getenv(keyVariable), "what the server has said")
	flags.BoolVar(&s.quick, "quick", false, "do only as much as shows that everything works")
	flags.DurationVar(&s.limit, "limit", 10*time.Minute, "time limit for everything")
	flags.IntVar(&s.patience, "patience", 1, "factor for the time limits of the steps, for an emulated machine")
	flags.StringVar(&s.version, "version", "", "that of goudat")
	flags.StringVar(&s.stack, "stack", "", "the native libraries")
	flags.StringVar(&s.compiler, "compiler", "", "the C compiler")
	if err := flags.Parse(args); err != nil {
		return err
	}
	switch {
	case flags.NArg() > 0:
		return fmt.Errorf("there is no argument %s", flags.Arg(0))
	case s.server && s.connect != "":
		return errors.New("-server and -connect exclude each other")
	case s.patience < 1:
		return errors.New("-patience must be 1 or more")
	case s.port == 0 || s.port > 65535:
		return errors.New("-port must be 1 to 65535")
	case s.connect != "" && s.key == "":
		return errors.New("-connect needs the key that the server has printed")
	case !s.server && s.file == "":
		return errors.New("-out is missing")
	}
	work, err := os.MkdirTemp("", "goudat-report-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	here, err := describe(ctx, s, work)
	if err != nil {
		return err
	}
	if s.server {
		if len(here.opened()) == 0 {
			return fmt.Errorf("no adapter of %s opens: %s", here.Device, strings.Join(here.Findings, "; "))
		}
		return serve(ctx, s, here, out)
	}
	var there *host
	if s.connect != "" {
		if there, err = askPeer(ctx, s); err != nil {
			return err
		}
		defer dismissPeer(s)
	}
	r := newReport(s, here, there, work, out)
	incomplete := r.run(ctx)
	return errors.Join(os.WriteFile(s.file, []byte(r.page()), 0o644), incomplete)
}
