package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/goudat/goudat/examples/interop/internal/getopt"
)

// kind is how data is transferred. The numbers are part of the protocol.
type kind uint32

const (
	rdmaRead kind = iota
	rdmaWrite
	sendReceive
)

var kindNames = []string{"RR", "RW", "SR"}

func (k kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return fmt.Sprintf("kind %d", uint32(k))
}

func parseKind(name string) (kind, error) {
	i := slices.Index(kindNames, name)
	if i < 0 {
		return 0, fmt.Errorf("an operation is RR, RW or SR, not %q", name)
	}
	return kind(i), nil
}

// operation is a transfer that one side begins.
type operation struct {
	byServer bool
	kind     kind
	size     int // bytes of a segment
	segments int
	// late makes the client take the completion of its send only when the server's next late message has come. Such
	// operations come in pairs.
	late bool
}

const (
	maxOperations = 100
	maxSize       = 1 << 30
	maxSegments   = 1 << 10
)

var defaultOperation = operation{size: 4096, segments: 1}

func (o operation) bytes() int { return o.size * o.segments }

func (o operation) String() string {
	side := "client"
	if o.byServer {
		side = "server"
	}
	text := fmt.Sprintf("%s %v %d %d", side, o.kind, o.size, o.segments)
	if o.late {
		text += " -f"
	}
	return text
}

func (o operation) check() error {
	switch {
	case o.kind > sendReceive:
		return fmt.Errorf("%v: there is no such operation", o)
	case o.size < 1 || o.segments < 1 || o.segments > maxSegments || o.size > maxSize/o.segments:
		return fmt.Errorf("%v: there must be 1 to %d segments, with 1 to %d bytes in all", o, maxSegments, maxSize)
	case o.late && o.kind != sendReceive:
		return fmt.Errorf("%v: -f is for SR only", o)
	}
	return nil
}

// parseShape parses what follows the name of an operation: the size of a segment and the number of segments. Each is
// optional.
func (o *operation) parseShape(words []string) (rest []string, err error) {
	for _, value := range []*int{&o.size, &o.segments} {
		if len(words) == 0 || words[0] == "-f" {
			break
		}
		if *value, err = getopt.ParseNumber(words[0], 1, maxSize); err != nil {
			return nil, fmt.Errorf("%q is not a size or a number of segments", words[0])
		}
		words = words[1:]
	}
	return words, nil
}

// parseOperations parses the operations of a transaction. Each starts with the side that begins it.
func parseOperations(words []string) ([]operation, error) {
	var operations []operation
	for len(words) > 0 {
		isSide := func(word string) bool { return word == "client" || word == "server" }
		end := len(words)
		if next := slices.IndexFunc(words[1:], isSide); next >= 0 {
			end = next + 1
		}
		o, err := parseOperation(words[:end])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", strings.Join(words[:end], " "), err)
		}
		operations = append(operations, o)
		words = words[end:]
	}
	return operations, nil
}

func parseOperation(words []string) (operation, error) {
	o := defaultOperation
	if words[0] != "client" && words[0] != "server" {
		return o, errors.New("an operation begins with client or server")
	}
	o.byServer = words[0] == "server"
	if len(words) < 2 {
		return o, errors.New("RR, RW or SR is missing")
	}
	var err error
	if o.kind, err = parseKind(words[1]); err != nil {
		return o, err
	}
	rest, err := o.parseShape(words[2:])
	if err != nil {
		return o, err
	}
	if len(rest) > 0 && rest[0] == "-f" {
		o.late = true
		rest = rest[1:]
	}
	if len(rest) > 0 {
		return o, fmt.Errorf("unexpected %q", rest[0])
	}
	return o, o.check()
}
