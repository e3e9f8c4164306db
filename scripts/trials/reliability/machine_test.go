//go:build linux

package reliability

import (
	"testing"

	"github.com/goudat/goudat/scripts/vm/control"
	"github.com/goudat/goudat/udat/udattest"
)

// A machine that loses its power tells nobody.
func TestMachineKilled(t *testing.T) {
	peers, err := control.Peers()
	names := udattest.Names(t)
	if err == nil && len(peers) < firstVictimRank+len(names) {
		t.Skipf("none of %d machines can be killed: the test needs %d", len(peers), firstVictimRank+len(names))
	}
	for i, name := range names {
		t.Run(name, func(t *testing.T) {
			playOn(t, []string{name}, firstVictimRank+i, "the peer's machine is killed, in the middle of sends", func(s *scene) {
				s.patience = patience
				e := s.connect()
				const n = 1000
				result := s.deliver(e, n, map[int]func(){50 + s.rand.IntN(200): func() {
					s.do(control.Kill(background, s.peer))
				}})
				if result.failure == nil {
					s.Error("no send failed")
				}
				s.saw("%s, after %v: the program disconnected", result.of(n), rounded(result.slowest))
			})
		})
	}
}
