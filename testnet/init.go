package testnet

import (
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"math"
	mathrand "math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/cometbft/cometbft/config"

	"github.com/spdl/spdl/abci/home"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/model/inputs"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/testnet/link"
)

// Net is a localnet whose homes are made.
type Net struct {
	Manifest     Manifest
	Genesis      app.Genesis
	Warnings     []string // of the genesis and of too many attackers
	Nodes        []Node
	WorkerGroups []WorkerGroup // processes that run the manifest's workers

	opened bool // it may have closed rounds before this run
}

// Node is one home of a localnet.
type Node struct {
	Home string `json:"home"`
	RPC  string `json:"rpc"` // tcp://127.0.0.1:port
	P2P  string `json:"p2p"` // 127.0.0.1:port

	home *home.Home
	app  home.AppConfig
}

// Init makes the homes of a localnet and its genesis in a folder that is missing or empty.
func Init(m Manifest) (*Net, error) {
	if err := m.absolute(""); err != nil {
		return nil, err
	}
	begins := m.GenesisTime
	p, err := m.check()
	if err != nil {
		return nil, err
	}
	if err := checkVacant(m.Home); err != nil {
		return nil, err
	}
	for _, x := range m.Perturb {
		if rounds := p.Training.Rounds; x.Round >= rounds {
			return nil, fmt.Errorf("%sperturbation %q of node %d is of round %d and would never come: the rounds are 0 to %d",
				x.place, x.Action, x.Node, x.Round, rounds-1)
		}
	}
	if err := m.checkData(p); err != nil {
		return nil, err
	}
	if err := m.checkTrainer(p); err != nil {
		return nil, err
	}
	m.GenesisTime = cmp.Or(begins, time.Now()) // not before the trial of trainers: the first block has this time
	n := &Net{Manifest: m, Genesis: app.Genesis{Params: p, Seed: m.genesisSeed()}}
	ports, err := m.ports()
	if err != nil {
		return nil, err
	}
	for i := range m.nodes() {
		if err := n.add(i, ports[2*i], ports[2*i+1]); err != nil {
			return nil, fmt.Errorf("node %d: %w", i, err)
		}
	}
	if err := n.addWorkerGroups(); err != nil {
		return nil, err
	}
	if err := n.finish(); err != nil {
		return nil, err
	}
	return n, m.save()
}

// checkData returns an error if the manifest's own training data are missing or do not fit the
// parameters. Init calls it before it makes any home.
func (m *Manifest) checkData(p params.Params) error {
	if !m.ownData() {
		return nil
	}
	d, err := home.LoadData(m.Data, p.Model)
	if err != nil {
		return err
	}
	return cmp.Or(inputs.Check(d.Train, p.Model), home.CheckGroups(m.Data, d.Train, p))
}

// checkVacant returns an error unless a folder is missing or empty.
func checkVacant(folder string) error {
	entries, err := os.ReadDir(folder)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case len(entries) > 0:
		return fmt.Errorf("%s is not empty, it has %s: name a new folder for a localnet", folder, entries[0].Name())
	}
	return nil
}

// genesisSeed returns the chain's seed: derived from the manifest's, or random.
func (m *Manifest) genesisSeed() []byte {
	var seed [32]byte
	if m.Seed == 0 {
		rand.Read(seed[:]) // never fails (crypto/rand)
	} else {
		seed = sha256.Sum256(fmt.Appendf(nil, "spdl testnet seed %d", m.Seed))
	}
	return seed[:]
}

// siteName matches the name of a site's file up to its ending, if it can be a moniker.
var siteName = regexp.MustCompile(`^[\w -]{1,60}\.`)

