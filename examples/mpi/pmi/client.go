package pmi

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"sync"
	"syscall"
)

// What a launcher puts into the environment of a process.
const (
	fdVariable   = "PMI_FD"   // descriptor of the socket to the launcher
	portVariable = "PMI_PORT" // host:port of the launcher, instead of a descriptor
	idVariable   = "PMI_ID"   // by which the launcher knows who calls on its port
	rankVariable = "PMI_RANK"
	sizeVariable = "PMI_SIZE"
)

var (
	// ErrNoLauncher says that the process was not started by a launcher.
	ErrNoLauncher = errors.New("pmi: this process was not started by a launcher that speaks PMI-1")
	// ErrGone says that the launcher has ended, or has ended the job.
	ErrGone = errors.New("pmi: the launcher has gone")
	// ErrRefused says that the launcher has answered with an error.
	ErrRefused = errors.New("pmi: the launcher has refused")
	// ErrEnvironment says that what the launcher has put into the environment makes no sense.
	ErrEnvironment = errors.New("pmi: the launcher's environment makes no sense")
)

// Client is a process's end of the line to its launcher. Its methods may be
// called from any goroutine. One that ends with an error has lost the line, but
// for errors that match ErrRefused and for those of its arguments.
type Client struct {
	Rank, Size int

	name     string // of the job's keys
	maxKey   int
	maxValue int

	line    io.ReadWriteCloser
	answers chan message
	gone    chan struct{} // closed when the line is lost
	lost    error         // why; set before gone is closed
	closed  chan struct{} // by Close
	closing sync.Once

	mu sync.Mutex // one question at a time
}

// Launched reports whether a launcher has started this process.
func Launched() bool {
	return os.Getenv(fdVariable) != "" || os.Getenv(portVariable) != ""
}

// Join makes this process a member of its job. It fails with ErrNoLauncher where
// there is none. A process can join once.
func Join(ctx context.Context) (*Client, error) {
	switch {
	case os.Getenv(fdVariable) != "":
		line, err := inherited()
		if err != nil {
			return nil, err
		}
		return newClient(ctx, line, number(os.Getenv(rankVariable)), number(os.Getenv(sizeVariable)))
	case os.Getenv(portVariable) != "":
		line, err := new(net.Dialer).DialContext(ctx, "tcp", os.Getenv(portVariable))
		if err != nil {
			return nil, err
		}
		return newClient(ctx, line, unknown, unknown)
	}
	return nil, ErrNoLauncher
}

// unknown is the rank, and the number of ranks, of a client that asks for them.
const unknown = -2

// newClient joins over a line.
func newClient(ctx context.Context, line io.ReadWriteCloser, rank, size int) (*Client, error) {
	c := &Client{
		Rank: rank, Size: size, maxKey: maxKey, maxValue: maxValue,
		line: line, answers: make(chan message), gone: make(chan struct{}), closed: make(chan struct{}),
	}
	go c.read()
	if err := c.join(ctx); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// inherited opens the descriptor that the launcher has left.
func inherited() (io.ReadWriteCloser, error) {
	fd, err := strconv.Atoi(os.Getenv(fdVariable))
	if err != nil || fd < 0 {
		return nil, fmt.Errorf("%w: %s is %q", ErrEnvironment, fdVariable, os.Getenv(fdVariable))
	}
	// Processes that this one starts must not hold the line: its end tells of this one's.
	syscall.CloseOnExec(fd)
	// A descriptor that does not block goes to Go's poller, so that Close ends a read.
	if err := syscall.SetNonblock(fd, true); err != nil {
		return nil, fmt.Errorf("%w: %s is %d: %w", ErrEnvironment, fdVariable, fd, err)
	}
	return os.NewFile(uintptr(fd), "launcher"), nil
}

func (c *Client) join(ctx context.Context) error {
	if c.Rank == unknown {
		if err := c.introduce(ctx); err != nil {
			return err
		}
	}
	if c.Size < 1 || c.Rank < 0 || c.Rank >= c.Size {
		return fmt.Errorf("%w: the rank is %d of %d", ErrEnvironment, c.Rank, c.Size)
	}
	// Slurm takes the keys in no other order.
	answer, err := c.ask(ctx, "response_to_init", newMessage("init", "pmi_version", "1", "pmi_subversion", "1"))
	if err != nil {
		return err
	}
	if version := answer.value("pmi_version"); version != "1" {
		return fmt.Errorf("%w: it speaks version %s of PMI, and this process version 1", ErrProtocol, version)
	}
	if answer, err = c.ask(ctx, "maxes", newMessage("get_maxes")); err != nil {
		return err
	}
	if n := number(answer.value("keylen_max")); n > 0 {
		c.maxKey = n
	}
	if n := number(answer.value("vallen_max")); n > 0 {
		c.maxValue = n
	}
	answer, err = c.ask(ctx, "my_kvsname", newMessage("get_my_kvsname"))
	c.name = answer.value("kvsname")
	return err
}

// introduce tells the launcher who calls on its port, and learns rank and size.
func (c *Client) introduce(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.send(newMessage("initack", "pmiid", os.Getenv(idVariable)))
	if _, err := c.answer(ctx, "initack"); err != nil {
		return err
	}
	for _, word := range []string{"size", "rank", "debug"} {
		answer, err := c.answer(ctx, "set")
		if err != nil {
			return err
		}
		switch word {
		case "size":
			c.Size = number(answer.value(word))
		case "rank":
			c.Rank = number(answer.value(word))
		}
	}
	return nil
}

// number returns -1 for what is none.
func number(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		return -1
	}
	return n
}

