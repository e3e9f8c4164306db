package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/device"
)

// finding is one problem, in one line.
type finding struct {
	Problem string `json:"problem"`
	Text    string `json:"text"`
}

// findings collects findings. Equal ones are listed once.
type findings struct{ list []finding }

// add adds an error that contains a Problem.
func (f *findings) add(err error) {
	text := err.Error()
	var e *udat.Error
	if errors.As(err, &e) && e.Detail != "" {
		text = e.Detail
	}
	f.addText(problemOf(err), text)
}

func (f *findings) addText(problem device.Problem, text string) {
	found := finding{problem.Error(), strings.Join(strings.Fields(text), " ")}
	if !slices.Contains(f.list, found) {
		f.list = append(f.list, found)
	}
}

// withoutDevice is what to do without an RDMA device.
const withoutDevice = "without hardware, \"modprobe rdma_rxe\" and \"rdma link add rxe0 type rxe netdev eth0\" make one of a network interface, " +
	"and scripts/testbed of goudat runs a program in a virtual machine that has one"

func (f *findings) addDevices(devices []device.Device) {
	if len(devices) == 0 {
		f.addText(device.ProblemNoDevice, "no RDMA device: this machine has none, or its driver is not loaded; "+withoutDevice)
	}
	for _, d := range devices {
		for _, err := range d.Problems() {
			f.add(err)
		}
	}
}

// elsewhere are the problems of entries for other machines, like most in the library's default file.
var elsewhere = []device.Problem{device.ProblemNoDevice, device.ProblemWrongInterface, device.ProblemNoLibrary}

// addAdapters adds why adapters did not open. Many entries for other machines become one finding for each problem.
func (f *findings) addAdapters(adapters []adapter, everything bool) {
	const few = 3
	failed := map[device.Problem][]adapter{}
	entries, opened := 0, 0
	for _, a := range adapters {
		switch {
		case a.Entry && a.Opens:
			opened++
			entries++
		case a.Entry:
			entries++
			failed[problemOf(a.err)] = append(failed[problemOf(a.err)], a)
		case !a.Opens:
			f.add(a.err)
		}
	}
	for _, problem := range slices.Sorted(maps.Keys(failed)) {
		of := failed[problem]
		if len(of) > few && slices.Contains(elsewhere, problem) {
			f.addText(problem, fmt.Sprintf("%v: that of %d entries in dat.conf: %s", problem, len(of), names(of)))
			continue
		}
		for _, a := range of {
			f.add(a.err)
		}
	}
	if everything && opened == 0 {
		text := "%v: none of the %d in dat.conf opens: udatinfo -config prints entries for the devices that are here, for /etc/dat.conf or a file that DAT_OVERRIDE names"
		f.addText(device.ProblemNoEntry, fmt.Sprintf(text, device.ProblemNoEntry, entries))
	}
}

func names(adapters []adapter) string {
	const most = 4
	var list []string
	for _, a := range adapters[:min(most, len(adapters))] {
		list = append(list, a.Name)
	}
	if len(adapters) > most {
		list = append(list, "...")
	}
	return strings.Join(list, ", ")
}
