// Command without_library makes every call of package udat in a build without the
// native library, and fails when one does not say so.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"reflect"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/device"
)

// functions are those that take no object, with arguments that are right, and
// those that make objects.
var functions = map[string]func() error{
	"AllocHugeMemory":    func() error { return second(udat.AllocHugeMemory(nil, 1<<21, 1<<21, udat.MemPrivLocalRead)) },
	"AllocMemory":        func() error { return second(udat.AllocMemory(nil, 4096, udat.MemPrivLocalRead)) },
	"CreateCNO":          func() error { return second(udat.CreateCNO(nil, nil)) },
	"CreateEP":           func() error { return second(udat.CreateEP(nil, nil, nil, nil, nil, nil)) },
	"CreateEVD":          func() error { return second(udat.CreateEVD(nil, 0, nil, 0)) },
	"CreatePSPAny":       func() error { return second(udat.CreatePSPAny(nil, nil)) },
	"CreatePZ":           func() error { return second(udat.CreatePZ(new(udat.IA))) },
	"CreateSRQ":          func() error { return second(udat.CreateSRQ(nil, nil, udat.SRQAttr{})) },
	"Open":               func() error { return second(udat.Open("ofa-v2-cma-eth0")) },
	"Open of nothing":    func() error { return second(udat.Open("")) },
	"Providers":          func() error { return second(udat.Providers()) },
	"RegisterMemory":     func() error { return second(udat.RegisterMemory(nil, make([]byte, 8), udat.MemPrivLocalRead)) },
	"RegisterProvider":   func() error { return udat.RegisterProvider("name", "libdaplofa.so.2", "eth0 0") },
	"UnregisterProvider": func() error { return udat.UnregisterProvider("name") },
}

func second[T any](_ T, err error) error { return err }

var objectTypes = []reflect.Type{
	reflect.TypeFor[udat.IA](), reflect.TypeFor[udat.PZ](), reflect.TypeFor[udat.LMR](), reflect.TypeFor[udat.RMR](),
	reflect.TypeFor[udat.EVD](), reflect.TypeFor[udat.CNO](), reflect.TypeFor[udat.EP](), reflect.TypeFor[udat.SRQ](),
	reflect.TypeFor[udat.PSP](), reflect.TypeFor[udat.RSP](), reflect.TypeFor[udat.CR](),
}

func main() {
	calls, wrong := 0, 0
	expect := func(name string, err error) {
		calls++
		if !errors.Is(err, udat.ErrNoNativeLibrary) || !errors.Is(err, errors.ErrUnsupported) {
			wrong++
			fmt.Printf("%s gives: %v\n", name, err)
		}
	}
	for name, call := range functions {
		expect(name, call())
	}
	for _, typ := range objectTypes {
		for _, receiver := range []reflect.Value{reflect.Zero(reflect.PointerTo(typ)), reflect.New(typ)} {
			for i := range receiver.NumMethod() {
				if err, ok := result(receiver.Method(i)); ok {
					expect(typ.Name()+"."+receiver.Type().Method(i).Name, err)
				}
			}
		}
	}
	if major, _, err := udat.Strerror(udat.Return(udat.ErrQueueEmpty)); err != nil || major != "DAT_QUEUE_EMPTY" {
		wrong++
		fmt.Printf("Strerror gives: %q, %v\n", major, err)
	}
	if _, err := device.List(); !errors.Is(err, udat.ErrNoNativeLibrary) {
		wrong++
		fmt.Printf("the list of devices gives: %v\n", err)
	}
	if living := udat.Living(); len(living) > 0 {
		wrong++
		fmt.Printf("Living gives: %v\n", living)
	}
	fmt.Println(second(udat.Open("eth0")))
	fmt.Printf("%d calls, %d wrong\n", calls, wrong)
	if wrong > 0 {
		os.Exit(1)
	}
}

// result calls a method without arguments to speak of. It is not ok for one that
// gives no error.
func result(method reflect.Value) (err error, ok bool) {
	typ := method.Type()
	arguments := make([]reflect.Value, typ.NumIn())
	for i := range arguments {
		arguments[i] = reflect.Zero(typ.In(i))
		if typ.In(i) == reflect.TypeFor[context.Context]() {
			arguments[i] = reflect.ValueOf(context.Background())
		}
	}
	call := method.Call
	if typ.IsVariadic() {
		call = method.CallSlice
	}
	results := call(arguments)
	if len(results) == 0 || results[len(results)-1].Type() != reflect.TypeFor[error]() {
		return nil, false
	}
	err, _ = results[len(results)-1].Interface().(error)
	return err, true
}
