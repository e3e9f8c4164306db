package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/goudat/goudat/examples/mpi/mpi"
)

// A checkpoint is a file of rank 0 with the whole plate after some step, so that a job that was ended can continue,
// also with another number of ranks.

// checkpointHeader is in front of the cells.
type checkpointHeader struct {
	Magic [8]byte
	Cells uint32
	Step  uint32
}

var checkpointMagic = [8]byte{'h', 'e', 'a', 't', ' ', 'c', 'p', '1'}

// save has rank 0 write the checkpoint. The file is replaced only when the new one is complete.
func save(c *mpi.Comm, s settings, p *plate, step int) error {
	square, err := collect(c, p, s.cells)
	if err == nil && c.Rank() == 0 {
		err = write(s, square, step)
	}
	return agree(c, err)
}

func write(s settings, square []float64, step int) error {
	b, err := binary.Append(nil, binary.LittleEndian, checkpointHeader{checkpointMagic, uint32(s.cells), uint32(step)})
	if err == nil {
		b, err = binary.Append(b, binary.LittleEndian, square)
	}
	if err != nil {
		return err
	}
	if err := os.WriteFile(s.checkpoint+".new", b, 0o644); err != nil {
		return err
	}
	return os.Rename(s.checkpoint+".new", s.checkpoint)
}

// restore distributes the plate of the checkpoint to the ranks, and returns its step, or 0 if there is no checkpoint.
func restore(c *mpi.Comm, s settings, p *plate) (step int, err error) {
	if s.checkpoint == "" {
		return 0, nil
	}
	var square *plate
	if c.Rank() == 0 {
		square, step, err = read(s)
	}
	if err := agree(c, err); err != nil {
		return 0, err
	}
	steps := []int{step}
	if err := mpi.Bcast(c, steps, 0); err != nil || steps[0] == 0 {
		return 0, err
	}
	if c.Rank() == 0 {
		return step, mpi.Scatterv(c, square.own(), computed(c.Size(), s.cells), p.own(), 0)
	}
	return steps[0], mpi.Scatterv(c, nil, nil, p.own(), 0)
}

func read(s settings) (*plate, int, error) {
	b, err := os.ReadFile(s.checkpoint)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, err
	}
	var h checkpointHeader
	n, err := binary.Decode(b, binary.LittleEndian, &h)
	if err != nil || h.Magic != checkpointMagic {
		return nil, 0, fmt.Errorf("%s is not a checkpoint of heat", s.checkpoint)
	}
	if int(h.Cells) != s.cells || int(h.Step) > s.steps || len(b)-n != 8*s.cells*s.cells {
		return nil, 0, fmt.Errorf("%s has %d cells in a row and step %d, but the run is for %d cells and %d steps", s.checkpoint, h.Cells, h.Step, s.cells, s.steps)
	}
	square := newPlate(s.cells, s.cells)
	_, err = binary.Decode(b[n:], binary.LittleEndian, square.now)
	return square, int(h.Step), err
}

// agree returns an error on all ranks if rank 0 has one.
func agree(c *mpi.Comm, err error) error {
	failed := []int8{0}
	if err != nil {
		failed[0] = 1
	}
	if told := mpi.Bcast(c, failed, 0); err == nil {
		err = told
	}
	if err == nil && failed[0] != 0 {
		err = errors.New("rank 0 could not read or write its checkpoint")
	}
	return err
}
