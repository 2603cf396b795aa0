package node

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"strings"
	"sync"

	"github.com/cometbft/cometbft/config"
	"github.com/cometbft/cometbft/libs/log"
	"github.com/spf13/cobra"

	"github.com/spdl/spdl/abci/client"
	"github.com/spdl/spdl/abci/genesis"
	"github.com/spdl/spdl/abci/home"
	"github.com/spdl/spdl/abci/light"
	"github.com/spdl/spdl/app/worker"
	"github.com/spdl/spdl/cmd/internal/cli/command"
)

// Worker returns the command, which runs a participant's worker against any node's RPC.
func Worker() *cobra.Command {
	o := &workerOptions{}
	cmd := command.Service(command.New(&cobra.Command{
		Use:   "worker",
		Short: "Run a participant's worker against a node's RPC",
		Long: "Run a participant's worker against a node's RPC, with the key, journal and data of a home's app.toml.\n" +
			"It verifies what the node says from the home's config/genesis.json on, or from worker.trust_height.\n" +
			"Where the key file is a folder, it runs a worker for each key file in it, over one connection.\n" +
			"It survives restarts of either side. Set worker.enabled = false where the node shares the home.",
		Example: "  spdl worker --home ./member --node tcp://a.example.org:26657\n" +
			"  spdl worker --home ./member --node tcp://a.example.org:26657,tcp://b.example.org:26657 --follow",
	}, o.run))
	command.Flag(cmd, &o.nodes, "node", "", "RPC addresses of nodes, separated by commas: if the one that the workers "+
		"follow does not answer, they follow the next; gradients go to all in turn (default: rpc.laddr of the home's "+
		"config.toml, else "+home.DefaultRPC+")")
	command.Flag(cmd, &o.follow, "follow", false, "wait for the next epoch when training is finished")
	command.Flag(cmd, &o.key, "key", "", "participant key file, or a folder of them: a worker for each (default: "+
		"worker.key_file of app.toml)")
	command.Flag(cmd, &o.trainer, "trainer", "", "program, with arguments, that computes the gradients of an external "+
		"model, as \"python3 train.py\" (default: worker.trainer of app.toml)")
	command.PassphraseFlag(cmd)
	o.logs.Declare(cmd, "info")
	return cmd
}

type workerOptions struct {
	nodes, key, trainer string
	follow              bool
	logs                command.LogFlags
}

func (o *workerOptions) run(r *command.Run, _ []string) error {
	if err := o.logs.Check(); err != nil { // before --node is read, which may need the home
		return err
	}
	var nodes []*client.Client
	for address := range strings.SplitSeq(o.nodes, ",") {
		n, err := r.Client(address)
		if err != nil {
			return err
		}
		nodes = append(nodes, n)
	}
	c, a, logger, err := o.logs.Begin(r, "info")
	if err != nil {
		return err
	}
	a.Worker.KeyFile = cmp.Or(o.key, a.Worker.KeyFile)
	if o.trainer != "" {
		if err := a.Worker.UseTrainer(o.trainer); err != nil {
			return err
		}
	}
	confs, err := workers(r.Context, c, a, r.Keystore(), logger.With("module", "worker"))
	if err != nil {
		return err
	}
	if home.IsWorkerGroup(c, a) {
		held, err := home.LockWorkerGroup(c, a)
		if err != nil {
			return err
		}
		defer func() { _ = held.Close() }()
	}
	known, err := lightHome(c, a.Worker)
	if err != nil {
		return err
	}
	chain, err := light.Chain(nodes, known, a.Worker.PollInterval.Duration)
	if err != nil {
		return err
	}
	for i := range confs {
		confs[i].Follow = o.follow
	}
	defer r.LogStop(logger.With("module", "worker"), "the worker")()
	return runAll(r.Context, chain, confs, logger)
}

// runAll runs workers until all have ended. A worker that fails does not end the others.
func runAll(ctx context.Context, chain worker.Chain, confs []worker.Config, logger log.Logger) error {
	errs := make([]error, len(confs))
	var wg sync.WaitGroup
	for i, conf := range confs {
		wg.Go(func() {
			errs[i] = worker.Run(ctx, chain, conf)
			if errs[i] != nil && len(confs) > 1 && ctx.Err() == nil {
				logger.Error("a worker has ended", "journal", conf.Journal, "err", errs[i])
			}
		})
	}
	wg.Wait()
	if ctx.Err() != nil && len(confs) > 1 {
		return ctx.Err() // one error, not one for each worker
	}
	return errors.Join(errs...)
}

// workers returns the configuration of the home's worker, or of one for each participant of a worker group.
func workers(ctx context.Context, c *config.Config, a home.AppConfig, s *home.Keystore,
	logger log.Logger) ([]worker.Config, error) {
	if home.IsWorkerGroup(c, a) {
		return home.WorkerGroup(c, a, s, home.LoadData, func(message string, keyvals ...any) {
			if message == worker.Computed { // by each worker, in every round
				logger.Debug(message, keyvals...)
				return
			}
			logger.Info(message, keyvals...)
		})
	}
	own, err := home.OpenParticipant(ctx, c, a, s)
	if err != nil {
		return nil, err
	}
	conf, err := home.WorkerOf(c, a, s, own, home.LoadPart, logger.Info)
	return []worker.Config{conf}, err
}

// lightHome returns a light client's settings from a worker's home, without asking a node.
func lightHome(c *config.Config, w home.WorkerConfig) (light.Home, error) {
	doc, err := genesis.ReadFile(c.GenesisFile())
	if err != nil {
		return light.Home{}, err
	}
	hash, err := hex.DecodeString(w.TrustHash)
	return light.Home{
		Genesis: doc, Trust: light.Trust{Height: w.TrustHeight, Hash: hash, Period: w.TrustPeriod.Duration},
		Kept: home.KeptHeader(c), MaxAge: w.MaxAge.Duration,
	}, err
}
