package mpi

import (
	"context"
	"debug/elf"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"

	"github.com/goudat/goudat/examples/mpi/pmi"
)

// card is what a rank tells all others through the launcher: how to reach it, and what must be the same on all ranks.
type card struct {
	Build string // identifies the build of the program, and with it the protocol and the byte order
	Size  int    // of the job
	Nonce uint64

	Provider  string // of the adapter
	Address   netip.Addr
	Qualifier uint64

	// Trouble says why this rank cannot take part, "" if it can.
	Trouble string `json:",omitempty"`
}

// newCard returns the card of a rank that has no adapter yet.
func newCard(size int) card {
	c := card{Build: buildID(), Size: size, Nonce: rand.Uint64()}
	if alterCard != nil {
		alterCard(&c)
	}
	return c
}

// alterCard changes the card in tests.
var alterCard func(*card)

// buildID returns a text that differs between builds of a program, or "" if the program was linked without one.
func buildID() string {
	file, err := elf.Open("/proc/self/exe")
	if err != nil {
		return ""
	}
	defer file.Close()
	section := file.Section(".note.go.buildid")
	if section == nil {
		return ""
	}
	note, err := section.Data()
	const header = 16 // sizes, type and "Go\0\0"
	if err != nil || len(note) < header {
		return ""
	}
	return string(note[header:])
}

// mostTrouble keeps a card shorter than what launchers allow.
const mostTrouble = 300

// text returns the card as one word, for the launcher.
func (c card) text() (string, error) {
	c.Trouble = c.Trouble[:min(len(c.Trouble), mostTrouble)]
	b, err := json.Marshal(c)
	return base64.RawURLEncoding.EncodeToString(b), err
}

// check returns why this rank cannot work with one that has the other card.
func (c card) check(other card) error {
	switch {
	case other.Build != c.Build:
		return ErrVersion
	case other.Size != c.Size:
		return fmt.Errorf("%w: it was told %d ranks, and this one %d", ErrSize, other.Size, c.Size)
	case other.Trouble != "":
		return fmt.Errorf("%w: %s", ErrAdapter, other.Trouble)
	case c.Trouble == "" && other.Provider != c.Provider:
		return fmt.Errorf("%w: its provider is %s, and that of this rank %s", ErrAdapter, other.Provider, c.Provider)
	}
	return nil
}

// exchangeCards publishes this rank's card, and returns the cards of all ranks. It fails on all ranks if some cards
// do not fit together.
func exchangeCards(ctx context.Context, client *pmi.Client, mine card) ([]card, error) {
	text, err := mine.text()
	if err != nil {
		return nil, err
	}
	key := func(rank int) string { return fmt.Sprintf("goudat-card-%d", rank) }
	if err := client.Put(ctx, key(client.Rank), text); err != nil {
		return nil, launcherError(err)
	}
	if err := client.Barrier(ctx); err != nil {
		return nil, launcherError(err)
	}
	cards := make([]card, client.Size)
	for rank := range cards {
		text, err := client.Get(ctx, key(rank))
		if errors.Is(err, pmi.ErrRefused) {
			return nil, &RankError{rank, fmt.Errorf("%w: it has not published its address", ErrVersion)}
		}
		if err != nil {
			return nil, launcherError(err)
		}
		b, err := base64.RawURLEncoding.DecodeString(text)
		if err == nil {
			err = json.Unmarshal(b, &cards[rank])
		}
		if err != nil {
			return nil, &RankError{rank, fmt.Errorf("%w: %w", ErrVersion, err)}
		}
	}
	for rank, other := range cards {
		if rank != client.Rank {
			if err := mine.check(other); err != nil {
				return nil, &RankError{rank, err}
			}
		}
	}
	return cards, nil
}

// launcherError converts the error of a call of the launcher.
func launcherError(err error) error {
	switch {
	case errors.Is(err, pmi.ErrGone):
		return fmt.Errorf("%w: %w", ErrLauncherGone, err)
	case errors.Is(err, pmi.ErrRefused):
		return fmt.Errorf("%w: %w", ErrDied, err)
	}
	return err
}

// AdapterVariable is the environment variable that names the adapter of ranks whose program names none.
const AdapterVariable = "GOUDAT_MPI_ADAPTER"
