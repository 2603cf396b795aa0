package abci

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"

	abcitypes "github.com/cometbft/cometbft/abci/types"

	"github.com/spdl/spdl/app"
)

// Commit gives the result of the decided block to the store, and publishes the new state.
func (a *Application) Commit(context.Context, *abcitypes.RequestCommit) (*abcitypes.ResponseCommit, error) {
	out := a.outcome
	if out == nil {
		return nil, errors.New("commit without a decided block")
	}
	if err := a.store.Save(out, a.beforeCommit.Load()); err != nil {
		return nil, fmt.Errorf("commit height %d: %w", out.State.Height, err)
	}
	if every := a.options.SnapshotInterval; every > 0 && out.State.Height%every == 0 {
		if err := a.snapshotter.Take(out.State); err != nil {
			a.log.Error("snapshot not taken", "height", out.State.Height, "err", err)
		}
	}
	a.beforeCommit.Store(false)
	a.outcome = nil
	a.executor.Clear()
	if r := out.Record; r != nil {
		before := a.state.Load()
		a.warnSlowRound(before, r, a.timings.RecordClosing(before, r))
		a.attempts.Record(r, a.pool.Load().Aggregates())
		a.measureRound(r)
		a.log.Info("round closed", "epoch", r.Epoch, "round", r.Round, "height", r.Height, "leader", r.Leader, "view", r.View,
			"included", len(r.Contributions))
	}
	if out.Revealing {
		a.log.Info("commit phase ended", "round", out.State.Progress.Round, "height", out.State.Height, "committed",
			len(out.State.Progress.Commitments))
	}
	for _, c := range out.Enacted {
		a.logEnactment(out.State.Height, c)
	}
	for _, d := range out.Discarded {
		a.log.Info("proposal discarded", "height", out.State.Height, "kind", d.Kind, "proposal",
			hex.EncodeToString(d.Proposal), "cause", d.Cause())
	}
	if before := a.state.Load(); before != nil {
		a.logChanges(before, out.State)
	}
	if err := out.State.Executable(); err != nil {
		a.options.Host.OnEnd(out.State) // called before the worker sees the state, so that the worker signs nothing more
	}
	a.publish(out.State, out.Record)
	retain, err := a.store.RetainHeight(out, a.options.Retain)
	if err != nil {
		a.log.Error("blocks not pruned", "height", out.State.Height, "err", err)
	}
	return &abcitypes.ResponseCommit{RetainHeight: retain}, nil
}

// Flush writes the state that the store has deferred. The caller must call it after CometBFT has stopped
// and before it closes the database.
func (a *Application) Flush() error { return a.store.Flush() }

// logEnactment logs that an accepted proposal took effect at the end of a round, or why it was dropped.
func (a *Application) logEnactment(height uint64, e app.Enactment) {
	if e.Refused != nil {
		a.log.Info("accepted proposal dropped", "height", height, "kind", e.Kind, "participant", e.Participant, "err",
			e.Refused)
		return
	}
	a.log.Info("proposal enacted", "height", height, "kind", e.Kind, "participant", e.Participant)
}
