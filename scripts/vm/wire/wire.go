// Package wire is the protocol between the host program and the guest's init over the machine's control port: a stream
// of frames, each with a kind, a length and a payload.
package wire

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/gob"
	"fmt"
	"io"
	"sync"

	"github.com/goudat/goudat/scripts/vm/control"
)

// PortName is the name under which the guest finds the control port.
const PortName = "goudat.testbed"

// User-Mode Linux has no such port. Its guest finds UserModeVariable in its environment. The control port is the
// terminal /dev/ttyN with the number ControlTerminal.
const (
	UserModeVariable = "testbed_user_mode"
	ControlTerminal  = 1
)

// ToolPath has the commands with which the guest sets up the network and the device: those of the package iproute2.
const ToolPath = "/usr/sbin:/usr/bin:/sbin:/bin"

// Kind says what a frame carries.
type Kind byte

// The frames from the host.
const (
	KindJob      Kind = iota + 1 // a gob of Job; the first frame, sent once, in answer to KindReady
	KindSignal                   // one byte, the signal's number, for the program
	KindInput                    // bytes typed at the caller's terminal
	KindInputEnd                 // nothing more will be typed
	KindResize                   // a gob of Size
	KindReply                    // a gob of control.Reply
)

// The frames from the guest. All output of the program precedes KindExit: with one ordered stream nothing is lost when
// the host ends the machine at once.
const (
	KindStdout  Kind = iota + 64 // bytes that the program wrote
	KindStderr                   // bytes that the program wrote
	KindStep                     // text: what the guest has done so far
	KindStarted                  // the program runs, and signals reach it from now on
	KindKernel                   // text: kernel messages that were logged while the program ran
	KindFailure                  // text: why there will be no result
	KindExit                     // one byte, the exit code
	KindRequest                  // a gob of control.Request
	KindReady                    // the first frame: the guest can receive
)

// maxPayload bounds a frame, so that a corrupt length is an error and not an allocation of gigabytes.
const maxPayload = 64 << 20

const headerSize = 5

// Job is the job of a machine.
type Job struct {
	Path   string   // the program's file; empty: set up the machine and report success
	Args   []string // with the program's name
	Env    []string
	Dir    string
	Umask  int
	Nofile uint64 // limit of open files

	// Addresses are the machines' addresses by rank, such as 10.77.0.1 or fd00:77::1. A single machine has no network.
	Addresses []string
	Rank      int

	Shares   []Share
	CPUInfo  string             // the content of /proc/cpuinfo; empty: the kernel's own
	System   bool               // the folder SystemTag has files that replace those of the host
	Device   control.DeviceKind // to attach; NoDevice: none
	Terminal *Size              // run the program on a terminal of this size
}

// HardwareAddress returns the address of a machine's interface. It is fixed, so that the switch knows where each machine is,
// and the GIDs derived from it are the same in every run.
func HardwareAddress(rank int) [6]byte { return [6]byte{0x02, 0x00, 10, 77, 0, byte(rank + 1)} }

// SystemTag is the 9p device with the files of another architecture.
const SystemTag = "system"

// Share is a folder of the host that the machine can write to.
type Share struct {
	Tag  string // of the 9p device
	Path string
}

// DatConf are the files in a machine with entries for its device.
var DatConf = []string{"/run/goudat/dat.conf", "/etc/dat.conf"}

// Size is the size of a terminal, in characters.
type Size struct {
	Rows, Cols uint16
}

// Conn sends and receives frames. Send may be called from any goroutine, Receive from one at a time.
type Conn struct {
	r  *bufio.Reader
	mu sync.Mutex
	w  io.Writer
}

// NewConn makes a Conn over a byte stream.
func NewConn(rw io.ReadWriter) *Conn {
	return &Conn{r: bufio.NewReaderSize(rw, 64<<10), w: rw}
}

// Send writes one frame.
func (c *Conn) Send(kind Kind, payload []byte) error {
	if len(payload) > maxPayload {
		return fmt.Errorf("frame of %d bytes is too long", len(payload))
	}
	frame := make([]byte, headerSize, headerSize+len(payload))
	frame[0] = byte(kind)
	binary.LittleEndian.PutUint32(frame[1:], uint32(len(payload)))
	frame = append(frame, payload...)

	c.mu.Lock()
	defer c.mu.Unlock()
	// The port takes a limited number of bytes at a time. A raw file may make a short write without an error, which
	// io.Writer does not allow.
	for len(frame) > 0 {
		n, err := c.w.Write(frame)
		if err != nil {
			return err
		}
		frame = frame[n:]
	}
	return nil
}

// SendValue writes one frame whose payload is a gob: arguments and environment may be invalid UTF-8.
func (c *Conn) SendValue(kind Kind, value any) error {
	var b bytes.Buffer
	if err := gob.NewEncoder(&b).Encode(value); err != nil {
		return err
	}
	return c.Send(kind, b.Bytes())
}

// Receive reads one frame. The end of the stream between two frames is io.EOF.
func (c *Conn) Receive() (Kind, []byte, error) {
	var header [headerSize]byte
	if _, err := io.ReadFull(c.r, header[:]); err != nil {
		return 0, nil, err
	}
	size := binary.LittleEndian.Uint32(header[1:])
	if size > maxPayload {
		return 0, nil, fmt.Errorf("frame of kind %d claims %d bytes", header[0], size)
	}
	payload := make([]byte, size)
	if _, err := io.ReadFull(c.r, payload); err != nil {
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return 0, nil, err
	}
	return Kind(header[0]), payload, nil
}

// Decode reads the value that SendValue sent.
func Decode(payload []byte, value any) error {
	return gob.NewDecoder(bytes.NewReader(payload)).Decode(value)
}
