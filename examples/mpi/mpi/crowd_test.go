package mpi

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/udattest"
)

const (
	// crowdVariable has the address and the qualifier of simulated peers.
	crowdVariable = "MPI_TEST_CROWD"
	// mostPerPeer is how many bytes a connected peer may cost, in Go's heap and registered memory together.
	mostPerPeer = 8 << 10
)

// A rank's memory grows little with each connected peer. This process simulates the peers: endpoints that accept.
func TestMemoryOfPeers(t *testing.T) {
	peers, bound := 256, 5*patience
	if longRun() {
		// The thread of socket CM polls each connection's socket by itself whenever one of them has something.
		peers, bound = 4096, 15*patience
	}
	for _, adapter := range udattest.Names(t) {
		t.Run(adapter, func(t *testing.T) {
			crowd := newCrowd(t, adapter)
			if udattest.IWARP(t, crowd.ia) {
				t.Log("not tested: soft-iWARP has queues for some 70 endpoints")
				return
			}
			ctx, cancel := context.WithTimeout(context.Background(), bound)
			defer cancel()
			done := make(chan error, 1)
			go func() { done <- crowd.accept(ctx) }()
			program, err := os.Executable()
			if err != nil {
				t.Fatal(err)
			}
			cmd := exec.CommandContext(ctx, program)
			// Assertions record each endpoint, which programs do not pay for.
			cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%v %d %d", crowdVariable, crowd.address, crowd.qualifier, peers), adapterVariable+"="+adapter, "UDAT_ASSERT=")
			cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
			out, err := cmd.CombinedOutput()
			cancel()
			if crowdErr := <-done; crowdErr != nil {
				t.Error(crowdErr)
			}
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			t.Logf("\n%s", out)
		})
	}
}

// crowd simulates peers.
type crowd struct {
	ia          *udat.IA
	pz          *udat.PZ
	requests    *udat.EVD
	completions *udat.EVD
	connections *udat.EVD
	memory      *udat.LMR
	address     netip.Addr
	qualifier   udat.ConnQual
}

func newCrowd(t *testing.T, adapter string) *crowd {
	t.Helper()
	ia := udattest.Open(t, adapter)
	c := &crowd{ia: ia, address: udattest.Address(t, ia)}
	var errs [5]error
	c.pz, errs[0] = udat.CreatePZ(ia)
	c.requests, errs[1] = udat.CreateEVD(ia, 1024, udat.EVDCR)
	c.completions, errs[2] = udat.CreateEVD(ia, 64, udat.EVDDTO)
	c.connections, errs[3] = udat.CreateEVD(ia, 1024, udat.EVDConnection)
	if err := errors.Join(errs[:]...); err != nil {
		t.Fatal(err)
	}
	c.memory, errs[4] = udat.AllocMemory(c.pz, 2*areaHalf(1000), udat.MemPrivAll)
	psp, err := udat.CreatePSPAny(ia, c.requests)
	if err := errors.Join(errs[4], err); err != nil {
		t.Fatal(err)
	}
	param, err := psp.Query()
	if err != nil {
		t.Fatal(err)
	}
	c.qualifier = param.ConnQual
	t.Cleanup(func() {
		if err := ia.Close(udat.CloseAbrupt); err != nil && !errors.Is(err, udat.ErrClosed) {
			t.Error(err)
		}
	})
	return c
}

