// Command sidebyside runs programs in C and in Go that do the same work, by turns, and prints what they measure as Go's
// benchmarks do, for benchstat. It is a part of scripts/bench.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"syscall"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// programs are the twins.
type programs struct{ c, golang string }

// settings are what the flags set.
type settings struct {
	programs
	rounds     int
	few        bool // operations and endpoints, only to see that everything works
	only       *regexp.Regexp
	processors int // only measurements that need this many; 0: all
}

func run() error {
	var s settings
	flag.StringVar(&s.c, "c", "", "the program in C")
	flag.StringVar(&s.golang, "go", "", "the program in Go")
	scale := flag.Bool("scale", false, "they are those for many endpoints")
	flag.IntVar(&s.rounds, "rounds", 10, "rounds of each measurement")
	flag.BoolVar(&s.few, "few", false, "only a few operations and endpoints")
	only := flag.String("only", "", "only measurements whose name this `expression` matches")
	flag.IntVar(&s.processors, "processors", 0, "only measurements that need this many processors under User-Mode Linux; 0: all")
	picture := flag.Bool("picture", false, "draw the round trips of a run, which are read from standard input, and measure nothing")
	flag.Parse()
	if *picture {
		return drawRoundTrips(os.Stdin, os.Stdout)
	}
	var err error
	if s.only, err = regexp.Compile(*only); err != nil {
		return err
	}
	adapters := strings.FieldsFunc(os.Getenv("UDAT_TEST_IA"), func(r rune) bool { return r == ',' })
	if len(adapters) == 0 {
		return errors.New("UDAT_TEST_IA names no adapter: run this by scripts/bench")
	}
	if *scale {
		// For event dispatchers and sockets of all endpoints. A program that lacks them says so.
		_ = syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: 1 << 17, Max: 1 << 17})
		return s.measureScale(adapters)
	}
	for i, adapter := range adapters {
		if err := s.measureTwins(adapter, firstQual+2*i); err != nil {
			return fmt.Errorf("%s: %w", adapter, err)
		}
	}
	return nil
}

// byTurns measures in C and in Go, which take turns in going first, and prints a line for each. A disturbance of the
// machine then meets both.
func (s settings) byTurns(name string, count int, measure func(inGo bool) (metrics string, err error)) error {
	if !s.only.MatchString(name) {
		return nil
	}
	for round := range s.rounds {
		for turn := range 2 {
			inGo := (round+turn)%2 == 1
			metrics, err := measure(inGo)
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			if metrics != "" {
				fmt.Printf("Benchmark%s/in=%s %d %s\n", name, map[bool]string{false: "C", true: "Go"}[inGo], count, metrics)
			}
		}
	}
	return nil
}
