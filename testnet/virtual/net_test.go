//go:build virtual

package virtual

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing/synctest"
	"time"

	"github.com/cometbft/cometbft/config"
	"github.com/cometbft/cometbft/consensus"
	"github.com/cometbft/cometbft/libs/log"
	"github.com/cometbft/cometbft/p2p"

	"github.com/spdl/spdl/abci/home"
	"github.com/spdl/spdl/abci/node"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/mnist"
	"github.com/spdl/spdl/testnet/attack"
	"github.com/spdl/spdl/testnet/link"
)

// ChainID is the chain id of virtual nets.
const ChainID = "virtual"

// redialAfter is how long a pair of nodes waits after a connection has ended; CometBFT dials a
// lost peer again after 5 s. A handshake takes at most handshakeTime.
const redialAfter, handshakeTime = 5 * time.Second, 20 * time.Second

// inboundPeers is the max number of peers that need an inbound slot at a node. A home has 40 by
// default; with fewer slots fewer strangers can occupy all of them.
const inboundPeers = 16

// Net is a net of full nodes in one process. Its methods must be called from one goroutine in the
// bubble.
type Net struct {
	Log log.Logger // the log of node 0

	nodes   []*member
	links   map[[2]int]*connection // the links by pair of nodes, the lower index first
	quiet   func(from, to int) link.Rule
	active  []Event                   // the events that disturb links now
	opened  uint64                    // the number of links made, which is the seed of the next link
	anybody bool                      // whether nodes admit strangers
	data    func() (mnist.Set, error) // the training data of all participants
}

// member is a node of a net.
type member struct {
	*host
	config    *config.Config
	app       home.AppConfig
	attack    string // the attack of its participant; "" means none
	id        p2p.ID
	running   *node.Running // nil while the node is down
	consensus *consensus.State
	network   atomic.Pointer[p2p.Switch] // nil while the node is down
	paused    []chan func()              // for each Pause, the function that ends it
	wasFull   bool                       // the disk was full since the node has started
	failed    bool                       // whether the node has ended by itself, as it may on a full disk
}

// connection is the link of a pair of nodes.
type connection struct {
	*Link
	ended  time.Time   // zero while the connection is open
	joined atomic.Bool // whether both handshakes have ended
}

// Data returns the training set of MNIST, decoded once for all nodes.
func Data() (mnist.Set, error) { d, err := mnist.Embedded(); return d.Train, err }

// Small returns 2,000 images of half the size. Their gradient has as many bytes as the gradient of
// all images, and costs a thirtieth.
var Small = sync.OnceValues(func() (mnist.Set, error) {
	const most = 2000
	all, err := mnist.EmbeddedTest() // fewer images than the training set
	if err != nil {
		return all, err
	}
	s := mnist.Set{Labels: all.Labels[:most], Rows: all.Rows / 2, Cols: all.Cols / 2}
	for i := range most * all.Rows * all.Cols {
		if y, x := i/all.Cols%all.Rows, i%all.Cols; y%2 == 0 && x%2 == 0 {
			s.Images = append(s.Images, all.Images[i])
		}
	}
	return s, nil
})

// Make makes the homes of the history's nodes in a folder. Each node has a participant. The genesis
// time of the chain is began. quiet returns the rule of a direction without faults. Make must be
// called before the bubble, because it computes keys.
func Make(dir string, h History, p params.Params, data func() (mnist.Set, error), began time.Time,
	quiet func(from, to int) link.Rule) (*Net, error) {
	t := &Net{Log: log.NewNopLogger(), links: map[[2]int]*connection{}, quiet: quiet, data: data}
	t.anybody = slices.ContainsFunc(h.Events, func(e Event) bool { return e.Action == Adversary })
	g := app.Genesis{Params: p, Seed: make([]byte, 32)}
	for i := range h.Nodes {
		c, a := home.DefaultsFor(p, h.Nodes, h.Nodes)
		home.UseLoopback(c)
		c.P2P.MaxNumInboundPeers = inboundPeers
		c.RPC.ListenAddress, c.P2P.ListenAddress = "", "tcp://127.0.0.1:0"
		a.P2P.MembersOnly = !t.anybody
		made, err := home.Init(filepath.Join(dir, fmt.Sprintf("node%d", i)), c, a)
		if err != nil {
			return nil, err
		}
		a.Worker.Part, a.Worker.Parts, a.Worker.Data = i, h.Nodes, home.EmbeddedData
		g.Participants = append(g.Participants, made.Participant(uint32(i), ChainID, g.Seed, p.Reputation))
		t.nodes = append(t.nodes, &member{config: c, app: a})
	}
	for _, e := range h.Events {
		if e.Action == Attack {
			if err := attack.Check(e.Name); err != nil {
				return nil, err
			}
			t.nodes[e.Node].attack = e.Name
		}
		if _, ok := named()[e.Name]; e.Action == Adversary && !ok {
			return nil, fmt.Errorf("%v: no such adversary, want one of %s", e, strings.Join(Names(), ", "))
		}
	}
	doc, err := home.NewGenesis(ChainID, began, g)
	if err != nil {
		return nil, err
	}
	for _, m := range t.nodes {
		if err := doc.SaveAs(m.config.GenesisFile()); err != nil {
			return nil, err
		}
	}
	if k := h.twin(); k >= 0 {
		if err := t.addTwin(dir, k); err != nil {
			return nil, err
		}
	}
	for _, m := range t.nodes {
		key, err := p2p.LoadNodeKey(m.config.NodeKeyFile())
		if err != nil {
			return nil, err
		}
		m.id = key.ID()
	}
	return t, nil
}

