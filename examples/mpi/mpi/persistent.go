package mpi

import "errors"

// ErrUnderWay says that an operation was started again before it had ended.
var ErrUnderWay = errors.New("mpi: the operation is under way")

// Persistent is a send or a receive that is repeated with the same slice, rank and tag. Its arguments are checked
// once; then it can be started many times. Only one goroutine may use it at a time.
type Persistent struct {
	comm     *Comm
	numbers  data
	rank     int
	tag      int
	incoming *receive // nil for a send
	request  *Request // of the last Start
}

// SendInit returns a Persistent that works like Send.
func SendInit[T Number](c *Comm, numbers []T, dest, tag int) (*Persistent, error) {
	if err := c.checkSend(dest, tag); err != nil {
		return nil, err
	}
	return &Persistent{comm: c, numbers: dataOf(numbers), rank: dest, tag: tag}, nil
}

// RecvInit returns a Persistent that works like Recv.
func RecvInit[T Number](c *Comm, numbers []T, source, tag int) (*Persistent, error) {
	if err := c.checkReceive(source, tag); err != nil {
		return nil, err
	}
	return &Persistent{comm: c, numbers: dataOf(numbers), rank: source, tag: tag, incoming: &receive{}}, nil
}

// Start begins the operation again. It fails with ErrUnderWay if the last one has not ended.
func (p *Persistent) Start() error {
	c, w := p.comm, p.comm.world
	w.mu.Lock()
	defer w.mu.Unlock()
	if p.request != nil && !p.request.done {
		return ErrUnderWay
	}
	if p.incoming != nil {
		c.post(p.incoming, c.userContext(), p.numbers, p.rank, p.tag)
		p.request = &p.incoming.request
		return nil
	}
	r, err := c.begin(nil, c.userContext(), p.numbers, p.rank, p.tag)
	if r == nil {
		r = w.endedRequest(err)
	}
	p.request = r
	return nil
}

// Wait waits until the operation that was started last is done; see Request.Wait. It returns at once if the operation
// was never started.
func (p *Persistent) Wait() (Status, error) {
	if p.request == nil {
		return Status{}, nil
	}
	return p.request.Wait()
}

// Cancel ends the operation that was started last; see Request.Cancel.
func (p *Persistent) Cancel() bool { return p.request != nil && p.request.Cancel() }

// Startall starts all operations. If one fails, it returns that error, and does not start those after it.
func Startall(operations ...*Persistent) error {
	for _, p := range operations {
		if err := p.Start(); err != nil {
			return err
		}
	}
	return nil
}
