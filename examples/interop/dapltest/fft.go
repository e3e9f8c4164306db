package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/goudat/goudat/examples/interop/internal/getopt"
	"github.com/goudat/goudat/udat"
)

// fft is a function and feature test: a number of cases. Each makes a few calls on its own adapter. It needs no server.
type fft struct {
	feature string
	cases   []int // none: all
}

// feature is a set of cases.
type feature struct {
	title string
	cases []featureCase
}

type featureCase struct {
	about string
	run   func(*bench) error
}

// errUnsupported is the result of a case that is not possible.
var errUnsupported = errors.New("not supported")

var features = map[string]feature{
	"hwconn":    {"Hardware connection", adapterCases},
	"endpoint":  {"EndPoint management", endpointCases},
	"pz":        {"Protection Zone management", zoneCases},
	"mem":       {"Memory register/deregister", memoryCases},
	"connmgt":   {"Connect Management (Server side)", connectionCases},
	"queryinfo": {"Queryinfo", queryCases},
}

func (f *fft) set(letter byte, value string) (err error) {
	switch letter {
	case 'f':
		f.feature = value
		if _, ok := features[value]; !ok {
			err = fmt.Errorf("-f: there is no feature %q", value)
		}
	case 'i', 't', 'v': // for tests that the C program lacks, too
		_, err = getopt.Number(letter, value, 0, maxCount)
	}
	return err
}

func (f *fft) finish(operands []string) error {
	if f.feature == "" {
		return errors.New("-f is missing: the feature")
	}
	for _, word := range operands {
		number, isCase := strings.CutPrefix(word, "case")
		i, err := getopt.Number('f', number, 0, len(features[f.feature].cases)-1)
		if err != nil || !isCase {
			return fmt.Errorf("%q is not case0 to case%d", word, len(features[f.feature].cases)-1)
		}
		f.cases = append(f.cases, i)
	}
	return nil
}

// runFeature runs the cases. It fails if one fails.
func runFeature(ctx context.Context, c command) error {
	const line = "*********************************************************************"
	f := features[c.fft.feature]
	failed := 0
	for i, fc := range f.cases {
		if len(c.fft.cases) > 0 && !slices.Contains(c.fft.cases, i) {
			continue
		}
		fmt.Printf("%s\nFunction feature: %s        case: %d\nDescription: %s\n", line, f.title, i, fc.about)
		b := &bench{ctx: ctx, command: c}
		err := errors.Join(fc.run(b), b.clean())
		switch {
		case ctx.Err() != nil:
			return err
		case err == nil:
			fmt.Println("Result: PASS")
		case errors.Is(err, errUnsupported):
			fmt.Printf("Result: UNSUPP\n(%v)\n", err)
		default:
			failed++
			fmt.Printf("Result: FAIL\n(%v)\n", err)
		}
		fmt.Println(line)
	}
	if failed > 0 {
		return fmt.Errorf("%d cases failed", failed)
	}
	return nil
}

// bench has the objects of a case. It frees them in reverse order.
type bench struct {
	command
	ctx  context.Context
	made []object
	ia   *udat.IA
}

// made registers an object to be freed at the end, unless making it failed.
func made[O object](b *bench, o O, err error) (O, error) {
	if err == nil {
		b.made = append(b.made, o)
	}
	return o, err
}

// freeLast frees the last object.
func (b *bench) freeLast() error {
	last := b.made[len(b.made)-1]
	b.made = b.made[:len(b.made)-1]
	return last.Free()
}

// clean frees everything. It continues after errors.
func (b *bench) clean() error {
	var errs []error
	for len(b.made) > 0 {
		errs = append(errs, b.freeLast())
	}
	return errors.Join(errs...)
}

func (b *bench) open() error {
	ia, err := openAdapter(b.adapter)
	b.ia = ia
	_, err = made(b, closer{ia}, err)
	return err
}

// zone opens an adapter and makes a protection zone on it.
func (b *bench) zone() (*udat.PZ, error) {
	if err := b.open(); err != nil {
		return nil, err
	}
	pz, err := udat.CreatePZ(b.ia)
	return made(b, pz, err)
}

// benchQueue is the C program's length of event dispatchers.
const benchQueue = 10

// endpoint makes an endpoint in a zone.
func (b *bench) endpoint(pz *udat.PZ) (*link, error) {
	l, err := newLink(b.ia, pz, sameLengths(benchQueue), b.ia.DefaultEPAttr(), true)
	return made(b, l, err)
}

// linked makes an adapter, a zone and an endpoint.
func (b *bench) linked() (*udat.PZ, *link, error) {
	pz, err := b.zone()
	if err != nil {
		return nil, nil, err
	}
	l, err := b.endpoint(pz)
	return pz, l, err
}

// want checks that a call failed with the expected error.
func want(target, err error) error {
	if errors.Is(err, target) {
		return nil
	}
	if err == nil {
		return fmt.Errorf("the call succeeded, but must fail with %w", target)
	}
	return fmt.Errorf("the call failed with %w, but must fail with %w", err, target)
}