// addTwin adds the twin: a node with the validator key of another node, its own node key, and no
// worker. All nodes admit the twin.
func (t *Net) addTwin(dir string, of int) error {
	root := filepath.Join(dir, "twin")
	if err := os.CopyFS(root, os.DirFS(t.nodes[of].config.RootDir)); err != nil {
		return err
	}
	c, a, err := home.Load(root)
	if err != nil {
		return err
	}
	if err := os.Remove(c.NodeKeyFile()); err != nil {
		return err
	}
	key, err := p2p.LoadOrGenNodeKey(c.NodeKeyFile())
	if err != nil {
		return err
	}
	a.Worker.Enabled = false
	t.nodes = append(t.nodes, &member{config: c, app: a})
	for _, m := range t.nodes {
		m.app.P2P.AllowedPeers = string(key.ID())
	}
	return nil
}

// Start starts a node, and connects it to the running nodes.
func (t *Net) Start(i int) error {
	m := t.nodes[i]
	logger := log.NewNopLogger()
	if i == 0 {
		logger = t.Log
	}
	hooks := attack.Hooks(m.attack)
	hooks.Unlisted = true
	hooks.Data = func(_ string, _ params.Model, part mnist.Part) (mnist.Set, error) {
		whole, err := t.data()
		if err != nil {
			return mnist.Set{}, err
		}
		return whole.Part(part)
	}
	if m.host == nil {
		m.host = newHost(fmt.Sprint(i), m.config.Consensus.WalFile())
	}
	var err error
	m.do(func() { m.running, err = node.Start(m.config, m.app, logger, hooks) })
	if err != nil {
		return fmt.Errorf("node %d: %w", i, err)
	}
	env, err := m.running.Node.ConfigureRPC()
	if err != nil {
		return fmt.Errorf("node %d: %w", i, err)
	}
	m.consensus, m.failed = env.ConsensusState.(*consensus.State), false
	m.wasFull = m.host.delay.Load() == full
	sw := m.running.Node.Switch().(*p2p.Switch)
	sw.SetNodeInfo(m.running.Node.NodeInfo()) // the switch was made before this project's reactors were added
	m.network.Store(sw)
	return t.Redial()
}

// address returns the address by which the other nodes know a node.
func address(i int) net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, byte(1+i)), Port: 26656} }

// Redial connects the pairs of running nodes that are not connected and whose link is not cut.
func (t *Net) Redial() error {
	for j, b := range t.nodes {
		for i, a := range t.nodes[:j] {
			if a.running == nil || b.running == nil {
				continue
			}
			pair := [2]int{i, j}
			toA, toB := t.rule(j, i), t.rule(i, j)
			old := t.links[pair]
			switch {
			case toA.Cut || toB.Cut, old != nil && old.ended.IsZero() && !old.joined.Load():
				continue
			case old != nil && old.ended.IsZero():
				if a.network.Load().Peers().Has(b.id) && b.network.Load().Peers().Has(a.id) {
					continue
				}
				old.Close() // one of the nodes has ended the connection
				old.ended = time.Now()
				continue
			case old != nil && time.Since(old.ended) < redialAfter:
				continue
			}
			t.opened++
			l := &connection{Link: NewLink(t.opened, address(i), address(j))}
			l.Set(toA, toB)
			t.links[pair] = l
			l.join(a, b)
		}
	}
	return nil
}

