package getopt_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/goudat/goudat/examples/interop/internal/getopt"
)

func TestParse(t *testing.T) {
	for line, want := range map[string]string{
		"":               "{false  0} []",
		"-v":             "{true  0} []",
		"-vh -v -n8":     "{true -v 8} []",
		"-n 1 -hone":     "{false one 1} []",
		"-n 1 RW 8 -v":   "{false  1} [RW 8 -v]",
		"-vn1 -":         "{true  1} [-]",
		"-n 1 -n=2":      `-n: "=2" is not a number from 1 to 8`,
		"-n":             "-n needs a value",
		"-vn 9":          `-n: "9" is not a number from 1 to 8`,
		"-n 4k":          `-n: "4k" is not a number from 1 to 8`,
		"-n 99999999999": `-n: "99999999999" is not a number from 1 to 8`,
		"-x":             "there is no flag -x",
		"-v?":            "-?: help is asked for",
	} {
		var o struct {
			on     bool
			text   string
			number int
		}
		operands, err := getopt.Parse(strings.Fields(line), map[byte]getopt.Flag{
			'v': getopt.On(&o.on), 'h': getopt.Text(&o.text), 'n': getopt.Number(&o.number, 1, 8), '?': getopt.Help,
		})
		got := fmt.Sprint(o, operands)
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%q gives %s, want %s", line, got, want)
		}
	}
	if err := getopt.ParseAll([]string{"-v", "file"}, map[byte]getopt.Flag{'v': getopt.Do(func() {})}); err == nil {
		t.Error("an argument that is no flag is accepted")
	}
	if _, err := getopt.Parse([]string{"-?"}, map[byte]getopt.Flag{'?': getopt.Help}); !errors.Is(err, getopt.ErrHelp) {
		t.Errorf("-? gives %v", err)
	}
}
