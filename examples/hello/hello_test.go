package main

import (
	"flag"
	"io"
	"log"
	"os"
	"strings"
	"testing"

	"github.com/goudat/goudat/udat/udattest"
)

func TestMain(m *testing.M) { udattest.Main(m) }

func TestHello(t *testing.T) {
	arguments := os.Args
	t.Cleanup(func() {
		os.Args = arguments
		log.SetOutput(os.Stderr)
	})
	for _, name := range udattest.Names(t) {
		var output strings.Builder
		log.SetOutput(io.MultiWriter(&output, os.Stderr)) // which shows why it ends, if it does
		os.Args = []string{"hello", name}
		flag.CommandLine = flag.NewFlagSet("hello", flag.ExitOnError)
		main()
		if !strings.HasSuffix(output.String(), `received "hello", cookie 1`+"\n") {
			t.Errorf("%s: hello printed %q", name, output.String())
		}
	}
}
