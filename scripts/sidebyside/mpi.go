package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// messagePassing has the results of examples/mpi, MPICH and Open MPI, measured by turns.
type messagePassing struct {
	Command string   `json:"command"`
	Machine machine  `json:"machine"`
	Rounds  int      `json:"rounds"`
	Values  []mpiRow `json:"values"`
	// Failed names the runs of other libraries that failed or did not end. Values has nothing of them.
	Failed []string `json:"failed,omitempty"`
}

// mpiRow is one measurement by one library: a number for each round.
type mpiRow struct {
	By     string    `json:"by"`
	Ranks  int       `json:"ranks"`
	Test   string    `json:"test"`
	Bytes  int       `json:"bytes"`
	Unit   string    `json:"unit"`
	Rounds []float64 `json:"rounds"`
}

// mpiPrograms are the programs that measure.
type mpiPrograms struct {
	ours     string // examples/mpi/mpiperf
	mpich    string // mpitwin, compiled for each
	openmpi  string
	udatperf string // measures udat alone
}

// mpiMeasurer prints lines of a test, bytes, a value and its unit.
type mpiMeasurer struct {
	name        string
	command     func(ranks int) []string
	environment []string
	other       bool // another library, which may fail
	// optional is for what some machines do not have. It is left out when its first run
	// fails.
	optional         bool
	measured, absent bool
}

var (
	mpiSizes    = []int{8, 64, 1024, 8192, 65536, 1 << 20}
	mpiRanks    = []int{2, 4}
	mpiFewSizes = []int{8}
)

// byUdat names the measurements of udat alone, between two processes.
const byUdat = "udat"

// measurers returns examples/mpi on each adapter, and the others over TCP on the device's interface and over its verbs.
func (p mpiPrograms) measurers(adapters []string, netdev string, seconds float64, sizes []int) (list []mpiMeasurer) {
	var texts []string
	for _, size := range sizes {
		texts = append(texts, strconv.Itoa(size))
	}
	length := time.Duration(seconds * float64(time.Second))
	// On a machine with few processors, Linux can leave ranks that poll on the same one for long.
	pinned := []string{"sh", "-c", fmt.Sprintf(`exec taskset -c $((${PMI_RANK:-$OMPI_COMM_WORLD_RANK} %% %d)) "$0" "$@"`, runtime.NumCPU())}
	hydra := func(ranks int, program ...string) []string {
		return slices.Concat([]string{"mpiexec.hydra", "-n", strconv.Itoa(ranks)}, pinned, program)
	}
	for _, adapter := range adapters {
		list = append(list, mpiMeasurer{
			name: adapter,
			command: func(ranks int) []string {
				return hydra(ranks, p.ours, "-csv", "-provider", adapter, "-time", length.String(), "-sizes", strings.Join(texts, ","))
			},
			environment: []string{goProcessors()},
		})
	}
	twin := append([]string{fmt.Sprint(seconds)}, texts...)
	mpich := func(ranks int) []string {
		return hydra(ranks, append([]string{p.mpich}, twin...)...)
	}
	openmpi := func(options ...string) func(ranks int) []string {
		return func(ranks int) []string {
			words := append([]string{"mpirun.openmpi", "--allow-run-as-root", "--oversubscribe"}, options...)
			return slices.Concat(words, []string{"-n", strconv.Itoa(ranks)}, pinned, []string{p.openmpi}, twin)
		}
	}
	// Without shared memory, which they would use on one machine.
	apart := []string{
		"MPIR_CVAR_NOLOCAL=1",
		// Open MPI asks for the user's session folder, and for a way to other machines.
		"OMPI_MCA_orte_tmpdir_base=/tmp", "OMPI_MCA_plm_rsh_agent=false", "PRTE_MCA_plm_ssh_agent=false",
	}
	list = append(list,
		mpiMeasurer{name: "MPICH, TCP", other: true, command: mpich, environment: append([]string{"UCX_TLS=tcp,self", "UCX_NET_DEVICES=" + netdev}, apart...)},
		mpiMeasurer{name: "Open MPI, TCP", other: true, command: openmpi("--mca", "pml", "ob1", "--mca", "btl", "tcp,self", "--mca", "btl_tcp_if_include", netdev), environment: apart},
	)
	device, found := deviceOn(netdev)
	if !found {
		return list
	}
	// UCX 1.13 connects by datagrams, and drops those with IPv4 addresses that come from a soft-RoCE device: it looks at the
	// service level for the kind of packet, where Mellanox's adapters have it. So the addresses are those of the first
	// GID, which is of IPv6.
	verbs := append([]string{"UCX_TLS=rc_verbs,ud_verbs,self", "UCX_NET_DEVICES=" + device + ":1", "UCX_IB_GID_INDEX=0"}, apart...)
	return append(list,
		mpiMeasurer{name: "MPICH, verbs", command: mpich, environment: verbs, other: true, optional: true},
		mpiMeasurer{name: "Open MPI, verbs", command: openmpi("--mca", "pml", "ucx", "--mca", "osc", "^ucx"), environment: verbs, other: true, optional: true},
	)
}