// add makes a node's home and, unless it is a relay, its participant.
func (n *Net) add(i, rpc, p2p int) error {
	m := n.Manifest
	c := home.DefaultConfig()
	home.UseLoopback(c)
	c.Moniker = nodeName(i)
	if i < len(m.Sites) {
		site := siteName.FindString(strings.TrimPrefix(filepath.Base(m.Sites[i]), fmt.Sprintf("site%d-", i)))
		c.Moniker = cmp.Or(strings.TrimSuffix(site, "."), c.Moniker)
	}
	c.RPC.ListenAddress = fmt.Sprintf("tcp://127.0.0.1:%d", rpc)
	relay := i >= m.Validators
	if c.P2P.ListenAddress = ""; relay || m.Relays == 0 {
		c.P2P.ListenAddress = fmt.Sprintf("tcp://127.0.0.1:%d", p2p)
	}
	c.P2P.MaxNumInboundPeers = 2 * maxValidators
	c.RPC.PprofListenAddress = ""
	if m.Memory {
		c.DBBackend = "memdb"
	}
	a := home.DefaultAppConfig()
	wait, straggler, propose := waits(m.Validators, m.Workers, m.StepDelay+m.Patience, m.LongestRoundTrip())
	a.Proposal.Wait.Duration, a.Proposal.StragglerWait.Duration = wait, straggler+m.Patience
	c.Consensus.TimeoutPropose = propose
	a.P2P.Gossip, a.P2P.MembersOnly = m.Gossip, !m.Strangers
	if relay {
		a.Node.Role, a.Worker.Enabled = home.RoleRelay, false
	} else {
		m.worker(&a.Worker, i)
	}
	made, err := home.Init(filepath.Join(m.Home, nodeName(i)), c, a)
	if err != nil {
		return err
	}
	n.Nodes = append(n.Nodes, Node{
		Home: made.Dir, RPC: c.RPC.ListenAddress, P2P: strings.TrimPrefix(c.P2P.ListenAddress, "tcp://"), home: made, app: a,
	})
	if relay {
		return nil
	}
	n.Genesis.Participants = append(n.Genesis.Participants,
		made.Participant(uint32(i), m.ChainID, n.Genesis.Seed, n.Genesis.Params.Reputation))
	return nil
}

// worker sets the training data or the trainer of participant i's worker.
func (m *Manifest) worker(w *home.WorkerConfig, i int) {
	w.StepDelay.Duration = m.StepDelay
	w.Part, w.Parts, w.PartitionSeed = i, m.participants(), m.Seed
	w.Partition, w.Alpha = m.Partition, m.Alpha
	if len(m.Trainer) > 0 {
		w.Trainer, w.TrainerDir, w.TrainerRead = m.Trainer, m.TrainerDir, m.TrainerRead
		w.TrainerTimeout.Duration = max(w.TrainerTimeout.Duration, m.Patience)
	}
	w.Sandbox, w.Data = cmp.Or(m.Sandbox, w.Sandbox), cmp.Or(m.Data, w.Data)
	if m.Data == "" && len(m.Trainer) == 0 {
		w.Data = home.EmbeddedData
	}
	if len(m.Sites) > 0 {
		w.Data, w.Part, w.Parts = m.Sites[i], 0, 1
	}
	if m.Seed != 0 {
		w.TestSeed = m.Seed<<16 + uint64(i) + 1
	}
}

// waits returns how long a proposer waits for the round and for stragglers, and the propose timeout
// of the other validators. Apart from the manifest's delay, a localnet's steps take milliseconds.
// Only the exchange of gradients on one machine takes longer with more nodes and workers. Between
// zones a gradient that is announced, requested and sent takes one and a half round trips.
func waits(n, workers int, step, roundTrip time.Duration) (wait, straggler, timeoutPropose time.Duration) {
	wait = step + time.Duration(400+40*n+5*workers)*time.Millisecond + 2*roundTrip
	straggler = time.Duration(100+10*n+2*workers)*time.Millisecond + 2*roundTrip
	return wait, straggler, wait + 400*time.Millisecond + 2*roundTrip
}

// finish writes the genesis and the peers into every home.
func (n *Net) finish() error {
	doc, err := home.NewGenesis(n.Manifest.ChainID, n.Manifest.GenesisTime, n.Genesis)
	if err != nil {
		return err
	}
	if _, n.Warnings, err = home.CheckGenesis(doc); err != nil {
		return err
	}
	n.warnOfAttackers()
	for i := range n.Nodes {
		c := n.Nodes[i].home.Config
		if err := n.writePeers(i); err != nil {
			return err
		}
		if err := doc.SaveAs(c.GenesisFile()); err != nil {
			return err
		}
	}
	for _, group := range n.WorkerGroups {
		if err := doc.SaveAs(filepath.Join(group.Home, "config", "genesis.json")); err != nil {
			return err
		}
	}
	return nil
}

