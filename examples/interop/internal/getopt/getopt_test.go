package getopt_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/goudat/goudat/examples/interop/internal/getopt"
)

func TestParse(t *testing.T) {
	for line, want := range map[string]string{
		"":            "",
		"-v":          "v",
		"-vx -y":      "v x y",
		"-b4096":      "b=4096",
		"-b 4096 -v":  "b=4096 v",
		"-vb4 -h -x":  "v b=4 h=-x",
		"-b 1 -b=2":   "b=1 b==2",
		"-v5 -h host": "v 5 h=host",
	} {
		var got []string
		err := getopt.Parse(strings.Fields(line), "bh", func(letter byte, value string) error {
			flag := string(letter)
			if value != "" {
				flag += "=" + value
			}
			got = append(got, flag)
			return nil
		})
		if err != nil {
			t.Errorf("%q: %v", line, err)
		}
		if diff := cmp.Diff(want, strings.Join(got, " ")); diff != "" {
			t.Errorf("%q (-want +got):\n%s", line, diff)
		}
	}
}

func TestParseErrors(t *testing.T) {
	errSet := errors.New("not that one")
	set := func(letter byte, value string) error {
		if letter == 'x' {
			return errSet
		}
		return nil
	}
	for _, line := range []string{"file", "-", "-v file", "-b", "-vb"} {
		if err := getopt.Parse(strings.Fields(line), "b", set); err == nil || errors.Is(err, errSet) {
			t.Errorf("%q returns %v", line, err)
		}
	}
	if err := getopt.Parse([]string{"-vx"}, "b", set); !errors.Is(err, errSet) {
		t.Errorf("a flag that is refused returns %v", err)
	}
}

func TestOperands(t *testing.T) {
	for line, want := range map[string]string{"": "", "-v": "", "-b 1 RW 8 -v": "RW 8 -v", "-vb1 -": "-"} {
		operands, err := getopt.ParseFlags(strings.Fields(line), "b", func(byte, string) error { return nil })
		if got := strings.Join(operands, " "); err != nil || got != want {
			t.Errorf("%q has the operands %q and the error %v, want %q", line, got, err, want)
		}
	}
}

func TestNumber(t *testing.T) {
	for _, value := range []string{"1", "8", "+3"} {
		if _, err := getopt.Number('b', value, 1, 8); err != nil {
			t.Errorf("%q: %v", value, err)
		}
	}
	for _, value := range []string{"", "0", "9", "-1", "4k", "1.0", "99999999999999999999"} {
		if n, err := getopt.Number('b', value, 1, 8); err == nil {
			t.Errorf("%q returned %d", value, n)
		}
	}
}