// accept simulates a peer for each connection request. All peers have the same memory.
func (c *crowd) accept(ctx context.Context) error {
	attr := udat.EPAttr{MaxRecvDTOs: 1, MaxRequestDTOs: 1, MaxRequestIOV: 1, MaxRecvIOV: 1}
	triplet, err := c.memory.RMRTriplet(0, areaHalf(1000))
	if err != nil {
		return err
	}
	greeting := make([]byte, 16, greetingSize) // job, rank 0, and no former connections
	greeting, _ = triplet.AppendBinary(greeting)
	greeting = binary.LittleEndian.AppendUint32(greeting, firstGrant)
	for {
		event, err := c.requests.Wait(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		ep, err := udat.CreateEP(c.ia, c.pz, c.completions, c.completions, c.connections, &attr)
		if err != nil {
			return err
		}
		if err := event.CR().Accept(ep, greeting); err != nil {
			return err
		}
	}
}

// runCrowded is the rank among simulated peers.
func runCrowded(text string) error {
	var host string
	var qualifier uint64
	var peers int
	if _, err := fmt.Sscan(text, &host, &qualifier, &peers); err != nil {
		return err
	}
	address, err := netip.ParseAddr(host)
	if err != nil {
		return err
	}
	w := newWorld(0, peers+1, Options{})
	w.forget = func() bool { return true }
	for range w.peers {
		w.cards = append(w.cards, card{Address: address, Qualifier: qualifier})
	}
	if err := w.open(os.Getenv(adapterVariable)); err != nil {
		return err
	}
	if err := w.begin(); err != nil {
		return err
	}
	// The first peers include the cost of what all share.
	if err := w.connectTo(mostReceives); err != nil {
		return err
	}
	first := w.costs()
	fmt.Printf("%8s %14s %14s %14s %14s %12s\n", "peers", "Go heap, KiB", "registered, KiB", "resident, KiB", "pinned, KiB", "descriptors")
	fmt.Println(first)
	for n := 2 * mostReceives; n <= peers; n *= 2 {
		if err := w.connectTo(n); err != nil {
			return err
		}
		now := w.costs()
		fmt.Println(now)
		if each := (now.heap + now.registered - first.heap - first.registered) / (now.peers - first.peers); each > mostPerPeer {
			return fmt.Errorf("with %d peers each costs %d bytes, want at most %d", n, each, mostPerPeer)
		} else if n*2 > peers {
			fmt.Printf("a peer costs %d bytes of Go's heap and registered memory, and %d KiB of resident memory\n", each, (now.resident-first.resident)/(now.peers-first.peers)>>10)
		}
	}
	return w.free()
}

// connectTo connects with the first n peers.
func (w *World) connectTo(n int) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, p := range w.peers[1 : n+1] {
		if err := p.reach(); err != nil {
			return err
		}
		if err := w.await(func() bool { return p.link == connected }); err != nil {
			return err
		}
	}
	return nil
}

// costs are the resources that a rank uses, in bytes unless they are counts.
type costs struct {
	peers, heap, registered, resident, pinned, descriptors int
}

func (c costs) String() string {
	return fmt.Sprintf("%8d %14d %14d %14d %14d %12d", c.peers, c.heap>>10, c.registered>>10, c.resident>>10, c.pinned>>10, c.descriptors)
}

func (w *World) costs() costs {
	runtime.GC()
	runtime.GC() // memory with finalizers takes two collections
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	w.mu.Lock()
	c := costs{peers: w.connections(), heap: int(m.HeapAlloc), registered: w.registered()}
	w.mu.Unlock()
	c.resident, c.pinned = statusKiB("VmRSS")<<10, statusKiB("VmPin")<<10
	files, _ := os.ReadDir("/proc/self/fd")
	c.descriptors = len(files)
	return c
}

// connections returns how many connections there are.
func (w *World) connections() (n int) {
	for _, p := range w.peers {
		if p.link == connected {
			n++
		}
	}
	return n
}

// registered returns how many bytes of memory are registered.
func (w *World) registered() int {
	total := stagingSlots*slotSize + len(w.receives.slots)*slotSize
	blocks := map[*udat.LMR]bool{}
	for _, p := range w.peers {
		if p.memory.block != nil {
			blocks[p.memory.block] = true
		}
	}
	for block := range blocks {
		total += len(block.Bytes())
	}
	return total
}

// statusKiB returns a line of /proc/self/status as a number.
func statusKiB(name string) int {
	b, _ := os.ReadFile("/proc/self/status")
	for lines := bufio.NewScanner(bytes.NewReader(b)); lines.Scan(); {
		if value, found := strings.CutPrefix(lines.Text(), name+":"); found {
			n, _ := strconv.Atoi(strings.TrimSuffix(strings.TrimSpace(value), " kB"))
			return n
		}
	}
	return 0
}

// TestMemoryOfRanks measures the memory of ranks that all have sent to each other.
func TestMemoryOfRanks(t *testing.T) {
	sizes := []int{2, 8}
	if longRun() {
		sizes = []int{2, 4, 8, 16, 32, 64}
	}
	for _, adapter := range udattest.Names(t) {
		for _, ranks := range sizes {
			t.Run(fmt.Sprintf("%s/%d", adapter, ranks), func(t *testing.T) {
				out := &output{}
				if err := taskJob(adapter, ranks, "memory", out).Run(context.Background()); err != nil {
					t.Fatalf("%v\n%s", err, out.text.String())
				}
				t.Logf("\n%s", out.text.String())
			})
		}
	}
}

func init() {
	tasks["memory"] = func(w *World) error {
		for range 3 {
			for other := range w.Size() {
				if _, err := Sendrecv(w.Comm, make([]byte, 100), other, 0, make([]byte, 100), other, 0); err != nil {
					return err
				}
			}
			if err := Barrier(w.Comm); err != nil {
				return err
			}
		}
		if w.Rank() == 0 {
			w.mu.Lock()
			err := w.await(func() bool { return w.connections() == w.Size()-1 })
			w.mu.Unlock()
			if err != nil {
				return err
			}
			fmt.Println(w.costs())
		}
		return Barrier(w.Comm)
	}
}