// writePeers writes into node i's home the nodes that it dials.
func (n *Net) writePeers(i int) error {
	node := &n.Nodes[i]
	list := strings.Join(n.peers(i, func(_, k int) string { return n.Nodes[k].P2P }), ",")
	if n.Manifest.Relays > 0 {
		node.app.P2P.Relays = list
		return node.app.WriteFile(node.Home)
	}
	node.home.Config.P2P.PersistentPeers = list
	return node.home.WriteConfig()
}

// peersKey returns the prefix of the environment variables that hold the peers of a node.
func (n *Net) peersKey() string {
	if n.Manifest.Relays > 0 {
		return "SPDL_P2P_RELAYS="
	}
	return "CMT_P2P_PERSISTENT_PEERS="
}

// peers returns node i's persistent peers: the relays, or else its neighbours on a ring, half on
// either side, so that the graph is connected and of equal degrees. The function address returns
// the address at which one node dials another.
func (n *Net) peers(i int, address func(from, to int) string) []string {
	var out []string
	if n.Manifest.Relays > 0 {
		for k := n.Manifest.Validators; k < len(n.Nodes); k++ {
			if k != i {
				out = append(out, fmt.Sprintf("%s@%s", n.Nodes[k].home.NodeID, address(i, k)))
			}
		}
		return out
	}
	total := len(n.Nodes)
	for step := 1; len(out) < n.Manifest.Neighbours && step < total; step++ {
		for _, k := range []int{(i + step) % total, (i - step + total) % total} {
			if k == i || len(out) == n.Manifest.Neighbours {
				continue
			}
			if peer := fmt.Sprintf("%s@%s", n.Nodes[k].home.NodeID, address(i, k)); !slices.Contains(out, peer) {
				out = append(out, peer)
			}
		}
	}
	return out
}

// OpenLinks makes the switch that carries the connections between the nodes, with the delays of the
// manifest's zones. It returns nil for a net in which nothing disturbs a link.
func (n *Net) OpenLinks() (*link.Switch, error) {
	if !n.Manifest.linked() {
		return nil, nil
	}
	nodes := make([]string, len(n.Nodes))
	for i := range nodes {
		nodes[i] = n.Nodes[i].P2P
	}
	s, err := link.New(nodes)
	if err != nil {
		return nil, err
	}
	for i := range nodes {
		for k := range nodes {
			s.Set(i, k, n.Manifest.LinkRule(i, k))
		}
	}
	return s, nil
}

// Dial changes a node's configuration to dial its peers through the switch. A nil switch changes nothing.
func (n *Net) Dial(i int, s *link.Switch, c *config.Config, a *home.AppConfig) {
	if s == nil {
		return
	}
	list := strings.Join(n.peers(i, s.Address), ",")
	if n.Manifest.Relays > 0 {
		a.P2P.Relays = list
		return
	}
	c.P2P.PersistentPeers = list
}

// firstPort and lastPort bound the ports of localnets. They lie below 32768, where Linux begins to give ports to
// outgoing connections: such a connection could take a node's port before the node listens, or while it is down.
const firstPort, lastPort = 12000, 32767

// ports returns two ports for each node, from the manifest's first port on, or without it free ones.
func (m *Manifest) ports() (ports []int, err error) {
	last := m.Port + 2*m.nodes() - 1
	switch {
	case m.Port == 0:
		return freePorts(2 * m.nodes())
	case m.Port < 1 || last > math.MaxUint16:
		return nil, fmt.Errorf("port is %d, want 1 to %d: each node takes two", m.Port, math.MaxUint16-2*m.nodes()+1)
	}
	for port := m.Port; port <= last; port++ {
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			return nil, fmt.Errorf("port %d of the nodes' %d to %d: choose another --port: %w", port, m.Port, last, err)
		}
		defer l.Close()
		ports = append(ports, port)
	}
	return ports, nil
}

// freePorts finds loopback ports without a listener. It holds all of them open until it returns, so that they differ.
func freePorts(n int) ([]int, error) {
	var ports []int
	for tries := 0; len(ports) < n; tries++ {
		port := firstPort + mathrand.IntN(lastPort-firstPort+1)
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			if tries > 100*n {
				return nil, fmt.Errorf("%d of %d free loopback ports found in %d to %d: %w", len(ports), n, firstPort, lastPort,
					err)
			}
			continue
		}
		defer l.Close()
		ports = append(ports, port)
	}
	return ports, nil
}
