package pmi

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"sync"
	"syscall"
)

// Variables that a launcher sets in the environment of a process.
const (
	fdVariable   = "PMI_FD" // descriptor of the socket to the launcher
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
	// ErrEnvironment says that the launcher has set the environment to something invalid.
	ErrEnvironment = errors.New("pmi: the launcher's environment variables are invalid")
)

// Client is a process's connection to its launcher. Its methods may be called from any goroutine. After a method has
// returned an error, the connection is lost, except after errors that match ErrRefused and errors about arguments.
type Client struct {
	Rank, Size int

	name string // of the job's set of keys

	line    io.ReadWriteCloser
	answers chan message
	gone    chan struct{} // closed when the line is lost
	lost    error         // why the line is lost; set before gone is closed
	closed  chan struct{} // closed by Close
	closing sync.Once

	mu sync.Mutex // held for one question and its answer
}

// Launched reports whether a launcher has started this process.
func Launched() bool {
	return os.Getenv(fdVariable) != ""
}

// Join makes this process a member of its job. It fails with ErrNoLauncher if there is no launcher. A process can
// join once.
func Join(ctx context.Context) (*Client, error) {
	if !Launched() {
		return nil, ErrNoLauncher
	}
	line, err := inherited()
	if err != nil {
		return nil, err
	}
	return newClient(ctx, line, number(os.Getenv(rankVariable)), number(os.Getenv(sizeVariable)))
}

// newClient joins over a line.
func newClient(ctx context.Context, line io.ReadWriteCloser, rank, size int) (*Client, error) {
	c := &Client{
		Rank: rank, Size: size,
		line: line, answers: make(chan message), gone: make(chan struct{}), closed: make(chan struct{}),
	}
	go c.read()
	if err := c.join(ctx); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// inherited opens the descriptor that the launcher has passed.
func inherited() (io.ReadWriteCloser, error) {
	fd, err := strconv.Atoi(os.Getenv(fdVariable))
	if err != nil || fd < 0 {
		return nil, fmt.Errorf("%w: %s is %q", ErrEnvironment, fdVariable, os.Getenv(fdVariable))
	}
	// Processes that this one starts must not hold the line, because its end means that this process has ended.
	syscall.CloseOnExec(fd)
	// Go's poller handles a descriptor that does not block, so that Close ends a read.
	if err := syscall.SetNonblock(fd, true); err != nil {
		return nil, fmt.Errorf("%w: %s is %d: %w", ErrEnvironment, fdVariable, fd, err)
	}
	return os.NewFile(uintptr(fd), "launcher"), nil
}

func (c *Client) join(ctx context.Context) error {
	if c.Size < 1 || c.Rank < 0 || c.Rank >= c.Size {
		return fmt.Errorf("%w: the rank is %d of %d", ErrEnvironment, c.Rank, c.Size)
	}
	// Slurm requires this order of the keys.
	answer, err := c.ask(ctx, "response_to_init", newMessage("init", "pmi_version", "1", "pmi_subversion", "1"))
	if err != nil {
		return err
	}
	if version := answer.value("pmi_version"); version != "1" {
		return fmt.Errorf("%w: it speaks version %s of PMI, but this process version 1", ErrProtocol, version)
	}
	answer, err = c.ask(ctx, "my_kvsname", newMessage("get_my_kvsname"))
	c.name = answer.value("kvsname")
	return err
}

// number returns -1 for text that is not a number.
func number(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		return -1
	}
	return n
}

// Put stores a value under a key. All ranks can get it after the next barrier. Keys and values are printable ASCII
// without spaces and equal signs. A key can be put once.
func (c *Client) Put(ctx context.Context, key, value string) error {
	if !plain(key) || len(key) >= maxKey {
		return fmt.Errorf("pmi: the key %.100q cannot be sent, or is not shorter than %d", key, maxKey)
	}
	if !plain(value) || len(value) >= maxValue {
		return fmt.Errorf("pmi: the value %.100q cannot be sent, or is not shorter than %d", value, maxValue)
	}
	_, err := c.ask(ctx, "put_result", newMessage("put", "kvsname", c.name, "key", key, "value", value))
	return err
}

// Get returns the value of a key. It fails with ErrRefused if there is none.
func (c *Client) Get(ctx context.Context, key string) (string, error) {
	answer, err := c.ask(ctx, "get_result", newMessage("get", "kvsname", c.name, "key", key))
	return answer.value("value"), err
}

// Barrier waits until all ranks are in it. With a launcher of this module it fails with ErrRefused when a rank has
// ended; other launchers then end the whole job.
func (c *Client) Barrier(ctx context.Context) error {
	_, err := c.ask(ctx, "barrier_out", newMessage("barrier_in"))
	return err
}

// Finalize tells the launcher that this process is about to end in good order.
func (c *Client) Finalize(ctx context.Context) error {
	_, err := c.ask(ctx, "finalize_ack", newMessage("finalize"))
	return err
}

// Gone returns a channel that is closed when the launcher has gone, or the client
// is closed.
func (c *Client) Gone() <-chan struct{} { return c.gone }

// Name returns the name of the job's set of keys. It is different for each job of a launcher.
func (c *Client) Name() string { return c.name }

// Close closes the line. Calls that wait return an error. The second call does nothing.
func (c *Client) Close() (err error) {
	c.closing.Do(func() {
		close(c.closed)
		err = c.line.Close()
	})
	return err
}

// ask sends a question and returns the answer, which must have the given command.
func (c *Client) ask(ctx context.Context, answer string, question message) (message, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.send(question)
	return c.answer(ctx, answer)
}

// send ignores errors: reading from the line reports them.
func (c *Client) send(m message) { _, _ = c.line.Write(m.line()) }

// answer waits for a message. If it does not come in time, answer closes the line: it would be taken for the answer
// of the next question.
func (c *Client) answer(ctx context.Context, command string) (message, error) {
	select {
	case m := <-c.answers:
		if m.command != command {
			_ = c.Close()
			return message{}, fmt.Errorf("%w: it answers %s instead of %s", ErrProtocol, m.command, command)
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

// read reads what the launcher sends until the line ends.
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
