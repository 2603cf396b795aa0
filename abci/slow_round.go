package abci

import (
	"time"

	"github.com/spdl/spdl/abci/query"
	"github.com/spdl/spdl/app"
)

// slowRoundEvery is the min number of rounds between two warnings of slow training steps.
const slowRoundEvery = 100

// slowRounds limits how often the application warns that a training step takes longer than a round
// waits for gradients. The chain itself has no clock: a round waits for a number of heights, so the
// chain cannot distinguish a slow step from an absent participant. Operators can, and they can
// change the parameters. Only Commit uses slowRounds.
type slowRounds struct {
	rounds uint64 // the number of rounds that closed since this node started
	next   uint64 // the min value of rounds for the next warning
}

const (
	viewsLate = "gradients came after the views of all ranks were open: anybody may lead, and the election " +
		"decides nothing"
	ownGradientLate = "this worker's gradient came when the round could close without it: its training steps are " +
		"slower than the round waits"
	remedy = "on every node set proposal.wait above the longest training step and consensus.timeout_propose above that, " +
		"or give the chain larger election.view_blocks and quorum_blocks (docs/CONFIGURATION.md#slow-training-steps)"
)

// warnSlowRound logs an error if gradients of the closed round r came too late. They did if the
// views of all ranked participants had ended before N-f gradients arrived. This node's own gradient
// was also too late if the round could close without it before it arrived. previous is the state
// before the block that closed r, and m has the times of r. The first round that a node sees gives
// no warning, because its time includes the start of the node.
func (a *Application) warnSlowRound(previous *app.State, r *app.Record, m query.Moments) {
	l := &a.lateness
	l.rounds++
	e, what := previous.Params.Election, ""
	switch {
	case previous.OpenView(m.QuorumAt) >= uint64(max(1, len(r.Ranking))):
		what = viewsLate
	case m.Slow || m.OwnAt > r.Opened && m.OwnAt-r.Opened >= e.QuorumBlocks:
		what = ownGradientLate
	}
	if what == "" || l.rounds == 1 || l.rounds < l.next {
		return
	}
	l.next = l.rounds + slowRoundEvery
	step := time.Duration(query.Milliseconds(m.Opened, m.Own) * float64(time.Millisecond))
	a.log.Error(what, "round", r.Round, "opened", r.Opened, "height", r.Height, "step",
		step.Round(time.Millisecond).String(),
		"proposal.wait", a.options.ProposalWait.String(), "remedy", remedy)
}
