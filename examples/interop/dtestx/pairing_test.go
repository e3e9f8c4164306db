package main

import (
	"strings"
	"testing"

	"github.com/goudat/goudat/examples/interop/internal/dtestparams"
	"github.com/goudat/goudat/examples/interop/internal/pairing"
	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/udattest"
)

func TestMain(m *testing.M) { pairing.Main(m, main) }

// Programs with the same port and qualifier cannot run at the same time.
func TestGoWithGo(t *testing.T) { pairEach(t, own(t), own(t), "", "-b20", "-v -b 70000") }

// A run with the C program takes six seconds: the C program sleeps.
func TestGoClientWithCServer(t *testing.T) {
	if inStep(t) {
		pairEach(t, native(t), own(t), "-b 70000")
	}
}

func TestCClientWithGoServer(t *testing.T) {
	if inStep(t) {
		pairEach(t, own(t), native(t), "-v")
	}
}

const (
	passed = "IB extension test - immed/atomic test PASSED"
	failed = "test FAILED"
)

func own(t *testing.T) *pairing.Program {
	return pairing.Own(t, "waiting for a client at port", passed)
}

func native(t *testing.T) *pairing.Program {
	return pairing.Native(t, "dtestx", "waiting to snd addr", passed)
}

// extended reports whether a device has the extensions. iWARP devices do not, and the program says so.
func extended(t *testing.T) bool {
	t.Helper()
	for _, provider := range udattest.Names(t) {
		if !udattest.IWARP(t, udattest.Open(t, provider)) {
			return true
		}
		own(t).Start(t, []string{"-P", provider}).Fails(t, "the provider does not have the InfiniBand extensions", failed)
	}
	return false
}

// has reports whether the device has an operation.
func has(t *testing.T, provider string, op udat.DTO) bool {
	t.Helper()
	_, attr, err := udattest.Open(t, provider).Query()
	if err != nil {
		t.Fatal(err)
	}
	if !attr.Supports(op) {
		t.Logf("not tested: the device does not have %v", op)
	}
	return attr.Supports(op)
}

// inStep reports whether the C program stays in step with its peer. Without atomic operations nothing comes after the
// writes: the side that is done first disconnects, and the C program may take a flushed receive before its own completion.
func inStep(t *testing.T) bool {
	t.Helper()
	return udattest.IWARP(t, udattest.Open(t, udattest.Names(t)[0])) || has(t, udattest.Names(t)[0], udat.DTOIBCmpSwap)
}

func pairEach(t *testing.T, server, client *pairing.Program, lines ...string) {
	if server == nil || client == nil || !extended(t) {
		return
	}
	for _, provider := range udattest.Names(t) {
		for _, line := range lines {
			t.Run(provider+"/"+line, func(t *testing.T) { pair(t, server, client, provider, line) })
		}
	}
}

func pair(t *testing.T, server, client *pairing.Program, provider, line string) {
	s, c := pairing.Sides(t, server, client, provider, line, line)
	serverText, clientText := pairing.Run(t, s, c)
	for test, op := range map[string]udat.DTO{
		"RDMA_WRITE_WITH_IMMEDIATE_DATA": udat.DTOIBRDMAWriteImmed, "CMP_SWAP": udat.DTOIBCmpSwap, "FETCH_ADD": udat.DTOIBFetchAdd,
	} {
		if !has(t, provider, op) {
			continue
		}
		if line := test + " test - PASSED"; !strings.Contains(serverText, line) || !strings.Contains(clientText, line) {
			t.Errorf("no %q from the server:\n%s\nor from the client:\n%s", line, serverText, clientText)
		}
	}
}

// Both sides report the error if they have different sizes.
func TestSizesDiffer(t *testing.T) {
	if !extended(t) {
		return
	}
	server, client := pairing.Sides(t, own(t), own(t), udattest.Names(t)[0], "-b 1000", "-b 1001")
	reasons := []string{"give both the same -b", failed}
	pairing.Differ(t, server, client, reasons, reasons)
}

// A server fails if its client dies while it waits for the client's swap. Only the C program takes long enough.
func TestPeerDies(t *testing.T) {
	if !extended(t) || !has(t, udattest.Names(t)[0], udat.DTOIBCmpSwap) {
		return
	}
	native := native(t)
	if native == nil {
		return
	}
	for _, provider := range udattest.Names(t) {
		t.Run(provider, func(t *testing.T) {
			server, client := pairing.Sides(t, own(t), native, provider, "", "")
			// The server waits for the client, which sleeps for a second.
			pairing.PeerDies(t, server, client, "the compare found", "dtestx: ", failed)
		})
	}
}

// A server that is interrupted while it waits ends cleanly.
func TestInterrupt(t *testing.T) {
	if !extended(t) {
		return
	}
	for _, provider := range udattest.Names(t) {
		pairing.Interrupt(t, pairing.Side{Program: own(t), Flags: []string{"-P", provider}}, "dtestx: interrupted\n", failed)
	}
}

// A client waits for a server that announces its address before it listens, as the C server does.
func TestServerListensLate(t *testing.T) {
	if !extended(t) {
		return
	}
	self := own(t)
	udattest.ForEachIA(t, func(t *testing.T, ia *udat.IA) {
		ctx := udattest.Context(t)
		requests, err := udat.CreateEVD(ia, 10, nil, udat.EVDCR)
		if err != nil {
			t.Fatal(err)
		}
		defer requests.Free()
		address := udattest.Address(t, ia)
		c := self.Start(t, []string{"-h", address.String()})
		conn, err := dtestparams.Accept(ctx, func() {})
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if err := conn.Send(dtestparams.Parameters{Address: address, Provider: ia.Name()}); err != nil {
			t.Fatal(err)
		}
		c.Await(t, "nobody listens yet")
		psp, err := udat.CreatePSP(ia, qualifier, requests)
		if err != nil {
			t.Fatal(err)
		}
		defer psp.Free()
		event, err := requests.Wait(ctx)
		if err != nil {
			t.Fatalf("no request comes: %v\n%s", err, c.Text())
		}
		if err := event.CR().Reject(nil); err != nil {
			t.Error(err)
		}
		c.Fails(t, "PEER_REJECTED", failed)
	})
}

func TestWrongFlags(t *testing.T) {
	for _, line := range []string{"x", "-b 19", "-p", "-u", "-U 4", "-m", "-c", "-s -h host"} {
		if err := new(options).parse(strings.Fields(line)); err == nil {
			t.Errorf("%q is accepted", line)
		}
	}
}
