package node

import (
	abcitypes "github.com/cometbft/cometbft/abci/types"
	"github.com/cometbft/cometbft/config"

	"github.com/spdl/spdl/abci/home"
	"github.com/spdl/spdl/abci/network"
	"github.com/spdl/spdl/app"
)

// host is a node as its application sees it (abci.Host).
type host struct {
	*network.Network
	home.Declaration
	running *Running
	timeout *proposeTimeout
}

// newHost returns the host of the application that r.Application will be.
func (r *Running) newHost(c *config.Config, a home.AppConfig, own home.Participant) *host {
	return &host{Network: r.network, running: r, timeout: newProposeTimeout(c.Consensus),
		Declaration: home.DeclarationOf(c, a, own, home.NodeState{WorkerStopped: r.workerStopped.Load,
			WorkerStep: r.workerStep.Load, SignerAway: func() bool { return r.remote.isAway() },
			BlocksSinceVote: r.votes.silent.Load, SignsNothing: func() bool { return r.paused.IsPaused() }})}
}

// IsDecided implements abci.Host. It judges by the heights that the connected nodes of members report.
func (h *host) IsDecided(height int64) bool {
	s := h.running.Application.State()
	return s != nil && network.Decided(s.Participants, h.PeerHeights()) >= height
}

// OnFinalized implements abci.Host.
func (h *host) OnFinalized(b *abcitypes.RequestFinalizeBlock, out *app.Outcome) {
	h.timeout.onFinalized(b, out)
	h.running.votes.onFinalized(b, out)
	h.running.paused.OnFinalized(b)
}

// OnEnd implements abci.Host.
func (h *host) OnEnd(s *app.State) {
	if halt := h.running.upgradeHalt; halt.isArmed {
		h.running.cancel() // the worker must stop before it sees the state
		halt.lastState <- s
	}
}

// OnHold implements abci.Host. After the replay it never returns.
func (h *host) OnHold() {
	if halt := h.running.upgradeHalt; halt.isArmed {
		close(halt.blocked)
		select {}
	}
}
