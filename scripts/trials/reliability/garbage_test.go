//go:build linux

package reliability

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/goudat/goudat/udat"
	"github.com/goudat/goudat/udat/udattest"
)

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
