// Pingpong takes two endpoints through their lives, in two processes. They connect, exchange messages, write and read
// memory by RDMA, check every byte, and disconnect, gracefully and abruptly. See README.md.
package main

import (
	"errors"
	"flag"
	"fmt"
	"log"
	"net/netip"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/goudat/goudat/examples/internal/adapter"
)

var (
	providers  = flag.String("provider", os.Getenv("UDAT_TEST_IA"), "`names` of the adapters to use, separated by commas; default: $UDAT_TEST_IA, else all of the registry that open")
	sizeList   = flag.String("sizes", "0,1,64,1024,4096,65536", "message sizes in `bytes`, separated by commas")
	count      = flag.Int("count", 50, "round trips for each size")
	qual       = flag.Uint("qual", 7471, "connection qualifier that the server listens on")
	disconnect = flag.String("disconnect", "", "graceful or abrupt; default: one run of each, or graceful with -connect")
	timeout    = flag.Duration("timeout", 2*time.Minute, "time limit of one run")
	server     = flag.Bool("server", false, "be the server, for one client")
	host       = flag.String("connect", "", "be the client of the server on `host`")
	verbose    = flag.Bool("verbose", false, "show each step, and the endpoint's status at each")
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("pingpong: ")
	flag.Parse()
	sizes, err := parseSizes(*sizeList)
	modes := []string{"graceful", "abrupt"}
	switch {
	case err != nil:
		err = fmt.Errorf("-sizes: %w", err)
	case flag.NArg() > 0:
		err = fmt.Errorf("unexpected argument %q", flag.Arg(0))
	case *server && *host != "":
		err = errors.New("-server and -connect exclude each other")
	case *count < 1 || *timeout <= 0:
		err = errors.New("-count and -timeout must be more than 0")
	case slices.Contains(modes, *disconnect):
		modes = []string{*disconnect}
	case *disconnect != "":
		err = errors.New("-disconnect must be graceful or abrupt")
	}
	if err != nil {
		log.Print(err)
		os.Exit(2)
	}
	names := must(adapter.Names(*providers))
	switch {
	case *server:
		serve(names[0], func(netip.Addr) {})
		return
	case *host != "":
		dial(names[0], modes[0], sizes)
		return
	}
	for _, name := range names {
		for _, mode := range modes {
			fmt.Printf("== %s, %s disconnect\n", name, mode)
			both(name, mode)
		}
	}
	fmt.Printf("pingpong: two processes exchanged messages, wrote and read memory, and disconnected, over %s: every byte was right\n",
		strings.Join(names, " and "))
}

// both is the server, and starts a client in another process of this program, which gets its flags and some more.
func both(name, mode string) {
	ended := make(chan struct{})
	serve(name, func(address netip.Addr) {
		flags := []string{"-provider", name, "-disconnect", mode, "-connect", address.String()}
		client := exec.Command(os.Args[0], slices.Concat(os.Args[1:], flags)...)
		client.Stdout, client.Stderr = os.Stdout, os.Stderr
		check(client.Start())
		go func() {
			if err := client.Wait(); err != nil {
				log.Fatalf("the client: %v", err)
			}
			close(ended)
		}()
	})
	<-ended
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func must[T any](value T, err error) T {
	check(err)
	return value
}
