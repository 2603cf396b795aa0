package node

import (
	"time"

	"github.com/cometbft/cometbft/config"

	"github.com/spdl/spdl/abci/version"
)

// logCaughtUp logs that the node has fetched the blocks of its peers and takes part in consensus.
// took is the time since the node's start.
func (r *Running) logCaughtUp(took time.Duration) {
	if s := r.Application.State(); s != nil {
		r.log.Info("the node has caught up", "height", s.Height, "epoch", s.Progress.Epoch, "round", s.Progress.Round,
			"peers", r.Node.Switch().Peers().Size(), "seconds", took.Seconds())
	}
}

// logStop logs that the node has stopped, with its last height and round. took is the duration of
// the stop.
func (r *Running) logStop(took time.Duration) {
	if s := r.Application.State(); s != nil {
		r.log.Info("the node has stopped", "height", s.Height, "epoch", s.Progress.Epoch, "round", s.Progress.Round,
			"seconds", took.Seconds())
	}
}

// announce logs the start of the node: its id, its chain, its addresses and its height.
func (r *Running) announce(c *config.Config) {
	chain, height := "", uint64(0)
	if s := r.Application.State(); s != nil {
		chain, height = s.ChainID, s.Height
	}
	r.log.Info("the node starts", "version", version.Version, "chain", chain, "node", r.Node.NodeInfo().ID(),
		"p2p", c.P2P.ListenAddress, "rpc", c.RPC.ListenAddress, "home", c.RootDir, "height", height)
	r.votes.compare(r.Application.State())
}
