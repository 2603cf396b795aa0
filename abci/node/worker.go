package node

import (
	"context"
	"errors"
	"fmt"

	"github.com/cometbft/cometbft/config"
	"github.com/cometbft/cometbft/libs/log"

	"github.com/spdl/spdl/abci/home"
	"github.com/spdl/spdl/app/worker"
)

// startWorker runs the worker in the node's process if app.toml enables it.
func (r *Running) startWorker(ctx context.Context, c *config.Config, a home.AppConfig, own home.Participant,
	logger log.Logger, h Hooks) (err error) {
	if !a.Worker.Enabled {
		r.worker <- nil
		return nil
	}
	chain := r.Application.Local()
	if h.Chain != nil {
		if chain, err = h.Chain(chain, own.Keys); err != nil {
			r.worker <- err
			return err
		}
	}
	conf, err := home.WorkerOf(c, a, h.Keys, own, h.Data, logger.Info)
	if err != nil {
		r.worker <- err
		return err
	}
	conf.Follow, conf.Says = true, func(s worker.Step) { r.workerStep.Store(&s) }
	go func() { r.worker <- r.runWorker(ctx, chain, conf, logger) }()
	return nil
}

// runWorker runs the worker in the node's process when the node has caught up, because a gradient for a round that
// closed long ago would be useless. Only the worker stops, and the validator continues, in three cases: the worker's
// journal is damaged, in use or of another participant; the signer signs for another participant; or the training data
// cannot be read. Any other error of the worker stops the node.
func (r *Running) runWorker(ctx context.Context, chain worker.Chain, conf worker.Config, logger log.Logger) error {
	err := r.network.Synced(ctx)
	if err == nil {
		err = worker.Run(ctx, chain, conf)
	}
	switch {
	case err == nil || ctx.Err() != nil:
	case errors.Is(err, worker.ErrDamaged) || errors.Is(err, worker.ErrJournal) || errors.Is(err, worker.ErrBusy) ||
		errors.Is(err, worker.ErrForeign) || errors.Is(err, worker.ErrData):
		r.workerStopped.Store(true)
		logger.Error("worker stopped, the validator goes on without it", "err", err)
	default:
		logger.Error("worker stopped", "err", err)
		r.fail(fmt.Errorf("worker: %w", err))
	}
	return err
}
