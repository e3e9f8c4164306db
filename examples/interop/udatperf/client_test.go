package main

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/udattest"
)

// eachClient runs a test with a client and a server in this process, on each adapter, polling and waiting. served
// receives the server's result.
func eachClient(t *testing.T, test func(t *testing.T, ctx context.Context, c *client, s settings, served <-chan error)) {
	for _, adapter := range udattest.Names(t) {
		for how, wait := range map[string]bool{"polling": false, "waiting": true} {
			t.Run(adapter+"/"+how, func(t *testing.T) {
				s := small(adapter)
				s.wait = wait
				ctx, cancel := context.WithCancel(udattest.Context(t))
				served, address := startServer(t, ctx, s)
				ended := make(chan error, 1)
				defer func() { <-ended }()
				go func() { err := <-served; ended <- err; ended <- err }()
				defer cancel()
				c, err := dial(ctx, s, address, nil)
				defer func() {
					if err := c.close(); err != nil {
						t.Error(err)
					}
				}()
				if err != nil {
					t.Fatal(err)
				}
				test(t, ctx, c, s, ended)
			})
		}
	}
}

// Each operation can be measured. run checks the contents.
func TestMeasurements(t *testing.T) {
	eachClient(t, func(t *testing.T, ctx context.Context, c *client, s settings, served <-chan error) {
		s.operations = present(t, s.adapter)
		for _, step := range s.steps() {
			r, err := c.run(ctx, step, nil)
			if err != nil {
				t.Fatalf("%v: %v", step, err)
			}
			if r.Iterations != s.count || r.Bytes != step.Size || r.Polling == s.wait {
				t.Errorf("%v: the result is of something else: %+v", step, r)
			}
			if step.Measure == measureLatency {
				timing := timingCompletion
				if step.Operation == opSend || step.Operation == opWrite && !s.wait {
					timing = timingHalfRoundTrip
				}
				if l := r.Latency; l == nil || r.Bandwidth != nil || l.Min <= 0 || l.Typical < l.Min || l.Max < l.P999 || r.Timing != timing {
					t.Errorf("%v: got %+v, %+v", step, r, l)
				}
				continue
			}
			if b := r.Bandwidth; b == nil || r.Latency != nil || b.Average <= 0 || b.Peak < b.Average || b.MessageRate <= 0 {
				t.Errorf("%v: got %+v, %+v", step, r, b)
			}
			if r.Window != s.window {
				t.Errorf("%v: at most %d operations were outstanding, want %d", step, r.Window, s.window)
			}
		}
		if err := c.leave(ctx); err != nil {
			t.Error(err)
		}
		if err := <-served; err != nil {
			t.Errorf("the server ended with %v", err)
		}
	})
}

// Operations without an effect are noticed: a transfer of nothing, and a last addition of nothing, after which only the
// sum is wrong.
func TestContentsAreChecked(t *testing.T) {
	write, read := step{opWrite, measureBandwidth, 64, 3, 20}, step{opRead, measureLatency, 64, 3, 20}
	tests := []struct {
		step step
		post func(c *client, s step, peer answer, i int) error
		want string
	}{
		{write, writeNothing, fmt.Sprintf("at the server: %v: byte 0 is 0x00, expected 0x%02x", write, contents{write, false}.byteAt(0))},
		{read, readNothing, fmt.Sprintf("%v: byte 0 is 0x00, expected 0x%02x", read, contents{read, true}.byteAt(0))},
		{
			step{opFetchAdd, measureBandwidth, 8, 3, 20}, addNothingAtLast,
			"at the server: fetch-add bandwidth of 8 bytes: the counter is 22 after 23 operations",
		},
		{
			step{opFetchAdd, measureLatency, 8, 3, 20}, addTwo,
			"fetch-add latency of 8 bytes: operation 1 found 2, expected 1",
		},
	}
	for _, test := range tests {
		t.Run(test.step.String(), func(t *testing.T) {
			eachClient(t, func(t *testing.T, ctx context.Context, c *client, s settings, served <-chan error) {
				if !slices.Contains(c.operations(), test.step.Operation) {
					t.Log("not tested: the device does not have it")
					return
				}
				// The server says where its memory is when a step begins.
				begin := step{opRead, measureLatency, 8, 0, 1}
				peer, err := c.control.ask(ctx, order{Begin: &begin})
				if err != nil {
					t.Fatal(err)
				}
				_, err = c.run(ctx, test.step, func(i int) error {
					c.data.posted++
					return test.post(c, test.step, peer, i)
				})
				if err == nil || err.Error() != test.want {
					t.Errorf("got %v, want %s", err, test.want)
				}
			})
		})
	}
}

// A message of another length ends the server.
func TestLengthIsChecked(t *testing.T) {
	eachClient(t, func(t *testing.T, ctx context.Context, c *client, s settings, served <-chan error) {
		_, err := c.run(ctx, step{opSend, measureBandwidth, 64, 0, 20}, func(i int) error {
			c.data.posted++
			return sendNothing(c)
		})
		if err == nil {
			t.Error("the client measures empty messages")
		}
		const want = "send bandwidth of 64 bytes: message 0 of 0 bytes arrived, want 0 of 64 bytes"
		if err := <-served; err == nil || err.Error() != want {
			t.Errorf("the server ended with %v, want %s", err, want)
		}
	})
}

// These post something other than the step's own poster. The operation is already counted.

func sendNothing(c *client) error {
	return c.data.ep.PostSend(nil, c.data.posted-1, 0)
}

func writeNothing(c *client, s step, peer answer, i int) error {
	remote, err := place(peer.Target, s)
	if err != nil {
		return err
	}
	return c.data.ep.PostRDMAWrite(nil, c.data.posted-1, remote, 0)
}

func readNothing(c *client, s step, peer answer, i int) error {
	remote, err := place(peer.Source, s)
	if err != nil {
		return err
	}
	return c.data.ep.PostRDMARead(nil, c.data.posted-1, remote, 0)
}

func addNothingAtLast(c *client, s step, peer answer, i int) error {
	if i == s.total()-1 {
		return add(c, s, peer, i, 0)
	}
	return add(c, s, peer, i, 1)
}

func addTwo(c *client, s step, peer answer, i int) error { return add(c, s, peer, i, 2) }

func add(c *client, s step, peer answer, i int, n uint64) error {
	remote, err := place(peer.Target, s)
	if err != nil {
		return err
	}
	old, err := c.memory.Segment(i%c.shape.window*atomicSize, atomicSize)
	if err != nil {
		return err
	}
	return c.data.ep.PostFetchAndAdd(n, old, c.data.posted-1, remote, 0)
}

func place(packed []byte, s step) (udat.RMRTriplet, error) {
	triplet, err := unpackTriplet(packed)
	triplet.SegmentLength = uint32(s.Size)
	return triplet, err
}
