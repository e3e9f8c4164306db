//go:build linux

package failures

import (
	"bufio"
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/goudat/goudat/scripts/dapl/devicetest/between"
	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/udattest"
)

const cma = "ofa-v2-cma"

//go:embed testdata/cm_peer.c
var cmPeer string

// cmPeer builds the peer, and returns the command that starts it.
func (h *host) cmPeer(what string, qual udat.ConnQual) *exec.Cmd {
	h.Helper()
	program := between.Program(h, cmPeer, "-lrdmacm")
	cmd := exec.Command(program, what, h.address.String(), fmt.Sprint(qual))
	cmd.Stderr = os.Stderr
	return cmd
}

// Clients that leave at once, when they are answered, or established, with odd private data and queue pairs.
func TestCMStrangers(t *testing.T) {
	forEachHost(t, cma, func(h *host) {
		if err := h.cmPeer("connect", h.listener.ConnQual).Run(); err != nil {
			h.Errorf("the strangers: %v", err)
		}
	})
}

// Servers that are silent, leave at once, or accept with odd private data and queue pairs.
func TestCMStrangeServers(t *testing.T) {
	forEachHost(t, cma, func(h *host) {
		qual := udattest.ConnQual()
		cmd := h.cmPeer("listen", qual)
		stdin, err := cmd.StdinPipe()
		h.do(err)
		stdout, err := cmd.StdoutPipe()
		h.do(err)
		h.do(cmd.Start())
		_, err = bufio.NewReader(stdout).ReadString('\n')
		h.do(err)
		client := udattest.NewEndpoint(h.T, h.ia, nil)
		for n := range 10 {
			h.do(client.EP.Connect(h.address, qual, 300*time.Millisecond, []byte("hello")))
			h.Logf("server %d: %v", n%5, h.outcome(client, udattest.Patience))
			h.do(client.Reset())
		}
		h.do(stdin.Close())
		h.do(cmd.Wait())
	})
}
