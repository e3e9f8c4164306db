//go:build linux

package udat_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/udattest"
)

// closingVariable tells this test program to be a server that closes its adapter
// again and again: a closingServer in JSON. The server is a process of its own:
// the library ends it when a close goes wrong.
const closingVariable = "UDAT_TEST_CLOSING"

type closingServer struct {
	Adapter   string
	ConnQuals []udat.ConnQual
	Rounds    int
	Accept    bool // the requests, else they are left unanswered
	Many      int
	KeepOpen  bool // another adapter, so that the provider stays loaded and its threads run
	Late      bool // a request comes after the close, over a connection from before
}

func init() {
	text := os.Getenv(closingVariable)
	if text == "" {
		return
	}
	var server closingServer
	err := json.Unmarshal([]byte(text), &server)
	if err == nil {
		err = server.run()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func (s closingServer) run() error {
	if s.KeepOpen {
		ia, err := udat.Open(s.Adapter)
		if err != nil {
			return err
		}
		defer ia.Close(udat.CloseAbrupt)
	}
	const settled = 5
	first := 0
	for i := range s.Rounds {
		if s.Late {
			if err := s.lateRound(); err != nil {
				return err
			}
			continue
		}
		if err := s.round(i); err != nil {
			return fmt.Errorf("round %d: %w", i, err)
		}
		if i == settled {
			var err error
			if first, err = countFiles(); err != nil {
				return err
			}
		}
	}
	if s.KeepOpen && s.Rounds > settled+1 {
		return awaitFiles(first + settled)
	}
	return nil
}

// round opens the adapter, listens, and closes it abruptly once some requests
// have arrived.
func (s closingServer) round(round int) error {
	ia, err := udat.Open(s.Adapter)
	if err != nil {
		return err
	}
	requests, err := udat.CreateEVD(ia, 64, udat.EVDCR)
	if err != nil {
		return err
	}
	for _, qual := range s.ConnQuals {
		if _, err := udat.CreatePSP(ia, qual, requests, udat.PSPConsumer); err != nil {
			return fmt.Errorf("listening on %d: %w", qual, err)
		}
	}
	var wg sync.WaitGroup
	arrived := make(chan struct{}, 1)
	wg.Add(1)
	go func() {
		defer wg.Done()
		s.serve(ia, requests, max(s.Many, 1+round%4), arrived)
	}()
	var late error
	select {
	case <-arrived:
	case <-time.After(200 * time.Second):
		late = errors.New("no request arrives")
	}
	start := time.Now()
	if err := ia.Close(udat.CloseAbrupt); err != nil {
		return err
	}
	if took := time.Since(start); took > udattest.Patience {
		return fmt.Errorf("the close took %v", took)
	}
	wg.Wait()
	return late
}

// lateRound closes the adapter between a client's connection to the TCP port of
// the socket CM provider and the request that comes over it.
func (s closingServer) lateRound() error {
	ia, err := udat.Open(s.Adapter)
	if err != nil {
		return err
	}
	defer ia.Close(udat.CloseAbrupt)
	attr, _, err := ia.Query()
	if err != nil {
		return err
	}
	requests, err := udat.CreateEVD(ia, 8, udat.EVDCR)
	if err != nil {
		return err
	}
	if _, err := udat.CreatePSP(ia, s.ConnQuals[0], requests, udat.PSPConsumer); err != nil {
		return err
	}
	const firstPort, version = 1000, 8
	conn, err := net.Dial("tcp4", netip.AddrPortFrom(attr.Address, uint16(s.ConnQuals[0])+firstPort).String())
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := ia.Close(udat.CloseAbrupt); err != nil {
		return err
	}
	request := make([]byte, messageHeader)
	binary.BigEndian.PutUint16(request, version)
	if _, err := conn.Write(request); err != nil {
		return nil // the library has closed the connection
	}
	if err := conn.SetReadDeadline(time.Now().Add(udattest.Patience)); err != nil {
		return err
	}
	if _, err := conn.Read(request); os.IsTimeout(err) {
		return errors.New("the library keeps a connection to an adapter that is closed")
	}
	return nil
}

// serve answers requests until the adapter is closed, and says when enough of
// them have come. Of the connections it ends every other one, so that clients
// come again.
func (s closingServer) serve(ia *udat.IA, requests *udat.EVD, enough int, arrived chan<- struct{}) {
	pz, err := udat.CreatePZ(ia)
	if err != nil {
		return
	}
	connect, err := udat.CreateEVD(ia, 1024, udat.EVDConnection)
	if err != nil {
		return
	}
	for n := 1; ; n++ {
		event, err := requests.Wait(context.Background())
		if err != nil {
			return
		}
		if n == enough {
			arrived <- struct{}{}
		}
		if !s.Accept {
			continue
		}
		ep, err := udat.CreateEP(ia, pz, nil, nil, connect, nil)
		if err != nil {
			continue
		}
		if event.CR().Accept(ep, nil) != nil {
			_ = ep.Free()
			continue
		}
		if _, err := connect.Wait(context.Background()); err == nil && n%2 == 0 {
			_ = ep.Free()
		}
	}
}

// caller connects again and again.
type caller struct {
	ia      *udat.IA
	address netip.Addr
	qual    udat.ConnQual
	pz      *udat.PZ
	connect *udat.EVD
}

func newCaller(t *testing.T, ia *udat.IA, qual udat.ConnQual) *caller {
	t.Helper()
	c := &caller{ia: ia, address: udattest.Address(t, ia), qual: qual}
	var err error
	c.pz, err = udat.CreatePZ(ia)
	want(t, err)
	c.connect, err = udat.CreateEVD(ia, 8, udat.EVDConnection)
	want(t, err)
	return c
}

// call connects once, and stays connected until the server ends that.
func (c *caller) call(ctx context.Context) error {
	ep, err := udat.CreateEP(c.ia, c.pz, nil, nil, c.connect, nil)
	if err != nil {
		return err
	}
	if err := ep.Connect(c.address, c.qual, udattest.Patience, nil); err != nil {
		return errors.Join(err, ep.Free())
	}
	event, err := c.connect.Wait(ctx)
	switch {
	case err != nil:
	case event.Number == udat.EventConnectionTimedOut:
		err = errors.New("a request has no answer")
	case event.Number == udat.EventConnectionEstablished:
		_, err = c.connect.Wait(ctx)
	}
	return errors.Join(err, ep.Free())
}

func (c *caller) free(t *testing.T) {
	t.Helper()
	want(t, c.connect.Free())
	want(t, c.pz.Free())
}

// attack starts the server and calls it until it ends.
func (s closingServer) attack(t *testing.T, callers int) {
	t.Helper()
	ia := udattest.Open(t, s.Adapter)
	text, err := json.Marshal(s)
	want(t, err)
	bound, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(bound, "/proc/self/exe")
	cmd.Env = append(os.Environ(), closingVariable+"="+string(text))
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	want(t, cmd.Start())
	ctx, stop := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	for i := range callers {
		c := newCaller(t, ia, s.ConnQuals[i%len(s.ConnQuals)])
		defer c.free(t)
		wg.Add(1)
		go func() {
			defer wg.Done()
			for ctx.Err() == nil {
				if err := c.call(ctx); err != nil && ctx.Err() == nil {
					t.Errorf("a client: %v", err)
					return
				}
			}
		}()
	}
	err = cmd.Wait()
	stop()
	wg.Wait()
	if err != nil {
		t.Errorf("the server: %v\n%s", err, output.Bytes())
	}
}

// An adapter can be closed abruptly while requests arrive.
func TestCloseUnderRequests(t *testing.T) {
	for _, name := range udattest.Names(t) {
		t.Run(name, func(t *testing.T) {
			for _, accept := range []bool{false, true} {
				t.Run(fmt.Sprintf("accept=%v", accept), func(t *testing.T) {
					closingServer{
						Adapter:   name,
						ConnQuals: []udat.ConnQual{udattest.ConnQual()},
						Rounds:    *closesFlag,
						Accept:    accept,
						KeepOpen:  !accept,
					}.attack(t, 4)
				})
			}
		})
	}
}

var closesFlag = flag.Int("closes", 25, "how often TestCloseUnderRequests closes an adapter in each way")

// A request that comes after the close does not find the service point that is
// gone, though its connection was made before.
func TestCloseBeforeRequest(t *testing.T) {
	for _, name := range udattest.Names(t) {
		if strings.Contains(name, "scm") {
			closingServer{
				Adapter:   name,
				ConnQuals: []udat.ConnQual{udattest.ConnQual()},
				Rounds:    5,
				KeepOpen:  true,
				Late:      true,
			}.attack(t, 0)
		}
	}
}

// A stranger who connects to the TCP port of a service point and sends nothing
// holds up no close.
func TestCloseWithSilentStranger(t *testing.T) {
	for _, name := range udattest.Names(t) {
		t.Run(name, func(t *testing.T) {
			qual := udattest.ConnQual()
			for range 3 {
				ia := openUnchecked(t, name)
				requests, err := udat.CreateEVD(ia, 8, udat.EVDCR)
				want(t, err)
				_, err = udat.CreatePSP(ia, qual, requests, udat.PSPConsumer)
				want(t, err)
				port := netip.AddrPortFrom(udattest.Address(t, ia), uint16(qual)+1000)
				stranger, err := net.Dial("tcp4", port.String())
				if err == nil { // with a provider that listens there
					defer stranger.Close()
				}
				start := time.Now()
				want(t, ia.Close(udat.CloseAbrupt))
				if took := time.Since(start); took > udattest.Patience/6 {
					t.Errorf("the close took %v", took)
				}
			}
		})
	}
}
