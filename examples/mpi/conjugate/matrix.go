package main

import "github.com/goudat/goudat/examples/mpi/mpi"

// matrix is a rank's rows of a sparse matrix. Each cell of a cube has an equation with itself and its neighbors, up
// to 26 of them. The cube is cut into layers, and each rank has some of these.
type matrix struct {
	layer int // how many cells a layer has
	first []int
	// columns and values have the entries of row i from index first[i] to before first[i+1]. A column is an index
	// into operand.
	columns []int32
	values  []float64

	// operand is the vector that the matrix is multiplied with. It begins and ends with a layer of each neighbor;
	// this rank's own part is in between.
	operand []float64
	halo    []*mpi.Persistent // receives these layers, and sends the neighbors theirs
}

// layers returns the range of layers that a rank has.
func layers(rank, ranks, cells int) (first, end int) {
	return rank * cells / ranks, (rank + 1) * cells / ranks
}

func newMatrix(c *mpi.Comm, cells int) (*matrix, error) {
	a := &matrix{layer: cells * cells, first: []int{0}}
	first, end := layers(c.Rank(), c.Size(), cells)
	for z := first; z < end; z++ {
		for y := range cells {
			for x := range cells {
				a.row(x, y, z, first, cells)
			}
		}
	}
	a.operand = make([]float64, a.rows()+2*a.layer)
	return a, a.meet(c)
}

// row adds the equation of a cell: 26 times its own value minus those of its neighbors.
func (a *matrix) row(x, y, z, first, cells int) {
	for nz := max(z-1, 0); nz <= min(z+1, cells-1); nz++ {
		for ny := max(y-1, 0); ny <= min(y+1, cells-1); ny++ {
			for nx := max(x-1, 0); nx <= min(x+1, cells-1); nx++ {
				value := -1.0
				if nx == x && ny == y && nz == z {
					value = 26
				}
				a.columns = append(a.columns, int32((nz-first+1)*a.layer+ny*cells+nx))
				a.values = append(a.values, value)
			}
		}
	}
	a.first = append(a.first, len(a.columns))
}

func (a *matrix) rows() int { return len(a.first) - 1 }

// own returns this rank's part of the operand.
func (a *matrix) own() []float64 { return a.operand[a.layer : len(a.operand)-a.layer] }

// rowSums returns the product with a vector of ones.
func (a *matrix) rowSums() []float64 {
	sums := make([]float64, a.rows())
	for i := range sums {
		for _, v := range a.values[a.first[i]:a.first[i+1]] {
			sums[i] += v
		}
	}
	return sums
}

// multiply computes the product with the operand.
func (a *matrix) multiply(result []float64) error {
	if err := a.exchange(); err != nil {
		return err
	}
	for i := range result {
		sum := 0.0
		for j := a.first[i]; j < a.first[i+1]; j++ {
			sum += a.values[j] * a.operand[a.columns[j]]
		}
		result[i] = sum
	}
	return nil
}

const (
	tagUp   = iota // a layer for the rank before
	tagDown        // a layer for the rank after
)

// meet prepares the exchange with the neighbors. It is the same each time, which is what persistent requests are for.
func (a *matrix) meet(c *mpi.Comm) error {
	own := a.own()
	add := func(p *mpi.Persistent, err error) error {
		a.halo = append(a.halo, p)
		return err
	}
	if before := c.Rank() - 1; before >= 0 {
		if err := add(mpi.RecvInit(c, a.operand[:a.layer], before, tagDown)); err != nil {
			return err
		}
		if err := add(mpi.SendInit(c, own[:a.layer], before, tagUp)); err != nil {
			return err
		}
	}
	if behind := c.Rank() + 1; behind < c.Size() {
		if err := add(mpi.RecvInit(c, a.operand[len(a.operand)-a.layer:], behind, tagUp)); err != nil {
			return err
		}
		if err := add(mpi.SendInit(c, own[len(own)-a.layer:], behind, tagDown)); err != nil {
			return err
		}
	}
	return nil
}

// exchange sends this rank's outermost layers to its neighbors, and receives theirs.
func (a *matrix) exchange() error {
	if err := mpi.Startall(a.halo...); err != nil {
		return err
	}
	for _, p := range a.halo {
		if _, err := p.Wait(); err != nil {
			return err
		}
	}
	return nil
}
