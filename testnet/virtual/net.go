//go:build virtual

package virtual

import (
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"time"

	"github.com/cometbft/cometbft/config"
	"github.com/cometbft/cometbft/libs/log"
	"github.com/cometbft/cometbft/p2p"

	"github.com/spdl/spdl/abci/home"
	"github.com/spdl/spdl/abci/node"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/params"
)

// ChainID is the chain id of virtual nets.
const ChainID = "virtual"

// Net is a net of full nodes in one process. All its methods are for one bubble.
type Net struct {
	Log log.Logger // of node 0

	configs []*config.Config
	apps    []home.AppConfig
	running []*node.Running // nil while a node is down
	links   map[[2]int]*Link
	delay   func(i, j int) time.Duration
}

// Make makes the homes of n nodes in a folder, with a participant each, on a chain with parameters
// that begins at a time. delay returns the delay of the link between two nodes, one way. Call it
// before the bubble: it computes keys.
func Make(dir string, n int, p params.Params, began time.Time, delay func(i, j int) time.Duration) (*Net, error) {
	t := &Net{Log: log.NewNopLogger(), running: make([]*node.Running, n), links: map[[2]int]*Link{}, delay: delay}
	g := app.Genesis{Params: p, Seed: make([]byte, 32)}
	for i := range n {
		c, a := home.DefaultsFor(p, n, n)
		home.Loopback(c)
		c.RPC.ListenAddress, c.P2P.ListenAddress = "", "tcp://127.0.0.1:0"
		made, err := home.Init(filepath.Join(dir, fmt.Sprintf("node%d", i)), c, a)
		if err != nil {
			return nil, err
		}
		a.Worker.Part, a.Worker.Parts, a.Worker.Data = i, n, home.EmbeddedData
		g.Participants = append(g.Participants, made.Participant(uint32(i), ChainID, g.Seed, p.Reputation))
		t.configs, t.apps = append(t.configs, c), append(t.apps, a)
	}
	doc, err := home.NewGenesis(ChainID, began, g)
	if err != nil {
		return nil, err
	}
	for _, c := range t.configs {
		if err := doc.SaveAs(c.GenesisFile()); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// Start starts a node and links it to the nodes that run.
func (t *Net) Start(i int) error {
	logger := log.NewNopLogger()
	if i == 0 {
		logger = t.Log
	}
	r, err := node.Start(t.configs[i], t.apps[i], logger, node.Hooks{Unlisted: true})
	if err != nil {
		return fmt.Errorf("node %d: %w", i, err)
	}
	t.running[i] = r
	for j := range t.running {
		if err := t.Link(i, j); err != nil {
			return err
		}
	}
	return nil
}

// address returns the address by which the other nodes know a node.
func address(i int) net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, byte(1+i)), Port: 26656} }

// Link connects two nodes if both run. It replaces an earlier link.
func (t *Net) Link(i, j int) error {
	if i == j || t.running[i] == nil || t.running[j] == nil {
		return nil
	}
	i, j = min(i, j), max(i, j)
	if old := t.links[[2]int{i, j}]; old != nil {
		old.Close()
	}
	l := NewLink(t.delay(i, j), address(i), address(j))
	t.links[[2]int{i, j}] = l
	done := make(chan error, 2)
	for at, end := range map[int]net.Conn{i: l.A, j: l.B} {
		sw := t.running[at].Node.Switch().(*p2p.Switch)
		go func() { done <- sw.AddConn(end) }()
	}
	return errors.Join(<-done, <-done)
}

// Stop stops a node. What it has not written to its databases is lost with it.
func (t *Net) Stop(i int) error {
	r := t.running[i]
	if r == nil {
		return nil
	}
	t.running[i] = nil
	for j := range t.running {
		pair := [2]int{min(i, j), max(i, j)}
		if l := t.links[pair]; l != nil {
			l.Close()
			delete(t.links, pair)
		}
	}
	return r.Stop()
}

// Close stops all nodes.
func (t *Net) Close() error {
	var errs []error
	for i := range t.running {
		errs = append(errs, t.Stop(i))
	}
	return errors.Join(errs...)
}

// Partition holds all links between the listed nodes and the others; Heal releases all links.
func (t *Net) Partition(some ...int) {
	for pair, l := range t.links {
		if slices.Contains(some, pair[0]) != slices.Contains(some, pair[1]) {
			l.Hold()
		}
	}
}

// Heal ends all partitions.
func (t *Net) Heal() {
	for _, l := range t.links {
		l.Release()
	}
}

// State returns the state of a node, nil while it is down or has none.
func (t *Net) State(i int) *app.State {
	if t.running[i] == nil {
		return nil
	}
	return t.running[i].Application.State()
}

// Height returns the lowest height of the nodes that run.
func (t *Net) Height() uint64 {
	lowest := ^uint64(0)
	for i := range t.running {
		if t.running[i] == nil {
			continue
		}
		s := t.State(i)
		if s == nil {
			return 0
		}
		lowest = min(lowest, s.Height)
	}
	return lowest
}

// Check returns an error if two nodes have different blocks at a height, if a node has halted, or if
// a node has recorded an offence.
func (t *Net) Check() error {
	blocks := map[int64]string{}
	for i, r := range t.running {
		if r == nil {
			continue
		}
		select {
		case err := <-r.Failed():
			return fmt.Errorf("node %d: %w", i, err)
		default:
		}
		store := r.Node.BlockStore()
		for h := max(store.Base(), 1); h <= store.Height(); h++ {
			meta := store.LoadBlockMeta(h)
			if meta == nil {
				continue
			}
			id := meta.BlockID.String() + meta.Header.AppHash.String()
			if other, ok := blocks[h]; ok && other != id {
				return fmt.Errorf("node %d has block %s at height %d, another has %s", i, id, h, other)
			}
			blocks[h] = id
		}
		if s := t.State(i); s != nil && len(s.Offences) > 0 {
			return fmt.Errorf("node %d has recorded %d offences, none was committed: %v", i, len(s.Offences), s.Offences)
		}
	}
	return nil
}
