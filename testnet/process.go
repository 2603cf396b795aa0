package testnet

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spdl/spdl/testnet/link"
)

// stopWait bounds the time that a node may take to stop before it is killed.
const stopWait = 10 * time.Second

// logTail is the number of lines of a dead node's log that its error shows.
const logTail = 12

// Processes is a localnet whose nodes are separate processes. On Linux the nodes end with this
// process, even if it is killed.
type Processes struct {
	Net    *Net
	env    []string     // of every node
	links  *link.Switch // between the nodes, nil if nothing disturbs a link
	failed chan error
	work   chan func() // run on the thread that the children are bound to

	mu       sync.Mutex
	binaries []string // of the nodes
	children []*child
	peaks    []int64         // bytes, of nodes that have ended
	used     []time.Duration // CPU time of processes that have ended
	stopping bool
}

// child is one running process of a node.
type child struct {
	cmd      *exec.Cmd
	expected bool // its end is not a failure
	reaped   bool // its CPU time is in used
	done     chan struct{}
}

// Ended is the error of a node that ended unexpectedly.
type Ended struct {
	Node  int
	State *os.ProcessState
	Log   string // its file
}

func (e *Ended) Error() string {
	return fmt.Sprintf("node %d ended by itself (%v); the end of %s:\n%s", e.Node, e.State, e.Log, tail(e.Log))
}

// StartProcesses starts `binary start --home ...` for every node, with additional environment variables. A node that
// misbehaves runs in the program spdl-lab beside binary, if there is one. Logs go to node.log in each home.
func StartProcesses(n *Net, binary string, env ...string) (*Processes, error) {
	all := len(n.Nodes) + len(n.WorkerGroups)
	p := &Processes{
		Net: n, binaries: slices.Repeat([]string{binary}, all), env: env, failed: make(chan error, 2*all),
		work:     make(chan func()),
		children: make([]*child, all), peaks: make([]int64, all), used: make([]time.Duration, all),
	}
	for i := range n.Nodes {
		if lab := filepath.Join(filepath.Dir(binary), "spdl-lab"); n.Manifest.attack(i) != "" {
			if _, err := os.Stat(lab); err == nil {
				p.binaries[i] = lab
			}
		}
	}
	var err error
	if p.links, err = n.OpenLinks(); err != nil {
		return nil, err
	}
	// The kernel ends a child when the thread that started it ends, so one thread starts all children.
	go func() {
		runtime.LockOSThread()
		for f := range p.work {
			f()
		}
	}()
	for i := range all {
		if err := p.Start(i); err != nil {
			return nil, errors.Join(err, p.Stop())
		}
	}
	return p, nil
}

// LogFile returns where a node's process writes its log.
func (n Node) LogFile() string { return filepath.Join(n.Home, "node.log") }

// logFile returns the path at which process i writes its log. The worker groups' processes follow the nodes' processes.
func (p *Processes) logFile(i int) string {
	if group := i - len(p.Net.Nodes); group >= 0 {
		return filepath.Join(p.Net.WorkerGroups[group].Home, "worker.log")
	}
	return p.Net.Nodes[i].LogFile()
}

// Start starts node i, which must not run, with additional environment variables.
func (p *Processes) Start(i int, env ...string) error { return p.start(i, false, env...) }

// Replace makes node i run another program from its next start on.
func (p *Processes) Replace(i int, binary string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.binaries[i] = binary
}

func (p *Processes) binaryOf(i int) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.binaries[i]
}

// Expect marks the end of node i, which is running, as expected, so that Failed does not deliver it.
func (p *Processes) Expect(i int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.children[i].expected = true
}

// Await waits until node i has ended, and returns its exit code.
func (p *Processes) Await(ctx context.Context, i int) (int, error) {
	c := p.child(i)
	select {
	case <-c.done:
		return c.cmd.ProcessState.ExitCode(), nil
	case <-ctx.Done():
		return 0, fmt.Errorf("node %d has not ended: %w", i, ctx.Err())
	}
}

