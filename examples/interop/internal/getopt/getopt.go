// Package getopt parses one-letter flags like the C function of that name, so that the port of a C program accepts the
// C program's command lines.
package getopt

import (
	"fmt"
	"strconv"
	"strings"
)

// Parse calls set for each flag, in order, until it fails. The letters in valued take a value: the rest of the
// argument, or the next argument. An argument that is no flag is an error.
func Parse(args []string, valued string, set func(letter byte, value string) error) error {
	operands, err := ParseFlags(args, valued, set)
	if err == nil && len(operands) > 0 {
		err = fmt.Errorf("unexpected argument %q", operands[0])
	}
	return err
}

// ParseFlags is Parse up to the first argument that is no flag. It returns that argument and all that follow.
func ParseFlags(args []string, valued string, set func(letter byte, value string) error) (operands []string, err error) {
	for len(args) > 0 {
		letters, isFlag := strings.CutPrefix(args[0], "-")
		if !isFlag || letters == "" {
			return args, nil
		}
		args = args[1:]
		for letters != "" {
			letter := letters[0]
			letters = letters[1:]
			var value string
			if strings.IndexByte(valued, letter) >= 0 {
				switch {
				case letters != "":
					value, letters = letters, ""
				case len(args) > 0:
					value, args = args[0], args[1:]
				default:
					return nil, fmt.Errorf("-%c needs a value", letter)
				}
			}
			if err := set(letter, value); err != nil {
				return nil, err
			}
		}
	}
	return nil, nil
}

// Number parses the value of a flag as an integer.
func Number(letter byte, value string, least, most int) (int, error) {
	n, err := strconv.Atoi(value)
	if err != nil || n < least || n > most {
		return 0, fmt.Errorf("-%c: %q is not a number from %d to %d", letter, value, least, most)
	}
	return n, nil
}