// deviceOn returns the name of the RDMA device on a network interface.
func deviceOn(netdev string) (string, bool) {
	const folder = "/sys/class/infiniband"
	devices, err := os.ReadDir(folder)
	if err != nil {
		return "", false
	}
	for _, d := range devices {
		name, err := os.ReadFile(filepath.Join(folder, d.Name(), "ports/1/gid_attrs/ndevs/0"))
		if err == nil && strings.TrimSpace(string(name)) == netdev {
			return d.Name(), true
		}
	}
	return "", false
}

const (
	// mpiLimit bounds one run of one program. The dozen runs of a round take five minutes under emulation. MPICH over
	// TCP has hung at the end of a run with more ranks than processors.
	mpiLimit = 4 * time.Minute

	// mpiFarewell is how long a launcher has to end its ranks.
	mpiFarewell = 20 * time.Second
)

// run measures once.
func (m mpiMeasurer) run(ctx context.Context, ranks int) ([]mpiRow, error) {
	ctx, cancel := context.WithTimeout(ctx, mpiLimit)
	defer cancel()
	words := m.command(ranks)
	cmd := exec.CommandContext(ctx, words[0], words[1:]...)
	cmd.Env = append(os.Environ(), m.environment...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) } // which launchers pass on
	cmd.WaitDelay = mpiFarewell
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s with %d ranks: %w: %s%s", m.name, ranks, err, complaint.String(), out)
	}
	return parseMPI(m.name, ranks, string(out))
}

func parseMPI(by string, ranks int, text string) (rows []mpiRow, err error) {
	for line := range strings.Lines(text) {
		fields := strings.Split(strings.TrimSpace(line), ",")
		if len(fields) != 4 {
			return nil, fmt.Errorf("%s has printed %q", by, line)
		}
		size, err := strconv.Atoi(fields[1])
		value, err2 := strconv.ParseFloat(fields[2], 64)
		if err := errors.Join(err, err2); err != nil {
			return nil, fmt.Errorf("%s has printed %q: %w", by, line, err)
		}
		rows = append(rows, mpiRow{By: by, Ranks: ranks, Test: fields[0], Bytes: size, Unit: fields[3], Rounds: []float64{value}})
	}
	if len(rows) == 0 {
		return nil, fmt.Errorf("%s has printed nothing", by)
	}
	return rows, nil
}

// measureUdat measures the round trip of 8 bytes that are written to memory that the peer polls, and the bandwidth of a
// read of 1 MiB.
func (p mpiPrograms) measureUdat(adapter string) ([]mpiRow, error) {
	var rows []mpiRow
	for _, m := range []struct {
		operation string
		bytes     int
		count     int
		row       mpiRow
		value     func(microseconds float64) float64
	}{
		{"write", 8, 2000, mpiRow{Test: "latency", Unit: "us"}, func(us float64) float64 { return 2 * us }},
		{"read", 1 << 20, 100, mpiRow{Test: "bandwidth", Unit: "MB/s"}, func(us float64) float64 { return (1 << 20) / us }},
	} {
		text, err := p.runUdatperf(adapter, "-op", m.operation, "-measure", "latency", "-sizes", strconv.Itoa(m.bytes), "-count", strconv.Itoa(m.count), "-format", "csv")
		if err != nil {
			return nil, err
		}
		us, err := typical(text)
		if err != nil {
			return nil, err
		}
		row := m.row
		row.By, row.Ranks, row.Bytes, row.Rounds = byUdat+" "+adapter, 2, m.bytes, []float64{m.value(us)}
		rows = append(rows, row)
	}
	return rows, nil
}

// runUdatperf measures between two processes that are pinned like ranks.
func (p mpiPrograms) runUdatperf(adapter string, args ...string) (string, error) {
	// The server says on its standard error that it listens.
	server, err := start(0, "sh", "-c", `exec "$0" "$@" 2>&1`, p.udatperf, "-provider", adapter, "-server")
	if err != nil {
		return "", err
	}
	defer server.kill()
	if _, err := server.expect("udatperf:"); err != nil {
		return "", err
	}
	client, err := start(1, p.udatperf, append([]string{"-provider", adapter, "-connect", os.Getenv("UDAT_TEST_ADDR")}, args...)...)
	if err != nil {
		return "", err
	}
	defer time.AfterFunc(mpiLimit, func() { _ = client.command.Process.Kill() }).Stop()
	var text strings.Builder
	for line := range client.lines {
		text.WriteString(line + "\n")
	}
	return text.String(), client.end()
}

