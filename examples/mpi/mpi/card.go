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
	"os"
	"strconv"
	"unsafe"

	"github.com/goudat/goudat/examples/mpi/pmi"
)

// protocolVersion changes when the format of what ranks send each other does.
const protocolVersion = 1

// card is what a rank tells all others through the launcher: how to reach it, and what must be the same on all ranks.
type card struct {
	Protocol int
	Build    string // identifies the build of the program
	Machine  string // byte order and word size
	Size     int    // of the job
	Nonce    uint64

	Provider  string // of the adapter
	Address   netip.Addr
	Qualifier uint64

	// Trouble says why this rank cannot take part, "" if it can.
	Trouble string `json:",omitempty"`
}

// newCard returns the card of a rank that has no adapter yet.
func newCard(size int) card {
	order := "big"
	if one := uint16(1); *(*byte)(unsafe.Pointer(&one)) == 1 {
		order = "little"
	}
	c := card{
		Protocol: protocolVersion, Build: buildID(), Machine: order + strconv.Itoa(strconv.IntSize),
		Size: size, Nonce: rand.Uint64(),
	}
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

func parseCard(text string) (c card, err error) {
	b, err := base64.RawURLEncoding.DecodeString(text)
	if err == nil {
		err = json.Unmarshal(b, &c)
	}
	return c, err
}

// check returns why this rank cannot work with one that has the other card.
func (c card) check(other card) error {
	switch {
	case other.Protocol != c.Protocol:
		return fmt.Errorf("%w: its protocol has version %d, and that of this rank %d", ErrVersion, other.Protocol, c.Protocol)
	case other.Machine != c.Machine:
		return fmt.Errorf("%w: its numbers are %s, and those of this rank %s", ErrVersion, other.Machine, c.Machine)
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

// cardKey is the key under which a rank puts its card.
func cardKey(rank int) string { return fmt.Sprintf("goudat-card-%d", rank) }

// exchangeCards publishes this rank's card, and returns the cards of all ranks. It fails on all ranks if some cards
// do not fit together.
func exchangeCards(ctx context.Context, client *pmi.Client, mine card) ([]card, error) {
	text, err := mine.text()
	if err != nil {
		return nil, err
	}
	if err := client.Put(ctx, cardKey(client.Rank), text); err != nil {
		return nil, launcherError(err)
	}
	if err := client.Barrier(ctx); err != nil {
		return nil, launcherError(err)
	}
	cards := make([]card, client.Size)
	for rank := range cards {
		text, err := client.Get(ctx, cardKey(rank))
		if errors.Is(err, pmi.ErrRefused) {
			return nil, &RankError{rank, fmt.Errorf("%w: it has not published its address", ErrVersion)}
		}
		if err != nil {
			return nil, launcherError(err)
		}
		if cards[rank], err = parseCard(text); err != nil {
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

// adapterName returns the name of the adapter to use, or "" for the first that works.
func (o Options) adapterName() string {
	if o.Adapter != "" {
		return o.Adapter
	}
	return os.Getenv(AdapterVariable)
}
