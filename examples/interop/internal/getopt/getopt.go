// Package getopt parses one-letter flags like the C function of that name, so that the port of a C program accepts the
// C program's command lines.
package getopt

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// ErrHelp is the error of Help.
var ErrHelp = errors.New("help is asked for")

// Help is a flag that asks for the usage.
var Help = Fails(false, ErrHelp)

// Flag is what a letter means. A value is the rest of the argument, or the next argument.
type Flag struct {
	valued bool
	set    func(value string) error
}

// Fails returns a flag that is always an error.
func Fails(valued bool, err error) Flag { return Flag{valued, func(string) error { return err }} }

// Do returns a flag without a value.
func Do(do func()) Flag { return Flag{set: func(string) error { do(); return nil }} }

// On returns a flag that makes a variable true.
func On(to *bool) Flag { return Do(func() { *to = true }) }

// Value returns a flag with a value.
func Value(set func(value string) error) Flag { return Flag{true, set} }

// Text returns a flag whose value must not be empty.
func Text(to *string) Flag {
	return Value(func(value string) error {
		if *to = value; value == "" {
			return errors.New("the value is empty")
		}
		return nil
	})
}

// Number returns a flag whose value is an integer.
func Number[T ~int | ~uint64](to *T, least, most int) Flag {
	return Value(func(value string) error {
		n, err := ParseNumber(value, least, most)
		*to = T(n)
		return err
	})
}

// ParseNumber parses an integer.
func ParseNumber(text string, least, most int) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < least || n > most {
		return 0, fmt.Errorf("%q is not a number from %d to %d", text, least, most)
	}
	return n, nil
}

// Parse parses flags up to the first argument that is none. It returns that argument and all that follow.
func Parse(args []string, flags map[byte]Flag) (operands []string, err error) {
	for len(args) > 0 {
		letters, isFlag := strings.CutPrefix(args[0], "-")
		if !isFlag || letters == "" {
			return args, nil
		}
		args = args[1:]
		for letters != "" {
			letter, value := letters[0], ""
			letters = letters[1:]
			flag, known := flags[letter]
			switch {
			case !known:
				return nil, fmt.Errorf("there is no flag -%c", letter)
			case flag.valued && letters != "":
				value, letters = letters, ""
			case flag.valued && len(args) > 0:
				value, args = args[0], args[1:]
			case flag.valued:
				return nil, fmt.Errorf("-%c needs a value", letter)
			}
			if err := flag.set(value); err != nil {
				return nil, fmt.Errorf("-%c: %w", letter, err)
			}
		}
	}
	return nil, nil
}

// ParseAll is Parse for a program that takes nothing but flags.
func ParseAll(args []string, flags map[byte]Flag) error {
	operands, err := Parse(args, flags)
	if err == nil && len(operands) > 0 {
		err = fmt.Errorf("unexpected argument %q", operands[0])
	}
	return err
}
