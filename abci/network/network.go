// Package network connects a node to its peers and clients. It installs abci/admission (which nodes may connect) and
// abci/limit (what their messages may cost), runs the reactors for transactions, aggregates and blocks, dials the
// persistent peers, and serves the RPC.
package network

import (
	"context"
	"errors"
	"sync"

	"github.com/cometbft/cometbft/config"
	"github.com/cometbft/cometbft/libs/log"
	"github.com/cometbft/cometbft/mempool"
	cmtnode "github.com/cometbft/cometbft/node"
	"github.com/cometbft/cometbft/p2p"
	rpclocal "github.com/cometbft/cometbft/rpc/client/local"

	"github.com/spdl/spdl/abci"
	"github.com/spdl/spdl/abci/admission"
	"github.com/spdl/spdl/abci/home"
	"github.com/spdl/spdl/abci/limit"
	"github.com/spdl/spdl/abci/metrics"
	"github.com/spdl/spdl/abci/query"
	"github.com/spdl/spdl/abci/reactor"
	"github.com/spdl/spdl/app"
)

// Network connects a node to its peers. The start of a node calls New, Configure, Options, Attach and Watch in turn.
type Network struct {
	*admission.Control // decides which nodes may connect
	limit.Messages     // bounds the memory of a peer's messages; set by Configure
	reactor.Admitted   // gossips admitted transactions; set by Options

	gossip      string
	genesis     app.Genesis
	log         log.Logger
	txs         *reactor.TxReactor
	aggregates  *reactor.AggregateReactor
	clocks      *reactor.ClockReactor
	earlyCloses *earlyCloses
	blockGap    *limit.BlockGap
	state       func() *app.State

	node         *cmtnode.Node
	local        *rpclocal.Local // sends to the node's own mempool
	regossipDone sync.WaitGroup  // waits for the goroutine that runs regossip
}

// New returns the network of a node. The settings s in app.toml and the members in the chain's
// state decide which peers it admits; before the first state, the members in the genesis g decide.
func New(c *config.Config, s home.P2PConfig, g app.Genesis, state func() *app.State, logger log.Logger) *Network {
	logger = logger.With("module", "app")
	admission.WarnDuplicateIP(logger, c.P2P)
	policy := admission.Policy{Open: !s.MembersOnly, Allowed: s.AllowedPeers, Relays: s.Relays}
	return &Network{Control: admission.New(c, policy, g.Participants, state), gossip: s.Gossip, genesis: g,
		state: state, log: logger}
}

// Configure returns the configuration c with the peers and the size limits of the node with id
// ownID. The size limits are for transactions under the parameters in the state s, or in the
// genesis if s is nil. maxBlock is the genesis's block.max_bytes.
func (n *Network) Configure(c *config.Config, s *app.State, maxBlock int64, ownID p2p.ID) *config.Config {
	c, all := admission.Configure(c, n.Control, ownID), n.genesis.Participants
	rpc := *c.RPC
	c.RPC = &rpc // ServeRPC changes it
	n.Messages = limit.NewMessages(c, n.genesis.Params, len(all), maxBlock)
	if s != nil {
		c, all = home.TuneSizes(c, s.Params, s.Active()), s.Participants
		n.Messages = limit.NewMessages(c, s.Params, s.Active(), s.Progress.BlockBytes)
	}
	admission.WarnOpen(n.log, n.Control, all)
	return c
}

// Options returns the node options that install this project's reactors and limits.
func (n *Network) Options(a *abci.Application, c *config.Config, m *metrics.Metrics, logger log.Logger,
) []cmtnode.Option {
	flood := n.gossip == home.GossipFlood
	n.aggregates, n.clocks = reactor.NewAggregateReactor(c.Mempool.MaxTxBytes), reactor.NewClockReactor(m, n.Trusts)
	n.earlyCloses, n.blockGap = newEarlyCloses(), limit.NewBlockGap(a.State, n.Trusts)
	n.txs = reactor.NewTxReactor(a, flood, n.Trusts, n.Messages, m, logger.With("module", "gossip"))
	n.Admitted = n.txs
	blocks := reactor.NewBlockReactor(a, flood, n.Trusts, n.txs.Expects, n.Messages, m)
	return []cmtnode.Option{
		cmtnode.CustomReactors(map[string]p2p.Reactor{"AGGREGATES": n.aggregates, "CLOCK": n.clocks,
			"EARLY_CLOSES": n.earlyCloses}),
		limit.EvidenceLimiter, limit.SyncLimiter(n.PeerIDs, n.blockGap), n.txs.Install, blocks.Install,
		n.Install(n.txs, blocks),
	}
}

// Attach connects the network to the node that was built with the result of Options.
func (n *Network) Attach(node *cmtnode.Node) {
	n.node, n.aggregates.Pool = node, node.Mempool()
	// n.Filter replaces CometBFT's own filter, which tells the application only the peer's id.
	if sw, ok := node.Switch().(*p2p.Switch); ok {
		p2p.SwitchPeerFilters(n.Filter(n.log))(sw)
	}
	n.local = rpclocal.New(node)
}

// PeerClocks and SendAggregate are those of abci.Host.
func (n *Network) PeerClocks() []query.PeerClock { return n.clocks.Offsets() }
func (n *Network) SendAggregate(raw []byte)      { n.aggregates.Send(raw) }

// Report implements abci.Host. CheckTx rejects the evidence if evidence of the same equivocation is already pending.
func (n *Network) Report(raw []byte) {
	go func() { _ = n.node.Mempool().CheckTx(raw, nil, mempool.TxInfo{}) }()
}

// Broadcast implements abci.Host. It waits until the node has synced.
func (n *Network) Broadcast(ctx context.Context, raw []byte) error {
	if err := n.Synced(ctx); err != nil {
		return err
	}
	answer, err := n.local.BroadcastTxSync(ctx, raw)
	switch {
	case errors.Is(err, mempool.ErrTxInCache): // the mempool already has the transaction
		return nil
	case err != nil:
		return err
	}
	return abci.Verdict(answer.Code, answer.Log)
}

// Watch starts the goroutines that update limits, admission and connections when the chain changes,
// and that send the transactions of an open round again. They run until ctx is done.
func (n *Network) Watch(ctx context.Context, a *abci.Application) {
	sw := n.node.Switch()
	go n.Messages.Watch(sw, n.log, ctx.Done())
	go n.Control.Watch(sw, n.log, ctx.Done())
	if s := a.State(); s == nil || s.Validators() > 1 { // without a state, a state sync needs a peer
		go n.earlyCloses.reportNoPeers(ctx, string(n.node.NodeInfo().ID()), n.log)
	}
	go n.watchBlockGap(ctx, sw)
	if sw, ok := sw.(dialer); ok {
		go redial(ctx, sw, n.Control, n.earlyCloses, n.log)
	}
	n.regossipDone.Go(func() {
		n.regossip(ctx, a, firstRegossip+2*limit.TransferTime(n.genesis.Params, n.genesis.Participants))
	})
}

// Wait blocks until regossip has ended. Watch's other goroutines only read the committed state: Stop need not wait.
func (n *Network) Wait() { n.regossipDone.Wait() }

// ReceivedBytes returns the number of bytes that gossip has received, by kind. The kinds are the
// label values in the metrics.
func (n *Network) ReceivedBytes() map[string]int64 { return n.txs.ReceivedBytes() }