// start starts node i. If expected is set, an end of the node is never reported as a failure.
func (p *Processes) start(i int, expected bool, env ...string) error {
	log, err := os.OpenFile(p.logFile(i), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	c := &child{cmd: exec.Command(p.binaryOf(i), p.command(i)...), done: make(chan struct{}), expected: expected}
	c.cmd.Stdout, c.cmd.Stderr = log, log
	c.cmd.Env = slices.Concat(os.Environ(), p.env, env)
	if p.links != nil && i < len(p.Net.Nodes) {
		c.cmd.Env = append(c.cmd.Env, p.Net.peersKey()+strings.Join(p.Net.peers(i, p.links.Address), ","))
	}
	c.cmd.SysProcAttr = bound()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stopping {
		return errors.New("the net is stopping")
	}
	if old := p.children[i]; old != nil && !old.ended() {
		return fmt.Errorf("node %d is running", i)
	}
	started := make(chan error)
	p.work <- func() { started <- c.cmd.Start() }
	if err := <-started; err != nil {
		return fmt.Errorf("start node %d: %w", i, err)
	}
	p.children[i] = c
	go p.wait(i, c)
	return nil
}

// command returns the arguments of node i's process.
func (p *Processes) command(i int) []string {
	if group := i - len(p.Net.Nodes); group >= 0 {
		var nodes []string
		for k := range p.Net.Manifest.Validators {
			nodes = append(nodes, p.Net.Nodes[(group+k)%p.Net.Manifest.Validators].RPC)
		}
		return []string{"worker", "--follow", "--home", p.Net.WorkerGroups[group].Home, "--node", strings.Join(nodes, ",")}
	}
	home := []string{"--home", p.Net.Nodes[i].Home}
	if p.Net.Manifest.attack(i) != "" {
		return append([]string{"testnet", "node"}, home...)
	}
	return append([]string{"start"}, home...)
}

func (c *child) ended() bool {
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

// wait waits for a child to end, and reports an end that was not expected.
func (p *Processes) wait(i int, c *child) {
	_ = c.cmd.Wait() // how it ended is in ProcessState
	p.mu.Lock()
	if p.peaks[i] == 0 {
		p.peaks[i] = peakOf(c.cmd.ProcessState)
	}
	p.used[i] += c.cmd.ProcessState.UserTime() + c.cmd.ProcessState.SystemTime()
	c.reaped = true
	expected := c.expected
	p.mu.Unlock()
	close(c.done)
	if !expected {
		p.failed <- &Ended{Node: i, State: c.cmd.ProcessState, Log: p.logFile(i)}
	}
}

// Failed delivers the unexpected end of a node.
func (p *Processes) Failed() <-chan error { return p.failed }

// Signal sends a signal to node i: SIGKILL to crash it, SIGSTOP and SIGCONT to
// pause it. An end that follows is expected; Kill waits for it.
func (p *Processes) Signal(i int, s syscall.Signal) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := p.children[i]
	if c == nil || c.ended() {
		return fmt.Errorf("node %d is not running", i)
	}
	if s != syscall.SIGSTOP && s != syscall.SIGCONT {
		c.expected = true
		p.peaks[i] = max(p.peaks[i], peakOfPID(c.cmd.Process.Pid))
	}
	return c.cmd.Process.Signal(s)
}

// Kill sends SIGKILL to node i and waits for its end.
func (p *Processes) Kill(i int) error {
	if err := p.Signal(i, syscall.SIGKILL); err != nil {
		return err
	}
	<-p.child(i).done
	return nil
}

// Terminate asks node i to stop, and kills it if it has not ended after stopWait.
func (p *Processes) Terminate(i int) error {
	if err := p.Signal(i, syscall.SIGTERM); err != nil {
		return err
	}
	select {
	case <-p.child(i).done:
		return nil
	case <-time.After(stopWait):
		return p.Kill(i)
	}
}

// starve makes all file writes of node i fail, as on a full disk. If the node ends, its end is expected.
func (p *Processes) starve(i int) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := p.children[i]
	if c == nil || c.ended() {
		return fmt.Errorf("node %d is not running", i)
	}
	c.expected = true
	return starve(c.cmd.Process.Pid)
}

// PID returns the id of node i's last process.
func (p *Processes) PID(i int) int { return p.child(i).cmd.Process.Pid }

func (p *Processes) child(i int) *child {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.children[i]
}

// Stop ends all nodes: it asks them to stop, waits for stopWait, and kills the remaining nodes.
func (p *Processes) Stop() error {
	p.mu.Lock()
	again := p.stopping
	p.stopping = true
	running := []*child{}
	for _, c := range p.children {
		if c != nil && !c.ended() {
			c.expected = true
			_ = c.cmd.Process.Signal(syscall.SIGCONT)
			_ = c.cmd.Process.Signal(syscall.SIGTERM)
			running = append(running, c)
		}
	}
	p.mu.Unlock()
	deadline := time.After(stopWait)
	var err error
	for _, c := range running {
		select {
		case <-c.done:
		case <-deadline:
			err = fmt.Errorf("a node did not stop within %v and was killed", stopWait)
			deadline = time.After(0)
			_ = c.cmd.Process.Kill()
			<-c.done
		}
	}
	if !again {
		close(p.work)
		if p.links != nil {
			err = errors.Join(err, p.links.Close())
		}
	}
	return err
}

// PeakRSS returns the sum of the nodes' peak resident memory, in bytes.
func (p *Processes) PeakRSS() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	var sum int64
	for i, c := range p.children[:len(p.Net.Nodes)] {
		peak := p.peaks[i]
		if c != nil && !c.ended() {
			peak = max(peak, peakOfPID(c.cmd.Process.Pid))
		}
		sum += peak
	}
	return sum
}

// tail returns the end of a log file.
func tail(path string) string {
	data, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimRight(string(data), "\n"), "\n")
	return "  " + strings.Join(lines[max(0, len(lines)-logTail):], "\n  ")
}
