package main

import "math"

// plate is some successive rows of a square plate: the temperature of each cell, and what it will be after the next
// step. Cells at the edges of the square keep their temperature. A step also leaves the first and the last row as
// they are.
type plate struct {
	width     int
	now, next []float64
}

func newPlate(rows, width int) *plate {
	return &plate{width: width, now: make([]float64, rows*width), next: make([]float64, rows*width)}
}

func (p *plate) rows() int           { return len(p.now) / p.width }
func (p *plate) row(i int) []float64 { return p.now[i*p.width:][:p.width] }

// hot is the temperature in the middle of the upper edge. From there it falls to 0 at the corners. All other cells
// begin at 0.
const hot = 100

// warm sets the temperatures of the beginning. first is the number of the plate's first row in the square.
func (p *plate) warm(first int) {
	if first > 0 {
		return
	}
	for _, cells := range [][]float64{p.now, p.next} {
		for x := range p.width {
			cells[x] = hot * math.Sin(math.Pi*float64(x)/float64(p.width-1))
		}
	}
}

// step moves each cell towards the mean of its four neighbors, and returns the largest change.
func (p *plate) step() float64 {
	const rate = 0.2 // of the difference to a neighbor; above a quarter the computation is unstable
	largest := 0.0
	for y := 1; y < p.rows()-1; y++ {
		for x := 1; x < p.width-1; x++ {
			i := y*p.width + x
			here := p.now[i]
			change := rate * (p.now[i-p.width] + p.now[i+p.width] + p.now[i-1] + p.now[i+1] - 4*here)
			p.next[i] = here + change
			largest = max(largest, math.Abs(change))
		}
	}
	// Cells that are not computed need no copy: edges never change, and the other rows are received.
	p.now, p.next = p.next, p.now
	return largest
}

// solve computes the whole square in one process.
func solve(cells, steps int) *plate {
	p := newPlate(cells, cells)
	p.warm(0)
	for range steps {
		p.step()
	}
	return p
}
