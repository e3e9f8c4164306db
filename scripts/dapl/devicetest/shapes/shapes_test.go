//go:build linux

package shapes

import (
	"flag"

	"maps"
	"math/bits"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/goudat/goudat/scripts/dapl/devicetest/between"
	"github.com/goudat/goudat/udat/device"
	"github.com/goudat/goudat/udat/udattest"
)

var pageFlag = flag.String("shapes.page", "", "write the rows of the page `file` for the shapes of this device")

// shapeVariable names the file of the shape for the library in between.
const shapeVariable = "UDAT_TEST_SHAPE"

func TestMain(m *testing.M) {
	between.Child(probeVariable, runProbe)
	udattest.Main(m)
}

// shape is an adapter that the device is to look like.
type shape struct {
	name    string
	title   string
	words   map[string]string
	sources []string
}

var shapeFiles = filepath.Join("testdata", "*.shape")

// readShape reads a file of words, those of the shape that it is like included.
func readShape(file string) shape {
	text, err := os.ReadFile(file)
	if err != nil {
		panic(err) // it is in the package
	}
	title, lines, _ := strings.Cut(string(text), "\n")
	s := shape{name: strings.TrimSuffix(filepath.Base(file), ".shape"), title: strings.TrimPrefix(title, "# "), words: map[string]string{}}
	for line := range strings.Lines(lines) {
		words, source, _ := strings.Cut(line, "#")
		if source = strings.TrimSpace(source); source != "" && !slices.Contains(s.sources, source) {
			s.sources = append(s.sources, source)
		}
		for word := range strings.FieldsSeq(words) {
			key, value, _ := strings.Cut(word, "=")
			if key != "like" {
				s.words[key] = value
				continue
			}
			maps.Copy(s.words, readShape(filepath.Join("testdata", value)).words)
		}
	}
	return s
}

func allShapes(t testing.TB) (shapes []shape) {
	t.Helper()
	files, err := filepath.Glob(shapeFiles)
	if err != nil || len(files) == 0 {
		t.Fatalf("there are no shapes: %v", err)
	}
	for _, file := range files {
		shapes = append(shapes, readShape(file))
	}
	return shapes
}

// must returns what a call has returned that has to succeed.
func must[T any](v T, err error) func(t testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func (s shape) isMadeUp() bool { return strings.HasPrefix(s.title, "made up") }

// number returns the value of a key, or else another.
func (s shape) number(key string, otherwise int) int {
	value, err := strconv.ParseUint(s.words[key], 0, 64)
	if err != nil {
		return otherwise
	}
	return int(value)
}

// expectedLength returns how long a completion queue is that was made for so many.
func expectedLength(file string, asked int) int {
	s := readShape(file)
	length := max(asked, s.number("cq_min", 0))
	power := func(n int) int { return 1 << bits.Len(uint(n-1)) }
	switch s.words["cq_round"] {
	case "pow2":
		return power(length)
	case "pow2m1":
		return power(length+1) - 1
	case "double":
		return 2 * length
	}
	return length
}

// runChild probes an adapter under a shape, in a process of its own.
func runChild(t *testing.T, library string, s shape, adapter string) (findings []finding) {
	t.Helper()
	file := must(filepath.Abs(filepath.Join("testdata", s.name+".shape")))(t)
	if err := between.Run(library, &findings, probeVariable+"="+adapter, shapeVariable+"="+file); err != nil {
		t.Error(err)
	}
	return findings
}

// What a device does not have is refused with an error that says so, and the rest is done.
func TestShapes(t *testing.T) {
	names := udattest.Names(t)
	library := between.Library(t)
	ia := udattest.Open(t, names[0])
	attr, _, err := ia.Query()
	if err != nil {
		t.Fatal(err)
	}
	devices, err := device.List()
	if !slices.ContainsFunc(devices, func(d device.Device) bool { return d.Software && d.Name == attr.AdapterName }) {
		t.Logf("not tested: limits of other adapters may be above those of %s, which is no software: %v", attr.AdapterName, err)
		return
	}
	isIWARP := udattest.IWARP(t, ia)
	for _, s := range allShapes(t) {
		if (s.words["on"] == "siw") != isIWARP {
			continue // it is for the other device
		}
		results := map[string][]finding{}
		t.Run(s.name, func(t *testing.T) {
			for _, name := range names {
				t.Run(name, func(t *testing.T) {
					results[name] = runChild(t, library, s, name)
					s.check(t, name, results[name])
				})
			}
		})
		if *pageFlag != "" {
			writeRow(t, *pageFlag, s, names, results)
		}
	}
}

// check demands that just what the device lacks is refused.
func (s shape) check(t *testing.T, adapter string, findings []finding) {
	t.Helper()
	lacks := func(keys ...string) bool {
		return slices.ContainsFunc(keys, func(key string) bool { return s.number(key, 0) != 0 })
	}
	refused := map[string]bool{
		probeOpen:      lacks("gid_error") && strings.Contains(adapter, "-scm-"),
		probeQueueMore: true, probeMore: true, probeSegments: true,
		probeResize:    lacks("cq_resize_error"),
		probeSRQ:       lacks("srq_error", "qp_error"),
		probeSRQResize: lacks("srq_resize_error", "srq_error"),
		probeRMR:       lacks("mw_error"),
		probeAtomics:   s.number("atomic_cap", 1) == 0,
		probeEndpoint:  lacks("qp_error"), probeConnection: lacks("qp_error"),
	}
	for _, f := range findings {
		t.Logf("%s: %s", f.What, f.Refused)
		for _, fault := range f.Faults {
			t.Errorf("%s: %s: %s", f.What, fault, f.Refused)
		}
		expected := refused[f.What]
		if f.What == probeMost || f.What == probeWriteImmed { // which not all limits tell
			continue
		}
		if got := f.Refused != ""; got != expected {
			t.Errorf("%s: refused is %v, want %v: %s", f.What, got, expected, f.Refused)
		}
		if beyond := f.What == probeQueueMore || f.What == probeMore || f.What == probeSegments || f.What == probeOpen; expected && f.Lacking == beyond {
			t.Errorf("%s: the error says that the device does not have this: %v: %s", f.What, f.Lacking, f.Refused)
		}
	}
}

// keysInC finds the words of a shape that the library in between knows.
var keysInC = regexp.MustCompile(`"(\w+)"|(?:DEVICE|PORT)\((\w+)\)`)

// Each line of a shape says where its values are published, and the library in between knows its keys.
func TestShapeFiles(t *testing.T) {
	source := must(os.ReadFile("../between/testdata/shape.c"))(t)
	known := map[string]bool{"on": true, "like": true}
	for _, match := range keysInC.FindAllStringSubmatch(string(source), -1) {
		known[match[1]+match[2]] = true
	}
	devices := 0
	for _, s := range allShapes(t) {
		for key := range s.words {
			if !known[key] && !regexp.MustCompile(`^gid\.\d+$`).MatchString(key) {
				t.Errorf("%s: the library does not know the key %s", s.name, key)
			}
		}
		if s.isMadeUp() {
			continue
		}
		devices++
		text := must(os.ReadFile(filepath.Join("testdata", s.name+".shape")))(t)
		for line := range strings.Lines(string(text)) {
			if !strings.Contains(line, "# ") {
				t.Errorf("%s: no source of %s", s.name, line)
			}
		}
	}
	if devices < 12 {
		t.Errorf("there are the shapes of %d adapters, want 12", devices)
	}
}
