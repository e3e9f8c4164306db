package wire

import (
	"bytes"
	"errors"
	"io"
	"reflect"
	"testing"
	"testing/iotest"
)

// piecewise takes at most three bytes per write, as a file may.
type piecewise struct{ bytes.Buffer }

func (p *piecewise) Write(b []byte) (int, error) { return p.Buffer.Write(b[:min(3, len(b))]) }

type stream struct {
	io.Reader
	io.Writer
}

func TestFramesArriveWhole(t *testing.T) {
	var p piecewise
	out := NewConn(&p)
	job := Job{Path: "/bin/x", Args: []string{"x", "", "\xff\x00"}, Shares: []Share{{"t", "/d"}}, Terminal: &Size{24, 80}}
	if err := errors.Join(out.SendValue(KindJob, job), out.Send(KindExit, []byte{7}), out.Send(KindStdout, nil)); err != nil {
		t.Fatal(err)
	}
	in := NewConn(stream{iotest.OneByteReader(&p.Buffer), nil})
	kind, payload, err := in.Receive()
	if err != nil || kind != KindJob {
		t.Fatalf("got kind %d, %v", kind, err)
	}
	var got Job
	if err := Decode(payload, &got); err != nil || !reflect.DeepEqual(got, job) {
		t.Errorf("got %+v, %v, want %+v", got, err, job)
	}
	if kind, payload, err := in.Receive(); kind != KindExit || !bytes.Equal(payload, []byte{7}) || err != nil {
		t.Errorf("got kind %d, %v, %v", kind, payload, err)
	}
	if kind, payload, err := in.Receive(); kind != KindStdout || len(payload) != 0 || err != nil {
		t.Errorf("got kind %d, %v, %v", kind, payload, err)
	}
	if _, _, err := in.Receive(); err != io.EOF {
		t.Errorf("at the end: %v", err)
	}
}

func TestBrokenFrames(t *testing.T) {
	for _, c := range []struct {
		bytes string
		want  error // nil: any
	}{
		{"\x01\x05\x00\x00\x00abc", io.ErrUnexpectedEOF},
		{"\x01\x05\x00\x00\x00", io.ErrUnexpectedEOF},
		{"\x01\x05", io.ErrUnexpectedEOF},
		{"\x01\xff\xff\xff\xff", nil},
	} {
		_, _, err := NewConn(bytes.NewBufferString(c.bytes)).Receive()
		if err == nil || c.want != nil && err != c.want {
			t.Errorf("%q: %v, want %v", c.bytes, err, c.want)
		}
	}
	if err := NewConn(&bytes.Buffer{}).Send(KindStdout, make([]byte, maxPayload+1)); err == nil {
		t.Error("a frame that is too long was sent")
	}
}