// typical finds the median in udatperf's CSV output.
func typical(text string) (float64, error) {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	column := slices.IndexFunc(strings.Split(lines[0], ","), func(name string) bool { return strings.HasPrefix(name, "typical") })
	if len(lines) != 2 || column < 0 {
		return 0, fmt.Errorf("udatperf has printed %q", text)
	}
	fields := strings.Split(lines[1], ",")
	if column >= len(fields) {
		return 0, fmt.Errorf("udatperf has printed %q", text)
	}
	return strconv.ParseFloat(fields[column], 64)
}

// measureMPI runs all of them, by turns.
func (r *report) measureMPI(p mpiPrograms, seconds float64, few bool, file string) error {
	sizes, ranks := mpiSizes, mpiRanks
	if few {
		sizes, ranks = mpiFewSizes, mpiRanks[:1]
	}
	r.Machine.complete()
	r.MPI = &messagePassing{Command: r.Command, Machine: r.Machine, Rounds: r.Rounds}
	if len(adapters()) == 0 {
		return errors.New("UDAT_TEST_IA names no adapter: run this by scripts/bench")
	}
	netdev, err := interfaceOf(os.Getenv("UDAT_TEST_ADDR"))
	if err != nil {
		return err
	}
	measurers := p.measurers(adapters(), netdev, seconds, sizes)
	for round := range r.Rounds {
		fmt.Fprintf(os.Stderr, "bench: message passing, round %d of %d\n", round+1, r.Rounds)
		for _, adapter := range adapters() {
			rows, err := p.measureUdat(adapter)
			if err != nil {
				return err
			}
			r.MPI.add(rows)
		}
		for _, n := range ranks {
			for i := range measurers {
				if err := r.MPI.measure(&measurers[(i+round)%len(measurers)], n, round); err != nil {
					return err
				}
			}
		}
		if err := r.write(file); err != nil {
			return err
		}
	}
	fmt.Print(r.MPI.markdown())
	return nil
}

// measure adds a run of the measurer. It returns an error only for a run of our own: a failed run of another library is
// left out.
func (m *messagePassing) measure(by *mpiMeasurer, ranks, round int) error {
	if by.absent {
		return nil
	}
	fmt.Fprintf(os.Stderr, "bench:   %s, %d ranks\n", by.name, ranks)
	rows, err := by.run(context.Background(), ranks)
	switch {
	case err == nil:
		by.measured = true
		m.add(rows)
	case !by.other:
		return err
	case by.optional && !by.measured:
		fmt.Fprintf(os.Stderr, "bench: going on without %s: %v\n", by.name, err)
		by.absent = true
	default:
		fmt.Fprintf(os.Stderr, "bench: going on without this run: %v\n", err)
		m.Failed = append(m.Failed, fmt.Sprintf("%s with %d ranks, in round %d", by.name, ranks, round+1))
	}
	return nil
}

// interfaceOf returns the name of the network interface that has an address.
func interfaceOf(address string) (string, error) {
	interfaces, err := net.Interfaces()
	if err != nil {
		return "", err
	}
	for _, i := range interfaces {
		addresses, err := i.Addrs()
		if err != nil {
			return "", err
		}
		for _, a := range addresses {
			if ip, _, _ := strings.Cut(a.String(), "/"); ip == address {
				return i.Name, nil
			}
		}
	}
	return "", fmt.Errorf("no interface has the address %q", address)
}

// add adds the results of a round.
func (m *messagePassing) add(rows []mpiRow) {
	for _, row := range rows {
		i := slices.IndexFunc(m.Values, func(known mpiRow) bool {
			return known.By == row.By && known.Ranks == row.Ranks && known.Test == row.Test && known.Bytes == row.Bytes
		})
		if i < 0 {
			m.Values = append(m.Values, row)
			continue
		}
		m.Values[i].Rounds = append(m.Values[i].Rounds, row.Rounds...)
	}
}

// find returns the median of a measurement.
func (m *messagePassing) find(by string, ranks int, test string, size int) (float64, bool) {
	for _, row := range m.Values {
		if row.By == by && row.Ranks == ranks && row.Test == test && row.Bytes == size {
			return summarize(row.Rounds).median, true
		}
	}
	return 0, false
}

// by lists the libraries, examples/mpi first, without udat alone.
func (m *messagePassing) by() (names []string) {
	for _, row := range m.Values {
		if !strings.HasPrefix(row.By, byUdat+" ") && !slices.Contains(names, row.By) {
			names = append(names, row.By)
		}
	}
	slices.SortStableFunc(names, func(a, b string) int {
		return cmp.Compare(strings.Count(a, "TCP"), strings.Count(b, "TCP"))
	})
	return names
}
