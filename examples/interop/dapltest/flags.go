package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/goudat/goudat/examples/interop/internal/getopt"
	"github.com/goudat/goudat/udat"
)

// test is a kind of test. The numbers are part of the protocol.
type test uint32

const (
	testServer test = iota
	testTransaction
	testPerformance
	testLimit
	testQuit
	testFFT
)

// command is a parsed command line.
type command struct {
	test    test
	adapter string
	host    string // the server's
	port    udat.ConnQual
	trace   trace

	transaction transaction
	performance performance
	limit       limit
	fft         fft
}

const (
	defaultPort  = 62000
	maxCount     = 1<<31 - 1
	maxThreads   = 1000
	maxEndpoints = 1000
)

var errHelp = errors.New("print the help")

// tests are the values of -T, with the flags of each. Flags before the space take a value.
var tests = map[byte]struct {
	test  test
	flags string
}{
	'S': {testServer, "DRn d"},
	'T': {testTransaction, "DRnsitw drVP"},
	'P': {testPerformance, "DRnsimp d"},
	'Q': {testQuit, "DRns d"},
	'L': {testLimit, "DRnmw d"},
	'F': {testFFT, "DRnsitvf "},
}

// parseCommand parses a command line. Without arguments, it is a server's.
func parseCommand(args []string) (command, error) {
	c := command{
		port:        defaultPort,
		transaction: defaultTransaction,
		performance: defaultPerformance,
		limit:       limit{most: 1000, width: 1},
	}
	if len(args) == 0 {
		return c, nil
	}
	if name, isScript := strings.CutPrefix(args[0], "-f"); isScript {
		script, err := readScript(name, args[1:])
		if err != nil {
			return c, err
		}
		args = script
	}
	valued, plain, args, err := c.parseTest(args)
	if err != nil {
		return c, err
	}
	operands, err := getopt.ParseFlags(args, valued, func(letter byte, value string) error {
		if strings.IndexByte(valued+plain, letter) < 0 {
			return fmt.Errorf("there is no flag -%c for this test", letter)
		}
		return c.set(letter, value)
	})
	if err != nil {
		return c, err
	}
	return c, c.finish(operands)
}

// parseTest parses -T, which comes first.
func (c *command) parseTest(args []string) (valued, plain string, rest []string, err error) {
	if len(args) == 0 || !strings.HasPrefix(args[0], "-T") {
		if len(args) > 0 && args[0] == "-h" {
			return "", "", nil, errHelp
		}
		return "", "", nil, errors.New("the first flag must be -T")
	}
	value, rest := args[0][len("-T"):], args[1:]
	if value == "" && len(rest) > 0 {
		value, rest = rest[0], rest[1:]
	}
	if value == "" {
		return "", "", nil, errors.New("-T needs a value")
	}
	t, ok := tests[value[0]]
	if !ok {
		return "", "", nil, fmt.Errorf("-T: there is no test %q", value)
	}
	c.test = t.test
	valued, plain, _ = strings.Cut(t.flags, " ")
	return valued, plain, rest, nil
}

func (c *command) set(letter byte, value string) (err error) {
	switch letter {
	case 'D':
		c.adapter = value
	case 'd':
		c.trace++
	case 's':
		if c.host = value; value == "" || value[0] == '-' {
			err = errors.New("-s needs the name of a host")
		}
	case 'n':
		var port int
		port, err = getopt.Number(letter, value, 1, 65535)
		c.port = udat.ConnQual(port)
	case 'R':
		if value != "BE" {
			err = fmt.Errorf("-R: no provider has the quality of service %q, only BE, best effort", value)
		}
	default:
		switch c.test {
		case testTransaction:
			err = c.transaction.set(letter, value)
		case testPerformance:
			err = c.performance.set(letter, value)
		case testLimit:
			err = c.limit.set(letter, value)
		case testFFT:
			err = c.fft.set(letter, value)
		}
	}
	return err
}

// finish parses the arguments after the flags.
func (c *command) finish(operands []string) (err error) {
	switch c.test {
	case testTransaction:
		err = c.transaction.finish(operands)
	case testPerformance:
		err = c.performance.finish(operands)
	case testLimit:
		err = c.limit.finish(operands)
	case testFFT:
		err = c.fft.finish(operands)
	default:
		if len(operands) > 0 {
			err = fmt.Errorf("unexpected argument %q", operands[0])
		}
	}
	needsServer := c.test == testTransaction || c.test == testPerformance || c.test == testQuit
	if err == nil && needsServer && c.host == "" {
		err = errors.New("-s is missing: the host of the server")
	}
	return err
}

// readScript reads the arguments from a file. # begins a comment.
func readScript(name string, rest []string) ([]string, error) {
	if name == "" && len(rest) > 0 {
		name, rest = rest[0], rest[1:]
	}
	if name == "" || len(rest) > 0 {
		return nil, errors.New("-f takes the name of a file, and no other argument")
	}
	script, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("-f: %w", err)
	}
	var args []string
	for line := range strings.Lines(string(script)) {
		for field := range strings.FieldsSeq(line) {
			if field[0] == '#' {
				break
			}
			args = append(args, field)
		}
	}
	return args, nil
}
