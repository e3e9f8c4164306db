package udat_test

import (
	"errors"
	"fmt"
	"log"
	"os"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/device"
)

func ExampleOpen() {
	ia, err := udat.Open(adapter) // the name of an entry in dat.conf, as ofa-v2-cma-eth0
	if err != nil {
		log.Fatal(err) // says what is in the way, and what to do about it
	}
	attr, provider, err := ia.Query()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("an endpoint for each of a thousand peers:", attr.MaxEPs >= 1000)
	fmt.Println("room for private data:", provider.MaxPrivateDataSize > 0)
	if err := ia.Close(udat.CloseGraceful); err != nil {
		log.Fatal(err)
	}
	// Output:
	// an endpoint for each of a thousand peers: true
	// room for private data: true
}

// A device or a network interface needs no entry in dat.conf.
func ExampleOpen_device() {
	devices, err := device.List()
	if err != nil {
		log.Fatal(err)
	}
	for _, device := range devices {
		ia, err := udat.Open(device.Name) // or "scm:mlx5_0/1", "eth0", "cma:eth0"
		if err != nil {
			fmt.Fprintln(os.Stderr, err) // no port is active, or this user may not use the device: try the next
			continue
		}
		attr, _, err := ia.Query()
		fmt.Println(attr.AdapterName == device.Name, err)
		check(ia.Close(udat.CloseGraceful))
		break
	}
	// Output: true <nil>
}

// When an adapter does not open, the error has a Problem, and says what to do.
func ExampleOpen_problem() {
	_, err := udat.Open("no-such-name")
	switch {
	case errors.Is(err, device.ProblemNoEntry):
		fmt.Println("neither an entry in dat.conf, nor a device, nor an interface")
	case errors.Is(err, device.ProblemNoPermission):
		fmt.Println("ask for access to /dev/infiniband")
	}
	// Output: neither an entry in dat.conf, nor a device, nor an interface
}