// Put makes a value known to all ranks that get it after the next barrier. Keys
// and values are printable ASCII without spaces and equal signs. A key can be put
// once.
func (c *Client) Put(ctx context.Context, key, value string) error {
	if !plain(key) || len(key) >= c.maxKey {
		return fmt.Errorf("pmi: the key %.100q cannot be sent, or is not shorter than %d", key, c.maxKey)
	}
	if !plain(value) || len(value) >= c.maxValue {
		return fmt.Errorf("pmi: the value %.100q cannot be sent, or is not shorter than %d", value, c.maxValue)
	}
	_, err := c.ask(ctx, "put_result", newMessage("put", "kvsname", c.name, "key", key, "value", value))
	return err
}

// Get returns the value of a key. It fails with ErrRefused when there is none.
func (c *Client) Get(ctx context.Context, key string) (string, error) {
	answer, err := c.ask(ctx, "get_result", newMessage("get", "kvsname", c.name, "key", key))
	return answer.value("value"), err
}

// Barrier waits until all ranks are in it. With a launcher of this module it
// fails with ErrRefused when one has ended; others end the whole job then.
func (c *Client) Barrier(ctx context.Context) error {
	_, err := c.ask(ctx, "barrier_out", newMessage("barrier_in"))
	return err
}

// Finalize tells the launcher that this process ends in good order.
func (c *Client) Finalize(ctx context.Context) error {
	_, err := c.ask(ctx, "finalize_ack", newMessage("finalize"))
	return err
}

// Gone returns a channel that is closed when the launcher has gone, or the client
// is closed.
func (c *Client) Gone() <-chan struct{} { return c.gone }

// Name is that of the job's keys, which other jobs of the launcher do not have.
func (c *Client) Name() string { return c.name }

// Abort asks the launcher to end the job, this process included, with an exit
// code. It has no answer.
func (c *Client) Abort(code int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.send(newMessage("abort", "exitcode", strconv.Itoa(code)))
}

// Close gives the line up. Waiting calls end with an error. The second time it
// does nothing.
func (c *Client) Close() (err error) {
	c.closing.Do(func() {
		close(c.closed)
		err = c.line.Close()
	})
	return err
}

// ask sends a question and returns the answer, which must be the given one.
func (c *Client) ask(ctx context.Context, answer string, question message) (message, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.send(question)
	return c.answer(ctx, answer)
}

// send needs no error: what has ended the line is for whoever reads from it.
func (c *Client) send(m message) { _, _ = c.line.Write(m.line()) }

// answer waits for a message. An answer that does not come in time would be taken
// for that of the next question: the line is lost.
func (c *Client) answer(ctx context.Context, command string) (message, error) {
	select {
	case m := <-c.answers:
		if m.command != command {
			_ = c.Close()
			return message{}, fmt.Errorf("%w: it answers %s, and %s is due", ErrProtocol, m.command, command)
		}
		if rc := m.value("rc"); rc != "" && rc != "0" {
			return m, fmt.Errorf("%w: %s, %s", ErrRefused, command, m.value("msg"))
		}
		return m, nil
	case <-c.gone:
		return message{}, c.lost
	case <-ctx.Done():
		_ = c.Close()
		return message{}, context.Cause(ctx)
	}
}

// read takes what the launcher sends until the end.
func (c *Client) read() {
	defer close(c.gone)
	for r := bufio.NewReader(c.line); ; {
		m, err := readMessage(r)
		if errors.Is(err, ErrProtocol) {
			c.lost = err
			return
		}
		if err != nil {
			c.lost = fmt.Errorf("%w: %w", ErrGone, err)
			return
		}
		select {
		case c.answers <- m:
		case <-c.closed:
			c.lost = ErrGone
			return
		}
	}
}