// join adds the two ends of a link to two nodes, in the background.
func (l *connection) join(a, b *member) {
	timeout := time.AfterFunc(handshakeTime, l.Close)
	var left atomic.Int32
	left.Store(2)
	for end, m := range map[net.Conn]*member{l.A: a, l.B: b} {
		sw := m.network.Load()
		m.do(func() {
			go func() {
				_ = sw.AddConn(end)
				if left.Add(-1) == 0 {
					timeout.Stop()
					l.joined.Store(true)
				}
			}()
		})
	}
}

// rule returns the current rule of a direction.
func (t *Net) rule(from, to int) link.Rule {
	r := t.quiet(from, to)
	for _, e := range t.active {
		in := e.Node == to && (len(e.Peers) == 0 || slices.Contains(e.Peers, from)) && e.Way != Out
		out := e.Node == from && (len(e.Peers) == 0 || slices.Contains(e.Peers, to)) && e.Way != In
		if !in && !out {
			continue
		}
		r.Cut = r.Cut || e.Action == Disconnect || e.Action == Pause
		r.Delay, r.Jitter, r.Loss = r.Delay+e.Rule.Delay, r.Jitter+e.Rule.Jitter, max(r.Loss, e.Rule.Loss)
		if e.Rule.Rate > 0 && (r.Rate == 0 || e.Rule.Rate < r.Rate) {
			r.Rate = e.Rule.Rate
		}
	}
	return r
}

// Disturb begins or ends an event that changes links.
func (t *Net) Disturb(e Event, begins bool) error {
	if begins {
		t.active = append(t.active, e)
	} else if i := slices.IndexFunc(t.active, func(x Event) bool { return x.String() == e.String() }); i >= 0 {
		t.active = slices.Delete(t.active, i, i+1)
	}
	for pair, l := range t.links {
		l.Set(t.rule(pair[1], pair[0]), t.rule(pair[0], pair[1]))
	}
	return t.Redial()
}

// Break ends the connections of a node with some peers, or with all.
func (t *Net) Break(i int, peers []int) {
	for pair, l := range t.links {
		other := pair[0] + pair[1] - i
		if (pair[0] == i || pair[1] == i) && l.ended.IsZero() && (len(peers) == 0 || slices.Contains(peers, other)) {
			l.Close()
			l.ended = time.Now()
		}
	}
}

// Stop stops a node.
func (t *Net) Stop(i int) error {
	m := t.nodes[i]
	r := m.running
	if r == nil {
		return nil
	}
	m.running = nil
	m.network.Store(nil)
	for len(m.paused) > 0 {
		t.Resume(i)
	}
	t.Break(i, nil)
	for pair := range t.links {
		if pair[0] == i || pair[1] == i {
			delete(t.links, pair)
		}
	}
	return r.Stop()
}

// Kill stops a node, and undoes all writes that the node makes while it stops, because a killed
// process would not have made them.
func (t *Net) Kill(i int) error {
	m := t.nodes[i]
	if m.running == nil {
		return nil
	}
	synctest.Wait() // no goroutine writes any more
	root := m.config.RootDir
	if err := os.CopyFS(root+".killed", os.DirFS(root)); err != nil {
		return err
	}
	_ = t.Stop(i)
	return errors.Join(os.RemoveAll(root), os.Rename(root+".killed", root))
}

// Close stops all nodes.
func (t *Net) Close() error {
	var errs []error
	for i := range t.nodes {
		errs = append(errs, t.Stop(i))
	}
	return errors.Join(errs...)
}

// State returns the state of a node, nil while it is down or has none.
func (t *Net) State(i int) *app.State {
	if t.nodes[i].running == nil {
		return nil
	}
	return t.nodes[i].running.Application.State()
}

// Lowest returns the lowest height and the lowest open round of the nodes that run, 0 while one of
// them has no state.
func (t *Net) Lowest() (height, round uint64) {
	height, round = ^uint64(0), ^uint64(0)
	for i, m := range t.nodes {
		if m.running == nil {
			continue
		}
		s := t.State(i)
		if s == nil {
			return 0, 0
		}
		height, round = min(height, s.Height), min(round, s.Progress.Round)
	}
	return height, round
}
