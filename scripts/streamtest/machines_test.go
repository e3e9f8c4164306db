//go:build linux

package streamtest

import (
	"errors"
	"net"
	"net/netip"
	"syscall"
	"testing"
	"time"

	"github.com/goudat/goudat/scripts/vm/control"
	"github.com/goudat/goudat/udat/stream"
	"github.com/goudat/goudat/udat/udattest"
)

// meet waits until the machine of each rank has come here, and returns their values.
func meet(t *testing.T, name, value string, ranks ...int) []string {
	t.Helper()
	values, err := control.Meet(udattest.Context(t), t.Name()+" "+name, value, ranks...)
	want(t, err)
	return values
}

// rankOf returns the rank of this machine. It reports false unless there are at least so many.
func rankOf(t *testing.T, machines int) (int, bool) {
	t.Helper()
	rank, err := control.Rank()
	if err == nil {
		var peers []netip.Addr
		if peers, err = control.Peers(); err == nil && len(peers) >= machines {
			return rank, true
		}
	}
	t.Logf("nothing was tested, which needs %d machines (%v)", machines, err)
	return 0, false
}

// accept takes a connection, or ends the listener.
func accept(t testing.TB, l net.Listener) net.Conn {
	t.Helper()
	bound := time.AfterFunc(udattest.Patience, func() { _ = l.Close() })
	defer bound.Stop()
	c, err := l.Accept()
	want(t, err)
	return c
}

// TestMachines has the server on one machine and the client on another. It needs TESTBED_FLAGS="--machines 2".
func TestMachines(t *testing.T) {
	rank, ok := rankOf(t, 2)
	if !ok || rank > 1 {
		return
	}
	forEachAdapter(t, func(t *testing.T, a *stream.Adapter) {
		if rank == 1 {
			callEcho(t, a, meet(t, "listening", "", 0, 1)[0])
			meet(t, "over", "", 0, 1)
			return
		}
		l := listen(t, a)
		server := serveGRPC(l)
		meet(t, "listening", l.Addr().String(), 0, 1)
		meet(t, "over", "", 0, 1)
		server.GracefulStop()
	})
}

// A machine that loses its power tells nobody. Calls end even so, also those that only wait. It needs
// TESTBED_FLAGS="--machines 3" for two adapters, and 2 for one.
func TestMachineKilled(t *testing.T) {
	names := udattest.Names(t)
	rank, ok := rankOf(t, 1+len(names))
	if !ok {
		return
	}
	config := &stream.Config{KeepAlive: 2 * time.Second, Linger: time.Second}
	for i, name := range names {
		victim := i + 1
		t.Run(name, func(t *testing.T) {
			switch rank {
			case 0:
				a := open(t, name, config)
				l := listen(t, a)
				meet(t, "listening", l.Addr().String(), 0, victim)
				reads, writes, closes := accept(t, l), accept(t, l), accept(t, l)
				results := make(chan error, 2)
				go func() {
					_, err := reads.Read(make([]byte, 1))
					results <- err
				}()
				go func() {
					_, err := writes.Write(make([]byte, 10<<20)) // more than there is room for
					results <- err
				}()
				want(t, control.Kill(udattest.Context(t), victim))
				began := time.Now()
				if err := closes.Close(); !errors.Is(err, syscall.ETIMEDOUT) || time.Since(began) > 2*config.Linger {
					t.Errorf("after %v, Close returned %v", time.Since(began), err)
				}
				for range 2 {
					select {
					case err := <-results:
						var netErr net.Error
						if !errors.As(err, &netErr) || !errors.Is(err, syscall.ETIMEDOUT) && !errors.Is(err, syscall.ECONNRESET) {
							t.Errorf("the call returned %v", err)
						}
						t.Log(err)
					case <-time.After(udattest.Patience):
						t.Fatal("a call still waits")
					}
				}
			case victim:
				a := open(t, name, config)
				address := meet(t, "listening", "", 0, victim)[0]
				for range 3 {
					_, err := a.Dial(udattest.Context(t), "rdma", address)
					want(t, err)
				}
				select {} // until the power fails
			}
		})
	}
}
