//go:build linux

package reliability

import (
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/udattest"
)

// The socket CM provider listens on a TCP port, which anybody can write to.
func TestGarbageOnListeningPort(t *testing.T) {
	names := slices.DeleteFunc(udattest.Names(t), func(name string) bool { return !strings.Contains(name, "scm") })
	playOn(t, names, farRank, "garbage on the listening port", func(s *scene) {
		const talkers = 24
		if !s.near() {
			listener := udattest.Listen(s.T, s.ia)
			s.tell(int(listener.ConnQual))
			s.meet("") // the garbage is sent
			wantNothing(s, listener.Requests)
			s.reconnect()
			return
		}
		const firstPort = 1000 // that of qualifier 0
		service := fmt.Sprintf("%v:%d", s.peerAddress(), firstPort+s.tell(0))
		for i := range talkers {
			conn, err := net.DialTimeout("tcp", service, bound)
			s.do(err)
			conn.SetDeadline(time.Now().Add(bound))
			conn.Write(garbage(s.rand, i))
			if i%2 == 0 { // the others stay and say no more
				conn.Close()
			} else {
				defer conn.Close()
			}
		}
		s.meet("")
		s.reconnect()
		s.saw("no request resulted; connections were made afterwards")
	})
}

// garbage returns bytes of many lengths. Some begin like a message, with the version of the protocol, and some are only
// the beginning of a message.
func garbage(r *rand.Rand, number int) []byte {
	if number%8 == 1 {
		return []byte{0, 1, 2, 3}
	}
	b := make([]byte, r.IntN(1500))
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	if number%4 > 1 {
		copy(b, []byte{0, byte(number % 16)})
	}
	return b
}

// wantNothing checks that there is no event.
func wantNothing(s *scene, evd *udat.EVD) {
	s.Helper()
	if event, err := evd.Dequeue(); err == nil {
		s.Errorf("there is an event: %v", event.Number)
	}
}

// Private data belongs to the program: any bytes that fit arrive unchanged.
func TestGarbageInPrivateData(t *testing.T) {
	play(t, "garbage in private data", func(s *scene) {
		_, provider, err := s.ia.Query()
		s.do(err)
		e := s.endpoint()
		content := make([]byte, provider.MaxPrivateDataSize)
		for i := range content {
			content[i] = byte(rand.New(rand.NewPCG(*seedFlag, uint64(i))).Uint32())
		}
		if s.near() {
			s.do(e.EP.Connect(s.peerAddress(), udat.ConnQual(s.tell(0)), bound, content))
		} else {
			listener := udattest.Listen(s.T, s.ia)
			s.tell(int(listener.ConnQual))
			cr := udattest.Expect(s.T, listener.Requests, udat.EventConnectionRequest).CR()
			param, err := cr.Query()
			s.do(err)
			if !slices.Equal(param.PrivateData, content) {
				s.Errorf("the private data are % x, want % x", param.PrivateData, content)
			}
			s.do(cr.Accept(e.EP, content))
		}
		event := udattest.Expect(s.T, e.Connect, udat.EventConnectionEstablished)
		if s.near() {
			// The CMA provider pads with zeros.
			if got := event.PrivateData(); len(got) < len(content) || !slices.Equal(got[:len(content)], content) {
				s.Errorf("the private data of the accept are % x, want % x", got, content)
			}
			s.saw("they arrived unchanged")
		}
		s.meet("")
	})
}
