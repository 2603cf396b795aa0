package sim

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	abcitypes "github.com/cometbft/cometbft/abci/types"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/gradients"
)

// Net is a simulated net. It is not safe for concurrent use.
type Net struct {
	Nodes []*Node
	// Blocks are the decided blocks; the block of height h is Blocks[h-1].
	Blocks []Block

	config     Config
	genesis    []byte
	random     *rand.Rand
	queue      []message
	validators map[string]bool // the validator set of the next height, by consensus key
	pending    map[string]bool // validator updates in force one height later: true joins, false leaves
}

// Block is a decided block and the first live node's results for it.
type Block struct {
	Height   int64
	Proposer int   // the node that proposed it
	Rejected []int // nodes whose proposals for this height were voted down
	Txs      [][]byte
	AppHash  []byte
	Enacted  []abcitypes.Event // of the block
}

// New makes the net's genesis and starts its nodes.
func New(c Config) (*Net, error) {
	n := &Net{config: c, random: rand.New(rand.NewPCG(c.Seed, 0x5bd1)), validators: map[string]bool{}}
	g := c.genesis()
	var err error
	if n.genesis, err = g.Encode(); err != nil {
		return nil, err
	}
	for i, p := range g.Participants {
		n.validators[string(p.ConsensusKey)] = true
		n.Nodes = append(n.Nodes, newNode(n, i))
		if err := n.Nodes[i].start(); err != nil {
			return nil, err
		}
	}
	return n, nil
}

// AddNode starts an additional node. The node has caught up when AddNode returns, and is not a
// participant.
func (n *Net) AddNode() (*Node, error) {
	node := newNode(n, len(n.Nodes))
	n.Nodes = append(n.Nodes, node)
	if err := node.start(); err != nil {
		return nil, err
	}
	return node, node.catchUp()
}

// Height returns the last decided height.
func (n *Net) Height() int64 { return int64(len(n.Blocks)) }

// Validators returns the size of the validator set at the next height.
func (n *Net) Validators() int { return len(n.validators) }

// now returns the virtual time: one second per height.
func (n *Net) now() time.Time { return time.Unix(1_700_000_000+int64(len(n.Blocks)), 0) }

// Step delivers messages and lets participants act until nothing changes, and then decides one
// height. It returns nil if no proposal got two thirds of the votes.
func (n *Net) Step() (*Block, error) {
	if err := n.catchUp(); err != nil {
		return nil, err
	}
	for moved := true; moved; {
		moved = false
		for _, node := range n.Nodes {
			if node.live() {
				acted, err := node.act()
				if err != nil {
					return nil, err
				}
				moved = acted || moved
			}
		}
		moved = n.deliver() || moved
	}
	n.age()
	b, err := n.decide()
	if b == nil || err != nil {
		return b, err
	}
	n.Blocks = append(n.Blocks, *b)
	if err := n.catchUp(); err != nil {
		return nil, err
	}
	first := n.first()
	last := &n.Blocks[len(n.Blocks)-1]
	last.AppHash, last.Enacted = first.hashes[last.Height-1], first.events
	n.applyValidators(first)
	return last, n.Check()
}

// catchUp makes all live nodes execute the decided blocks that they lack.
func (n *Net) catchUp() error {
	for _, node := range n.Nodes {
		if node.live() {
			if err := node.catchUp(); err != nil {
				return err
			}
		}
	}
	return nil
}

// first returns the first node that is neither down nor partitioned.
func (n *Net) first() *Node {
	for _, node := range n.Nodes {
		if node.live() && !node.Faults.Partitioned {
			return node
		}
	}
	for _, node := range n.Nodes {
		if len(node.hashes) == len(n.Blocks) && node.Stopped() {
			return node // all nodes have stopped before a height that needs another version
		}
	}
	panic("no node is up")
}

// decide asks proposers in turn, as the consensus rounds of a height do. It returns nil if no
// proposal gets more than two thirds of the votes.
func (n *Net) decide() (*Block, error) {
	height := n.Height() + 1
	var rejected []int
	for turn := range n.Nodes {
		proposer := n.Nodes[(int(height)+turn)%len(n.Nodes)]
		if !proposer.live() || !n.validators[string(proposer.consensus)] || len(proposer.hashes) < len(n.Blocks) {
			continue // a node that is behind does not propose for this height
		}
		txs, err := proposer.propose(height)
		if err != nil {
			return nil, err
		}
		votes := 0
		for _, voter := range n.Nodes {
			if !voter.live() || !n.validators[string(voter.consensus)] || n.cut(proposer, voter) ||
				len(voter.hashes) < len(n.Blocks) {
				continue
			}
			r, err := voter.App.ProcessProposal(context.Background(), &abcitypes.RequestProcessProposal{Height: height,
				Txs: txs})
			if err != nil {
				return nil, fmt.Errorf("node %d: process proposal at height %d: %w", voter.Index, height, err)
			}
			if r.Status == abcitypes.ResponseProcessProposal_ACCEPT || voter.Faults.Accomplice {
				votes++
			}
		}
		if 3*votes > 2*len(n.validators) {
			return &Block{Height: height, Proposer: proposer.Index, Rejected: rejected, Txs: txs}, nil
		}
		rejected = append(rejected, proposer.Index)
	}
	return nil, nil
}

// applyValidators advances the validator set. As in CometBFT, the updates of height h are in force
// from height h+2 on.
func (n *Net) applyValidators(node *Node) {
	for key, comes := range n.pending {
		if comes {
			n.validators[key] = true
		} else {
			delete(n.validators, key)
		}
	}
	n.pending = map[string]bool{}
	for _, v := range node.updates {
		n.pending[string(v.PubKey.GetEd25519())] = v.Power > 0
	}
}

// Check returns an error unless all live nodes agree on every application hash. Equal hashes mean
// equal states.
func (n *Net) Check() error {
	for _, node := range n.Nodes {
		for h, hash := range node.hashes {
			if h < len(n.Blocks) && !slices.Equal(hash, n.Blocks[h].AppHash) {
				return fmt.Errorf("height %d: node %d has application hash %X, others %X", h+1, node.Index, hash,
					n.Blocks[h].AppHash)
			}
		}
	}
	return nil
}

// State returns the committed state of the first live node.
func (n *Net) State() *app.State { return n.first().App.State() }

// slope returns the default gradient: a slope that all participants share, plus the participant's
// own noise.
func (n *Net) slope(node int, s *app.State) gradients.Vector {
	v := gradients.NewVector(s.Grid().Width, len(s.Model))
	common := rand.New(rand.NewPCG(n.config.Seed, s.Progress.Epoch<<32|s.Progress.Round))
	own := rand.New(rand.NewPCG(n.config.Seed+1, s.Progress.Epoch<<48|s.Progress.Round<<16|uint64(node)))
	bound := v.Width().Max()
	for i := range v.Len() {
		v.Set(i, common.Int64N(bound)-bound/2+own.Int64N(bound/2)-bound/4)
	}
	return v
}

// LastEnacted returns the kinds of the proposals about the consortium that the last block enacted.
func (n *Net) LastEnacted() []string {
	var kinds []string
	for _, e := range n.Blocks[len(n.Blocks)-1].Enacted {
		if e.Type == "enactment" {
			kinds = append(kinds, e.Attributes[0].Value)
		}
	}
	return kinds
}
