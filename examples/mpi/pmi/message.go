// Package pmi speaks PMI-1, the wire protocol between the processes of a message-passing program and their launcher:
// mpiexec.hydra, srun, flux, or package launch. Each process has a rank. It stores values under keys, waits in a
// barrier until the others have stored theirs, and reads those.
//
// A message is a line of words, each a key, an equal sign and a value. The first word is cmd. The process asks and
// the launcher answers, one question at a time.
package pmi

import (
	"bufio"
	"errors"
	"fmt"
	"strings"
)

// Limits of the known launchers.
const (
	maxKey   = 64
	maxValue = 1024
	// maxLine bounds the length of a message.
	maxLine = 64 << 10
)

// ErrProtocol says that the other side does not speak PMI-1.
var ErrProtocol = errors.New("pmi: not a message of PMI-1")

// message is a line of the protocol.
type message struct {
	command string
	words   []string // key, value, key, value and so on
}

func newMessage(command string, words ...string) message { return message{command, words} }

// value returns the value of a key, and "" if the message has no such key.
func (m message) value(key string) string {
	for i := 0; i+1 < len(m.words); i += 2 {
		if m.words[i] == key {
			return m.words[i+1]
		}
	}
	return ""
}

func (m message) line() []byte {
	var b strings.Builder
	b.WriteString("cmd=" + m.command)
	for i := 0; i+1 < len(m.words); i += 2 {
		b.WriteString(" " + m.words[i] + "=" + m.words[i+1])
	}
	b.WriteByte('\n')
	return []byte(b.String())
}

func parseMessage(line string) (message, error) {
	var m message
	for i, word := range strings.Fields(line) {
		key, value, found := strings.Cut(word, "=")
		switch {
		case i == 0 && (key != "cmd" || value == ""):
			return message{}, fmt.Errorf("%w: %.100q", ErrProtocol, line)
		case i == 0:
			m.command = value
		case found:
			m.words = append(m.words, key, value)
		default:
			// Slurm's and MPICH's error texts have spaces in them. They come last.
			if n := len(m.words); n > 0 {
				m.words[n-1] += " " + word
			}
		}
	}
	if m.command == "" {
		return message{}, fmt.Errorf("%w: %.100q", ErrProtocol, line)
	}
	return m, nil
}

// readMessage reads a line.
func readMessage(r *bufio.Reader) (message, error) {
	var line []byte
	for {
		piece, err := r.ReadSlice('\n')
		if line = append(line, piece...); err == nil {
			return parseMessage(string(line))
		}
		if len(line) > maxLine {
			return message{}, fmt.Errorf("%w: a line of more than %d bytes", ErrProtocol, maxLine)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return message{}, err
		}
	}
}

// plain reports whether a key or a value can be sent.
func plain(text string) bool {
	return text != "" && !strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r == '=' || r > '~' })
}
